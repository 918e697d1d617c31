"""
A model from five runs
======================

Times of five small runs, the model that is fitted, and what it says of larger ones, with a 95 % interval of
prediction.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import simcodesign as sc

generator = np.random.default_rng(1)
rows = [
    f"{ranks},{(1.5 + 0.02 * ranks * np.log2(ranks)) * (1 + 0.02 * generator.standard_normal()):.5g}"
    for ranks in (4, 8, 16, 32, 64)
    for _ in range(3)
]
Path("runs.csv").write_text("p,value\n" + "\n".join(rows))
(fitted,) = sc.fit("runs.csv")
print(fitted.model.text)

ranks = 2 ** np.arange(2, 11)
predictions = [fitted.predict({"p": each}, level=0.95) for each in ranks]
figure, axes = plt.subplots()
axes.plot(ranks, [each.value for each in predictions], label=fitted.model.text)
axes.fill_between(ranks, [each.low for each in predictions], [each.high for each in predictions], alpha=0.25)
axes.plot(*np.array([row.split(",") for row in rows], dtype=float).T, "o", color="black", label="measured")
axes.set(xscale="log", yscale="log", xlabel="ranks", ylabel="time (s)", xticks=ranks, xticklabels=ranks)
axes.minorticks_off()
axes.legend()
