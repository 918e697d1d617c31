"""GOAL schedules: the text format of LogGOPSim, read and written."""
