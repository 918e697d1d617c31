"""The fast engine, written in C: equal to the one in SimPy to the last bit."""
