"""Reports of calibrations."""
