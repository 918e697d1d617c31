"""What the memory and the network of a machine may be, and what replaces the constants of its network."""
