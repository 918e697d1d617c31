"""Studies made with the simulator: sweeps, replications, exploration, requirements, validation."""
