"""Trust maps for people: tables, sentences and plots."""
