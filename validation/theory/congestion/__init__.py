"""Links that messages share: how long the most loaded one is busy, and queues of known length."""
