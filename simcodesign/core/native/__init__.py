"""Functions written in C: compiling, finding and loading their shared library."""
