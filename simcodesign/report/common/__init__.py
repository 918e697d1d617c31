"""What all reports share: tables, number formats, plot style, progress bars."""
