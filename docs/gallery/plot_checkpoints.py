"""
How often to save
=================

500 hours of work on nodes that fail: Young's and Daly's formulas and the simulation, over the time between
checkpoints.
"""

import matplotlib.pyplot as plt
import numpy as np

import simcodesign as sc

INTERVALS_H = np.array([0.5, 1, 2, 4, 8])
swept = sc.sweep(
    "checkpointed",
    "failing-torus",
    vary={"interval": INTERVALS_H * 3600},
    simulate=True,
    effects="failures",
    within=0.1,
).table
figure, axes = plt.subplots()
for name, label in (("young", "Young 1974"), ("daly", "Daly 2006")):
    axes.plot(INTERVALS_H, swept[f"formula_{name}_s"] / 3600, label=label)
axes.plot(INTERVALS_H, swept["simulated_makespan_s"] / 3600, "o", color="black", label="simulation, one draw each")
axes.set(xlabel="time between checkpoints (h)", ylabel="time in all (h)")
axes.legend()
