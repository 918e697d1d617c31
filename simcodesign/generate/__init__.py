"""From a description to operations: collectives become messages, and all randomness is spent here."""
