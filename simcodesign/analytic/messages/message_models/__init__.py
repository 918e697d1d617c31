"""What messages cost in a forecast: a class for each model of messages."""
