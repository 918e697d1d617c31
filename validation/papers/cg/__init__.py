"""Exascale feasibility of conjugate gradients (Bhatele et al.)."""
