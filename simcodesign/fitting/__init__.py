"""From measurements to equations: requirement models, resource-usage constants, and readers of what people have."""
