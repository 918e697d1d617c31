"""Which region of message costs meets a goal."""
