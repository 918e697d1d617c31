"""Random numbers, drawn before a simulation from named streams."""
