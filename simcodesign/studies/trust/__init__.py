"""Over sweeps: what formulas say at each point, how far they are from the simulation, and where each can be trusted."""
