"""Descriptions: workloads, demands, machines, parameters, as frozen dataclasses checked when made."""
