"""Programs of others beside ours, on the same inputs: benchmarks, skipped where the other one is not installed."""
