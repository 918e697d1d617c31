"""Times that were measured on real machines, each beside formula, forecast and simulation. Constants come of stated rows alone."""
