"""Resource-usage constants from times."""
