"""What messages do in a simulation: a class for each model of messages."""
