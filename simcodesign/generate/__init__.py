"""From a description to a Plan: collectives become messages, and all randomness is spent here."""
