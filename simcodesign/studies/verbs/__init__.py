"""The public functions that combine what several parts of the package do."""
