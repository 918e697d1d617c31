"""Requirements engineering for co-design (Calotoiu et al.)."""
