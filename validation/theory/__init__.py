"""Numbers that theory gives: queueing, collectives, routes, congestion, locality."""
