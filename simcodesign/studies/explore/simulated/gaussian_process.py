"""Gaussian process regression (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapter 2).

A constant mean and the Matern covariance of smoothness 5/2 with a length scale for each coordinate. The mean and the
variance have their values of largest likelihood in closed form (as in Jones, Schonlau and Welch, Journal of Global
Optimization 13, 1998, equations 5 and 6); length scales and noise are found by a numerical search, under weak priors
that keep a few samples from being explained by one coordinate alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from simcodesign.studies.explore.space import FloatArray

#: Length scales that are tried, of coordinates from 0 to 1, and the middle and width of their prior (logarithms).
SCALES, SCALE_PRIOR = (0.05, 20.0), (0.0, 1.0)
#: Variance of the noise as a fraction of the process variance, likewise. Simulations are exact; this is their
#: roughness.
NOISE, NOISE_PRIOR = (1e-8, 0.3), (float(np.log(1e-3)), 2.0)
#: Minimum variance of a process: rounding.
MIN_VARIANCE = 1e-18
#: Steps of the search for the largest likelihood.
STEPS = 40


def matern(distance: FloatArray) -> FloatArray:
    """Correlation at a distance in length scales, of the same shape: the Matern function of smoothness 5/2."""
    scaled = np.sqrt(5.0) * distance
    return np.asarray((1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled))


def distances(first: FloatArray, second: FloatArray, scales: FloatArray, categorical: NDArray[np.bool_]) -> FloatArray:
    """Distances of points (n, d) and (m, d) in length scales (d,): (n, m).

    Values of a categorical coordinate are all one length apart.
    """
    square = np.zeros((len(first), len(second)))
    for at, scale in enumerate(scales):
        difference = first[:, at, None] - second[None, :, at]
        square += ((difference != 0) if categorical[at] else difference**2) / scale**2
    return np.sqrt(square)


@dataclass(frozen=True)
class GaussianProcess:
    """A process with its samples: ``points`` (n, d) in coordinates, ``values`` (n,).

    ``scales`` (d,); ``noise`` as a share of ``variance``. ``certain``: all values are the same, and so are all others.
    """

    points: FloatArray
    values: FloatArray
    scales: FloatArray
    noise: float
    categorical: NDArray[np.bool_]
    mean: float
    variance: float
    factor: tuple[FloatArray, bool]
    certain: bool = False

    def predict(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation at points (m, d), both (m,), as of the mean estimated with the samples."""
        if self.certain:
            return np.full(len(points), self.mean), np.zeros(len(points))
        across = matern(distances(self.points, points, self.scales, self.categorical))
        solved = cho_solve(self.factor, across)
        ones = cho_solve(self.factor, np.ones(len(self.points)))
        mean = self.mean + solved.T @ (self.values - self.mean)
        unknown_mean = (1.0 - solved.sum(axis=0)) ** 2 / ones.sum()
        share = 1.0 - np.einsum("nm,nm->m", across, solved) + unknown_mean
        return mean, np.sqrt(self.variance * np.maximum(share, 0.0))


def conditioned(
    points: FloatArray, values: FloatArray, scales: FloatArray, noise: float, categorical: NDArray[np.bool_]
) -> GaussianProcess:
    """Return the process with these length scales and this noise, its mean and variance estimated from the samples."""
    return _conditioned(points, values, scales, noise, categorical)[0]


def _conditioned(
    points: FloatArray, values: FloatArray, scales: FloatArray, noise: float, categorical: NDArray[np.bool_]
) -> tuple[GaussianProcess, float]:
    """Fit the process; also return the negative logarithm of its likelihood except for a constant."""
    count = len(points)
    correlation = matern(distances(points, points, scales, categorical)) + (noise + 1e-12) * np.eye(count)
    factor = cho_factor(correlation, lower=True)
    ones = cho_solve(factor, np.ones(count))
    mean = float(ones @ values / ones.sum())
    rest = values - mean
    variance = max(float(rest @ cho_solve(factor, rest)) / count, MIN_VARIANCE)
    loss = 0.5 * count * np.log(variance) + float(np.log(np.diag(factor[0])).sum())
    return GaussianProcess(points, values, scales, noise, categorical, mean, variance, factor), loss


def fitted(
    points: FloatArray, values: FloatArray, categorical: NDArray[np.bool_], start: GaussianProcess | None = None
) -> GaussianProcess:
    """Return the process of the most likely length scales and noise for these samples.

    ``start``: one of fewer samples.
    """
    width = points.shape[1]
    if np.ptp(values) == 0.0:
        one = (np.eye(1), True)
        return GaussianProcess(
            points, values, np.ones(width), 0.0, categorical, float(values[0]), 0.0, one, certain=True
        )

    def loss(logs: FloatArray) -> float:
        try:
            likelihood = _conditioned(points, values, np.exp(logs[:-1]), float(np.exp(logs[-1])), categorical)[1]
        except np.linalg.LinAlgError:
            return 1e10
        prior = (((logs[:-1] - SCALE_PRIOR[0]) / SCALE_PRIOR[1]) ** 2).sum() / 2
        return likelihood + float(prior + ((logs[-1] - NOISE_PRIOR[0]) / NOISE_PRIOR[1]) ** 2 / 2)

    starts = [np.append(np.full(width, np.log(length)), NOISE_PRIOR[0]) for length in (0.3, 1.5)]
    if start is not None and not start.certain:
        starts.insert(0, np.append(np.log(start.scales), np.log(start.noise)))
    bounds = [tuple(np.log(SCALES))] * width + [tuple(np.log(NOISE))]
    ends = [minimize(loss, one, bounds=bounds, method="L-BFGS-B", options={"maxiter": STEPS}) for one in starts]
    best = min(ends, key=lambda end: float(end.fun)).x
    return conditioned(points, values, np.exp(best[:-1]), float(np.exp(best[-1])), categorical)
