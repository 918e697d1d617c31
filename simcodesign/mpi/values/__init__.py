"""Numbers of MPI, its errors, and the numbers of objects: below all other parts of the stand-in."""
