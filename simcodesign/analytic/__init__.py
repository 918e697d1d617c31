"""Reading 1, closed forms: what the equations say about a workload on a machine."""
