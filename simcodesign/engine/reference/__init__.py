"""The engine in SimPy, written to be read: processes, resources, yield."""
