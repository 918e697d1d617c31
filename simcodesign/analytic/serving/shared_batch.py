"""Continuous batching as processor sharing of at most B requests, whose joint speed depends on how many there are.

With n requests in the batch, one leaves every ``s(n)`` seconds: n are a birth and death process of Poisson arrivals.
For B without limit it is a generalised processor sharing queue, in which the numbers depend on the mean service alone
(Cohen, Acta Informatica 12, 1979); with a limit this is an approximation for services that are not exponential.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SharedBatch:
    """``rate_per_s`` of arrivals; ``departure_s``: (B,) mean times between departures with 1, 2 ... B in the batch.

    A load of 1 or more, ``rate_per_s`` times the last of these, is not allowed.
    """

    rate_per_s: float
    departure_s: Floats

    @property
    def load(self) -> float:
        """Load with a full batch."""
        return self.rate_per_s * float(self.departure_s[-1])

    @cached_property
    def numbers(self) -> Floats:
        """(B + 1,) the probability that 0 to B - 1 are in the system, and that B or more are."""
        logs = np.concatenate([[0.0], np.cumsum(np.log(self.rate_per_s * self.departure_s))])
        weights = np.exp(logs - logs.max())
        weights[-1] /= 1 - self.load
        return np.asarray(weights / weights.sum())

    @property
    def delayed(self) -> float:
        """Fraction of the requests that find the batch full."""
        return float(self.numbers[-1])

    @property
    def drain_s(self) -> float:
        """Mean wait of a request that finds the batch full; such waits are exponential."""
        return float(self.departure_s[-1]) / (1 - self.load)

    @property
    def in_batch(self) -> float:
        """Mean number in the batch, of all time."""
        return float(np.sum(self.numbers * np.arange(len(self.numbers))))

    @property
    def in_system(self) -> float:
        """Mean number that wait or are served."""
        return self.in_batch + self.rate_per_s * self.delayed * self.drain_s
