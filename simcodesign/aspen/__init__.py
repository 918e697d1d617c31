"""Aspen models: applications and machines in Aspen's language, their run times, power and energy."""
