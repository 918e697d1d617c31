"""Reports of hardware-counter models and extrapolations."""
