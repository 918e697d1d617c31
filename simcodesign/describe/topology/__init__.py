"""Network topologies: hops, routes and links."""
