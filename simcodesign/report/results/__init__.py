"""Reports of single forecasts, simulations and comparisons, and data sheets of descriptions."""
