"""Models from hardware counters (APMT): read, checked, fitted, and used to predict larger runs."""
