"""What notebooks show of results and descriptions: the tables that commands print, as HTML."""
