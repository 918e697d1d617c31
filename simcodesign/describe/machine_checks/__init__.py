"""Checks of the memory and the network of a machine, and of constants that replace the network's."""
