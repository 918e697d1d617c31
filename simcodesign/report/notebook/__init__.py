"""Results and descriptions in notebooks: the tables that commands print, as HTML."""
