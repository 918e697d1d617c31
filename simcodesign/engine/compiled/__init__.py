"""The engine in Numba, equal to the one in SimPy to the last bit."""
