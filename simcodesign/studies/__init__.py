"""What is made with the simulator: sweeps, replications, exploration, requirements, validation."""
