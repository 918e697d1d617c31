"""Elasticities: how much the time falls when one property of machine or workload improves."""
