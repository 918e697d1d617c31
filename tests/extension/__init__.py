"""The package extended from outside: everything here is added without an edit of it."""
