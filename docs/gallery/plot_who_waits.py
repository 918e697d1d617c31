"""
Who waits for whom
==================

The sends and receives of a broadcast on eight nodes of a mesh. Pale: a rank waits for a message.
"""

import matplotlib.pyplot as plt

import simcodesign as sc

timeline = sc.simulate("broadcast", "mesh-256", {"P": 8, "m": 4096}, effects="links", timeline=True).timeline
figure, axes = plt.subplots(figsize=(7, 3))
axes.barh(timeline.rank, (timeline.finish_s - timeline.start_s) * 1e6, left=timeline.start_s * 1e6, height=0.6)
axes.barh(
    timeline.rank,
    (timeline.start_s - timeline.ready_s) * 1e6,
    left=timeline.ready_s * 1e6,
    height=0.6,
    alpha=0.25,
    color="C0",
)
axes.set(xlabel="time (us)", ylabel="rank", yticks=range(8))
axes.invert_yaxis()
figure.tight_layout()
