"""Demands and programs with every name given its value: what both readings take of them."""
