"""From YAML text to descriptions, with the place of every value for error messages."""
