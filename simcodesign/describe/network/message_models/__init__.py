"""What one message costs: a class for each model, with its constants."""
