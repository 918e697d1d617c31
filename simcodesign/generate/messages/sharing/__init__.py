"""How messages share stations in a simulation: a module for each rule."""
