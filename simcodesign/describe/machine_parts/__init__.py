"""The parts of a machine. Constants may be arrays, so that one forecast covers many machines; the structure may not."""
