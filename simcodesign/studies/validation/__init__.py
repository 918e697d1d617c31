"""Cases of validation: loaded, selected, run and judged."""
