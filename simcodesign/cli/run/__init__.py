"""What the larger commands do with their options; loaded by the command that runs."""
