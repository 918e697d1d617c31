"""Models of a search: what the metrics of a point are, by a workload, a machine or an Aspen model."""
