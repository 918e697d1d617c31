"""
A formula, a simulation and a machine
=====================================

A broadcast of 64 MiB down a binomial tree on 8, 64 and 512 nodes of Fugaku. The formula has :math:`\\log_2 P`
rounds, each as long as one message. Shared links explain all of the gap on 64 nodes and three quarters
of it on 512. Startup and bandwidth of a message are calibrated on 2x2x2 nodes; the runs on 4x4x4 and 8x8x8 nodes are
evidence.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import simcodesign as sc

MEASURED_MS = {2: 31.76, 4: 95.43, 8: 223.2}  # HLC-Lab/pico, commit 413bc5d0: medians by the length of a side
COLOURS = {"measured": "#000000", "forecast": "#E69F00", "simulation": "#0072B2"}

comparisons = {}
for side in MEASURED_MS:
    machine = sc.Machine.load("fugaku", changes={"mapping.job": [side] * 3})
    point = {"P": side**3, "m": 2**26, "order": "near"}
    times = pd.DataFrame([{**point, "value": MEASURED_MS[side] / 1e3}])
    comparisons[side] = sc.compare("broadcast", machine, point, measured=times)

figure, (bars, ladder) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
groups = {
    "measured": list(MEASURED_MS.values()),
    "forecast": [1e3 * float(each.forecast.makespan_s) for each in comparisons.values()],
    "simulation": [1e3 * float(each.simulation.makespan_s) for each in comparisons.values()],
}
for shift, (name, times_ms) in enumerate(groups.items()):
    drawn = bars.bar(np.arange(3) + 0.27 * shift, times_ms, width=0.25, color=COLOURS[name], label=name)
    bars.bar_label(drawn, fmt="%.0f", fontsize=8)
bars.set(title="Broadcast of 64 MiB on Fugaku", ylabel="time (ms)", xticks=np.arange(3) + 0.27)
bars.set_xticklabels([f"{side}x{side}x{side} nodes" for side in MEASURED_MS])
bars.legend(frameon=False)

comparisons[8].plot(ladder)
bars.spines[["top", "right"]].set_visible(False)
