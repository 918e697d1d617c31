"""
Four networks under an all-to-all
=================================

The same 256 nodes, startup and bandwidth. The closed form sees hardly any difference; the simulation does.
"""

import matplotlib.pyplot as plt

import simcodesign as sc

KINDS = ["mesh", "torus", "fat_tree", "hypercube"]
readings = {"forecast": [], "simulation": []}
for kind in KINDS:
    changes = {"network.topology.kind": kind} | ({"network.topology.arity": 4} if kind == "fat_tree" else {})
    machine = sc.Machine.load("hypercube-256", changes=changes)
    comparison = sc.compare("burst", machine, {"size": 65536}, effects="links")
    readings["forecast"].append(comparison.forecast.makespan_s)
    readings["simulation"].append(comparison.simulation.makespan_s)

figure, axes = plt.subplots(figsize=(7, 3.5))
for place, (reading, times_s) in enumerate(readings.items()):
    axes.bar([number + 0.4 * place for number in range(len(KINDS))], times_s, width=0.4, label=reading)
axes.set(ylabel="time (s)", xticks=[number + 0.2 for number in range(len(KINDS))], xticklabels=KINDS)
axes.legend()
