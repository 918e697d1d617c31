"""
What explains the gap
=====================

An all-to-all on a mesh: from the closed form to the simulation, one effect after another. Nearly all of the gap
is contention for links.
"""

import matplotlib.pyplot as plt

import simcodesign as sc

comparison = sc.compare("burst", "mesh-256", {"size": 65536}, effects="hops,links,interfaces")
rungs = comparison.ladder()
start_s = comparison.forecast.makespan_s

figure, axes = plt.subplots(figsize=(7, 3))
axes.barh("forecast", start_s * 1e3, color="gray")
axes.barh(rungs["effect"], rungs["change_s"] * 1e3, left=(rungs["simulated_s"] - rungs["change_s"]) * 1e3)
axes.barh("simulation", comparison.simulation.makespan_s * 1e3, color="black")
axes.invert_yaxis()
axes.set_xlabel("time (ms)")
figure.tight_layout()
