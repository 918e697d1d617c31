"""Programs of a workload: steps, groups of ranks, parts that overlap."""
