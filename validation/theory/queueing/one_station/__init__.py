"""Queues with one station: an open stream of requests at a disk, by both readings."""
