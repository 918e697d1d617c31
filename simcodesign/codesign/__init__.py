"""Questions about designs: which machines would do."""
