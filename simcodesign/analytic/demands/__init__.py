"""Closed forms of demands: one record for each kind of demand, which registers itself."""
