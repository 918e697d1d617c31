"""Messages: those of collectives, what each costs, which links it crosses, which receive takes it."""
