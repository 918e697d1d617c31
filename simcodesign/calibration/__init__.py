"""Constants of a machine from measured times of workloads."""
