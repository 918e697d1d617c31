"""Jobs: several workloads on the same machine at the same time."""
