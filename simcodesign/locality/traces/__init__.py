"""Address traces: in memory, in files of several formats, and recorded from running programs."""
