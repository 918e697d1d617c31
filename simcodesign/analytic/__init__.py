"""Reading 1, the forecast: closed forms of what a workload costs on a machine."""
