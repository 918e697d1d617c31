"""Tables of measured times."""
