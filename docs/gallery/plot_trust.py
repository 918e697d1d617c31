"""
Accuracy of a formula
=====================

The error of :math:`\\log_2 P\\,(t_s + m\\,t_w)` for a broadcast, nearest child first, against the simulation on
a mesh.
"""

import simcodesign as sc

RANKS, SIZES = [4, 16, 64, 256], [2**10, 2**13, 2**16, 2**19]
swept = sc.sweep(
    "broadcast",
    "mesh-256",
    vary={"P": RANKS, "m": SIZES},
    parameters={"order": "near"},
    simulate=True,
    effects="links",
    formulas=["tree = ceil(log2(P))*(t_s + m*t_w)"],
)
swept.plot(kind="trust", formula="tree")
