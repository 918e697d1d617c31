"""Messages in a simulation: a class for each model of messages."""
