"""Timelines of simulations as files for viewers: Chrome traces (Perfetto), Paje (ViTE), OTF2 (Vampir)."""
