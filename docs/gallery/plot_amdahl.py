"""
Amdahl's law and a machine
==========================

A tenth of the work is serial, so the law's bound is ten. A machine also needs time for messages, which grows with
the number of ranks.
"""

import matplotlib.pyplot as plt
import numpy as np

import simcodesign as sc
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from

amdahl = workload_from(
    parse_yaml(
        """
simcodesign: 1
name: amdahl
program:
  - compute: {seconds: 0.01, when: rank == 0}
  - broadcast: {bytes: 16384}
  - compute: {seconds: 0.09/P}
  - reduce: {bytes: 16384}
""",
        "amdahl.yaml",
    )
)
RANKS = 2 ** np.arange(9)
times_s = [sc.simulate(amdahl, "mesh-256", {"P": ranks}, effects="links").makespan_s for ranks in RANKS]

figure, axes = plt.subplots()
axes.plot(RANKS, 1 / (0.1 + 0.9 / RANKS), color="gray", label="Amdahl's law")
axes.plot(RANKS, times_s[0] / np.array(times_s), "o--", color="#0072B2", label="simulation on a mesh")
axes.set(xscale="log", xlabel="ranks", ylabel="speedup", xticks=RANKS, xticklabels=RANKS)
axes.minorticks_off()
axes.legend()
