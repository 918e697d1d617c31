"""Closed forms of a server of a language model: bulk queues, and processor sharing among a batch."""
