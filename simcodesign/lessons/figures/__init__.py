"""Data of single figures other than lattices and traces: events with the lines that run, stations, elasticities."""
