"""Reports of fitted models."""
