"""Commands for those who teach: lessons, their pages, the laboratory, and marks."""
