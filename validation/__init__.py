"""Numbers that others published or that theory gives, each held against both readings, with a computed verdict."""
