"""Constants of machines from what benchmarks print."""
