"""Which routes messages take in a simulation."""
