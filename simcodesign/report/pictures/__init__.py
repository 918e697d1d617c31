"""Pictures of answers in Python, drawn into axes by the functions that commands use."""
