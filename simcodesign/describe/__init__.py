"""What is modelled: machines, topologies and workloads as frozen dataclasses, checked on construction."""
