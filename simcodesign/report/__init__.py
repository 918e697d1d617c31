"""Tables, plots and timelines of results, and the demonstration."""
