"""Random simulations repeated until a mean is known: confidence intervals, stopping rules."""
