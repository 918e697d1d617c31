"""Several workloads on several machines, compared in one answer."""
