"""What single figures need besides lattices and traces: events with the lines that run, stations, what would help."""
