"""Reports of feasibility regions."""
