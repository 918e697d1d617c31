"""Messages: their pattern in collectives, their cost, the links they cross, the receives that take them."""
