"""Costs of messages on a network, and collective traffic on its links."""
