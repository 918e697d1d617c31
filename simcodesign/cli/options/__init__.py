"""Options of the commands: shared options, options of fits, and a module for each command that another module runs."""
