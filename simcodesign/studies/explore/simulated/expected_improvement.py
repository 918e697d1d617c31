"""Expected worth of a simulation: expected improvement under constraints.

Expected improvement: Jones, Schonlau and Welch, Journal of Global Optimization 13 (1998), equation 15. Times the
probability that all constraints hold: Schonlau, Welch and Jones, in New Developments and Applications in Experimental
Design, IMS Lecture Notes 34 (1998).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from simcodesign.studies.explore.space import FloatArray


def expected_improvement(best: float, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the mean of max(best - y, 0) for normal y of these means and standard deviations, all (n,)."""
    gain = best - mean
    with np.errstate(divide="ignore", invalid="ignore"):
        z = gain / deviation
        density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
        expected = gain * ndtr(z) + deviation * density
    return np.where(deviation > 0, np.maximum(expected, 0.0), np.maximum(gain, 0.0))


def probability_between(low: float, high: float, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the probability that a normal y is from low to high (either may be infinite), (n,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        probability = ndtr((high - mean) / deviation) - ndtr((low - mean) / deviation)
    return np.where(deviation > 0, probability, ((mean >= low) & (mean <= high)).astype(np.float64))
