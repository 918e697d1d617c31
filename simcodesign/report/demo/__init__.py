"""The demonstration: what was measured, forecast and simulated, in four tables and pictures."""
