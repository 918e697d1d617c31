"""Messages that are probed, or sent again and again."""
