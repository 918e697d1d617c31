"""Meshes, tori and hypercubes under uniform random traffic."""
