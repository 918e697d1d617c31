"""Cost of one message: a class for each model, with its constants."""
