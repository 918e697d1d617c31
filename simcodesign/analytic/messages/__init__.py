"""What messages cost on a network, and collective traffic on its links."""
