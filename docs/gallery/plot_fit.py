"""
A model from five runs
======================

Times of five small runs, the fitted model, and its prediction for larger runs with a 95 % prediction interval.
"""

from pathlib import Path

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
fitted.plot(target={"p": 1024}, level=0.95)
