"""When messages waited at which stations, and the critical path through their queues."""
