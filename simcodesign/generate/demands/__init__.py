"""The operations of each kind of demand."""
