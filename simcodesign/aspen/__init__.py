"""Aspen models read directly: ``.aspen`` files of applications and machines, their run times, power and energy."""
