"""Options of the commands: shared ones, those of fits, and a module for each command that another module runs."""
