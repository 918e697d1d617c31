"""Topologies: which ranks of a communicator are neighbours, in grids and graphs, and what neighbours exchange."""
