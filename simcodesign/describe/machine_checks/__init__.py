"""Checks of the memory and the network of a machine, and of constants that replace those of the network."""
