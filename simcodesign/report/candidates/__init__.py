"""Several workloads on several machines in one table and one plot."""
