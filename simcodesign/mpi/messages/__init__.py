"""Messages that are probed, sent again and again, or kept in a buffer of the program."""
