"""Costs of messages in a forecast: a class for each model of messages."""
