"""
A tree on a mesh
================

The textbook gives a broadcast :math:`\\log_2 P` rounds, each as long as one message. On a mesh the time depends
on the order in which a rank sends to its children: farthest first, as in the book, or nearest first, when messages
of the last rounds share links.
"""

import matplotlib.pyplot as plt
import numpy as np

import simcodesign as sc

RANKS = np.array([4, 16, 64, 256])
figure, axes = plt.subplots()
textbook = sc.forecast("broadcast", "mesh-256", {"P": RANKS, "m": 2**20}).makespan_s
axes.plot(RANKS, textbook * 1e3, color="#E69F00", label="forecast")
for order in ("far", "near"):
    swept = sc.sweep(
        "broadcast",
        "mesh-256",
        vary={"P": RANKS},
        parameters={"m": "1 MiB", "order": order},
        simulate=True,
        effects="links",
    )
    axes.plot(RANKS, swept.table["simulated_makespan_s"] * 1e3, "o--", label=f"simulation, {order} child first")
axes.set(xscale="log", xlabel="ranks", ylabel="broadcast of 1 MiB (ms)", xticks=RANKS, xticklabels=RANKS)
axes.minorticks_off()
axes.legend()
