"""The events of a simulation, step by step."""
