"""
Which improvement helps most
============================

Reduction of the time of a checkpointing stencil if one property improves by 10 %, in both readings.
"""

import matplotlib.pyplot as plt
import numpy as np

from simcodesign.studies.elasticities.elasticities import elasticities

answer = elasticities("jacobi", "torus-cluster", {"P": 64})
best = [each for each in answer.improvements if each.simulated < 0][:6]
places = np.arange(len(best))
figure, axes = plt.subplots(figsize=(7, 3.5))
axes.barh(places - 0.2, [-100 * each.forecast for each in best], height=0.4, color="#E69F00", label="forecast")
axes.barh(places + 0.2, [-100 * each.simulated for each in best], height=0.4, color="#0072B2", label="simulation")
axes.set(xlabel="fall of the time (%)", yticks=places, yticklabels=[each.what for each in best])
axes.invert_yaxis()
axes.legend()
figure.tight_layout()
