"""Presentation of a machine: its data sheet, its levels and rooflines as pictures."""
