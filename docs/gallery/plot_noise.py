"""
How sure is a mean?
===================

A simulation with noise is one draw. Replications give a mean with a confidence interval, which narrows
with their number.
"""

import matplotlib.pyplot as plt

import simcodesign as sc

COUNTS = [5, 10, 20, 40]
intervals = [
    sc.simulate("jacobi", "torus-cluster", {"P": 64}, replications=count).interval("makespan_s") for count in COUNTS
]
figure, axes = plt.subplots()
means_ms = [each.mean * 1e3 for each in intervals]
halves_ms = [(each.high - each.low) / 2 * 1e3 for each in intervals]
axes.errorbar(COUNTS, means_ms, yerr=halves_ms, fmt="o", capsize=4)
axes.set(xlabel="replications", ylabel="time (ms), 95 % interval", xticks=COUNTS)
