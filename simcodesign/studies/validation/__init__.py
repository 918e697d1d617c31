"""Cases of validation: found, chosen, run, and given a verdict."""
