"""Reports of replications."""
