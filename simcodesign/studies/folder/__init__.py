"""A study as a folder: what its file asks, and the answers that are kept."""
