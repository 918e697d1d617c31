"""Stack-distance profiles from a sample of the accesses, with their error."""
