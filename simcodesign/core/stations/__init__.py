"""Records of the stations of a simulation: which requests each served when, and how much each was used."""
