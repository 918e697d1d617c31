"""Reports of Aspen models."""
