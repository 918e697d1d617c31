"""What the stations of a simulation did: whom each served when, and how much each was used."""
