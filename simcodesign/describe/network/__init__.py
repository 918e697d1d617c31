"""The network of a machine: topology, model of messages, sharing rule, routing, interfaces."""
