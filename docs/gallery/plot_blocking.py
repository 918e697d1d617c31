"""
Blocks that fit
===============

Time of a blocked matrix product over the block size. It falls while reuse grows, until three blocks no
longer fit in a cache.
"""

import matplotlib.pyplot as plt

import simcodesign as sc
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from

product = workload_from(
    parse_yaml(
        """
simcodesign: 1
name: blocked-product
parameters:
  b: {default: 8, whole: true}
program:
  - memory: {kernel: blocked_matmul, sizes: {n: 96, b: b}}
""",
        "blocked-product.yaml",
    )
)
BLOCKS = [2, 4, 8, 16, 32, 48, 96]
times_s = [sc.forecast(product, "torus-cluster", {"P": 1, "b": block}).makespan_s for block in BLOCKS]
figure, axes = plt.subplots()
axes.plot(BLOCKS, [time * 1e3 for time in times_s], "o-")
axes.set(xscale="log", xlabel="rows of a block", ylabel="time of the memory (ms)", xticks=BLOCKS, xticklabels=BLOCKS)
axes.minorticks_off()
