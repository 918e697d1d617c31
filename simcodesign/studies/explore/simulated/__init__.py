"""The simulation of points of a design space: whether an optimum holds, and the search for one that does."""
