"""
Where a formula can be trusted
==============================

The error of :math:`\\log_2 P\\,(t_s + m\\,t_w)` for a broadcast, nearest child first, against the simulation on
a mesh.
"""

import matplotlib.pyplot as plt
import numpy as np

import simcodesign as sc

RANKS, SIZES = [4, 16, 64, 256], [2**10, 2**13, 2**16, 2**19]
swept = sc.sweep(
    "broadcast",
    "mesh-256",
    {"P": RANKS, "m": SIZES},
    settings={"order": "near"},
    simulate=True,
    effects="links",
    formulas=["tree = ceil(log2(P))*(t_s + m*t_w)"],
)
errors = swept.table.pivot(index="m", columns="P", values="formula_tree_error")
figure, axes = plt.subplots()
image = axes.imshow(100 * errors, cmap="RdBu", vmin=-100, vmax=100, origin="lower")
for row, column in np.ndindex(errors.shape):
    axes.text(column, row, f"{100 * errors.iloc[row, column]:.0f} %", ha="center", va="center")
axes.set(xlabel="ranks", ylabel="bytes", xticks=range(4), xticklabels=RANKS, yticks=range(4), yticklabels=SIZES)
figure.colorbar(image, label="error of the formula (%)")
