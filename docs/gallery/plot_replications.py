"""
Which machine is faster
=======================

Ten simulations of a program with random steps on each of two machines, with common random numbers: each
replication, the mean and its 95 % interval.
"""

import simcodesign as sc

machines = ["torus-cluster", "torus-cluster with network.startup=0.2 ms"]
several = sc.compare("random-steps", machines, {"P": 16, "steps": 5}, replications=10)
print(several.comparisons[1].against.ratio)
several.plot(kind="replications")
