"""Programs in Python: generators of demands, one run of each rank, as workloads that both readings take."""
