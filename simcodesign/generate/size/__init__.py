"""How large a program becomes: its operations, and the memory that making and running its Plan takes."""
