"""A queue that is served in batches: Poisson arrivals, one server, batches of all that wait, at most B.

An idle server begins with the first arrival. M/G(1,B)/1: Bailey, J. R. Statist. Soc. B 16, 1954; Neuts, Ann. Math.
Statist. 38, 1967.

The number left at the ends of batches is a Markov chain; what is between two ends is integrated over the Poisson
process. Means are exact if the time of a batch depends on its size and on independent chance. B = 1 is M/G/1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln, pdtrik, xlogy

from simcodesign.analytic.serving.lengths import Law
from simcodesign.core.errors import CapacityError

Floats = NDArray[np.float64]
#: Probability beyond the states that are kept, and the most states.
TAIL, MAX_STATES = 1e-9, 4096
#: Number of points of Sobol's sequence for percentiles.
POINTS = 2**15


@dataclass(frozen=True)
class BulkQueue:
    """``rate_per_s`` of arrivals; ``services``: the law of the time of a batch of 1, 2 ... B requests, in seconds.

    A load of 1 or more is not allowed. Raises CapacityError for a queue that is too long to be solved.
    """

    rate_per_s: float
    services: Sequence[Law]

    @property
    def largest_batch(self) -> int:
        """B."""
        return len(self.services)

    @cached_property
    def left(self) -> Floats:
        """(N,) the probability that n requests wait at the end of a batch."""
        states = 4 * self.largest_batch + 64
        while True:
            left = self._solved(states)
            if left[-1 - self.largest_batch :].sum() < TAIL:
                return left
            states *= 2
            if states > MAX_STATES:
                what = "the queue is too long for its equations"
                raise CapacityError(what, value=states, allowed="a rate further below saturation")

    def _solved(self, states: int) -> Floats:
        """Return the stationary probabilities of a chain that is cut off: its last state has all that is beyond."""
        chain = np.zeros((states, states))
        for size, service in enumerate(self.services, start=1):
            arrivals = _poisson_mixture(self.rate_per_s * service.values, service.weights, states)
            first = 0 if size == 1 else size
            after = states if size == self.largest_batch else size + 1
            for row in range(first, after):
                kept = max(row - size, 0)
                chain[row, kept:] = arrivals[: states - kept]
        chain[:, -1] += 1 - chain.sum(axis=1)
        equations = chain.T - np.eye(states)
        equations[-1] = 1.0
        return np.maximum(np.linalg.solve(equations, np.eye(states)[-1]), 0.0)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(N,) the batch that follows."""
        return np.clip(np.arange(len(self.left)), 1, self.largest_batch)

    def _of_sizes(self, order: int) -> Floats:
        """(N,) moments of the time of the batch that follows."""
        return np.array([service.moment(order) for service in self.services])[self.sizes - 1]

    @cached_property
    def cycle_s(self) -> float:
        """Mean time from the end of a batch to the next."""
        return float(np.sum(self.left * self._of_sizes(1)) + self.left[0] / self.rate_per_s)

    @property
    def utilisation(self) -> float:
        """Fraction of the time in which a batch is served."""
        return 1 - float(self.left[0]) / self.rate_per_s / self.cycle_s

    @property
    def in_system(self) -> float:
        """Mean number of requests: the integral over a cycle by its mean time."""
        present = np.maximum(np.arange(len(self.left)), 1) * self._of_sizes(1)
        return float(np.sum(self.left * (present + self.rate_per_s * self._of_sizes(2) / 2))) / self.cycle_s

    @property
    def shares(self) -> Floats:
        """(B,) the fraction of requests that are in batches of 1, 2 ... B."""
        requests = np.bincount(self.sizes - 1, self.left * self.sizes, minlength=self.largest_batch)
        return np.asarray(requests / requests.sum())

    @property
    def in_batch(self) -> float:
        """Mean number in the batch, of the time in which one is served."""
        served = self.left * self._of_sizes(1)
        return float(np.sum(served * self.sizes) / served.sum())

    def samples(self) -> Samples:
        """Return waits of requests, each as likely.

        The wait is the rest of the batch that is served, and full batches until the own one. Exact for services that
        are constant or exponential; otherwise times of several batches are taken for gamma distributed, with their mean
        and variance.
        """
        draws = stats.qmc.Sobol(6, scramble=False).random(POINTS) + 0.5 / POINTS
        seen, rest, others, sums, later, own = draws.T
        served_s = self._of_sizes(1)
        idle = self.left[0] / self.rate_per_s / self.cycle_s
        busy = seen >= idle  # arrivals see averages over time
        weights = np.cumsum(self.left * served_s)
        state = np.searchsorted(weights / weights[-1], np.clip((seen - idle) / (1 - idle), 0, 1 - 1e-12))
        within = np.clip((seen - idle) / (1 - idle), 0, 1 - 1e-12) * weights[-1]
        below = np.where(state > 0, weights[state - 1], 0.0)
        inside = (within - below) / (weights[state] - below)
        size = self.sizes[state]
        length_s = np.zeros(POINTS)
        for each in np.unique(size):
            law = self.services[each - 1]
            longer = Law(law.values, law.weights * law.values / law.mean)
            length_s[size == each] = longer.at(inside[size == each])
        ahead = np.maximum(state - size, 0) + _poisson_at(others, self.rate_per_s * rest * length_s)
        full = np.where(busy, ahead // self.largest_batch, 0)
        wait_s = np.where(busy, (1 - rest) * length_s + _sum_at(sums, full, self.services[-1]), 0.0)
        joined = ahead - full * self.largest_batch + 1 + _poisson_at(later, self.rate_per_s * wait_s)
        batch = np.where(busy, np.minimum(joined, self.largest_batch), 1).astype(np.int64)
        return Samples(wait_s, batch, own)


@dataclass(frozen=True)
class Samples:
    """(N,) waits in seconds, sizes of the batches, and uniform numbers for the times of these."""

    wait_s: Floats
    batch: NDArray[np.int64]
    uniform: Floats

    def with_service(self, services: Sequence[Law]) -> Floats:
        """Return waits and the time of the own batch."""
        total_s = self.wait_s.copy()
        for size in np.unique(self.batch):
            here = self.batch == size
            total_s[here] += services[size - 1].at(self.uniform[here])
        return total_s


def _poisson_mixture(means: Floats, weights: Floats, count: int) -> Floats:
    """(count,) probabilities of 0, 1 ... arrivals."""
    number = np.arange(count)[:, None]
    return np.asarray(np.exp(xlogy(number, means) - means - gammaln(number + 1)) @ weights)


def _poisson_at(probability: Floats, mean: Floats) -> Floats:
    """Return the quantile of a Poisson number."""
    found = np.ceil(pdtrik(probability, np.maximum(mean, 1e-300)))
    return np.where(probability <= np.exp(-mean), 0.0, np.nan_to_num(np.maximum(found, 0.0)))


def _sum_at(probability: Floats, count: Floats, service: Law) -> Floats:
    """Return the quantile of the sum of ``count`` services."""
    spread = service.squared_variation
    if spread < 1e-12:
        return count * service.mean
    shape = np.maximum(count, 1) / spread
    return np.where(count > 0, stats.gamma.ppf(probability, shape, scale=service.mean * spread), 0.0)
