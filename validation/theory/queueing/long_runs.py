"""How many requests a simulated mean takes until it is known to a given share, from theory and before any run.

A mean over n correlated values has the standard deviation spread x mean / sqrt(n) for large n, by the central limit
theorem of Markov chains. Here the spread is computed from the model that is simulated, from a solution of Poisson's
equation, so that no tolerance depends on what was simulated.

Sources: W. Whitt, Asymptotic formulas for Markov processes with applications to simulation, Operations Research 40(2),
1992 (Poisson's equation, birth and death processes); N. Blomqvist, The covariance function of the M/G/1 queuing
system, Skandinavisk Aktuarietidskrift 1967 (waits of M/G/1); L. Takacs, Operations Research 10(2), 1962 (moments of
these waits).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

_Floats = NDArray[np.float64]
#: Standard deviations that a mean may be off: once in 16,000 runs by chance.
DEVIATIONS = 4.0
#: A move of a chain: its rate, where it leads, and what is counted in it.
Move = tuple[float, Hashable, float]


def requests_for(spread: float, margin: float) -> int:
    """How many values, so that DEVIATIONS standard deviations of their mean are this fraction of it."""
    return math.ceil((DEVIATIONS * spread / margin) ** 2)


def waits_spread(rate: float, moments: Sequence[float]) -> tuple[float, float]:
    """Spreads of the mean wait and of the mean response of M/G/1; ``moments``: E[S] ... E[S^4] of the service.

    With g(w) = a w^2 + b w, a = rate/(2 (1 - load)), the waits satisfy g(w) - E[g(next) | w] = w - E[w] for
    b = 1/(1 - load), and the responses for b = 1; then n Var(mean) = 2 Cov(g, w) - Var(w). For M/M/1 this is
    Blomqvist's load (2 + 5 load - 4 load^2 + load^3) / (1 - load)^4 of the waits, in services squared.
    """
    load = rate * moments[0]
    waits = [1.0]
    for power in (1, 2, 3):
        terms = (math.comb(power, i) * moments[i] / (i + 1) * waits[power - i] for i in range(1, power + 1))
        waits.append(rate / (1 - load) * sum(terms))
    served = [1.0, *moments]
    responses = [sum(math.comb(k, i) * waits[i] * served[k - i] for i in range(k + 1)) for k in range(4)]

    def spread(of: Sequence[float], linear: float) -> float:
        variance, skew = of[2] - of[1] ** 2, of[3] - of[2] * of[1]
        return math.sqrt(rate / (1 - load) * skew + (2 * linear - 1) * variance) / of[1]

    return spread(waits, 1 / (1 - load)), spread(responses, 1.0)


@dataclass(frozen=True)
class Chain:
    """A Markov process in continuous time: its N states, its M moves (from, to: places in ``states``; rates), and the
    probabilities of the states in the steady state. ``factors``: of its generator without the first state."""

    states: tuple[Hashable, ...]
    origin: NDArray[np.int64]
    target: NDArray[np.int64]
    rate: _Floats
    counted: _Floats
    steady: _Floats
    factors: Any = field(repr=False)

    @classmethod
    def explored(cls, start: Hashable, moves: Callable[[Hashable], Iterable[Move]]) -> Chain:
        """All states that moves lead to."""
        places: dict[Hashable, int] = {start: 0}
        transitions: list[tuple[int, int, float, float]] = []
        for state in (waiting := [start]):  # grows while it is read
            for per_s, following, counts in moves(state):
                if following not in places:
                    places[following] = len(places)
                    waiting.append(following)
                transitions.append((places[state], places[following], per_s, counts))
        origin, target = (np.array([row[column] for row in transitions], dtype=np.int64) for column in (0, 1))
        rate, counted = (np.array([row[column] for row in transitions], dtype=np.float64) for column in (2, 3))
        size = len(places)
        values, rows_of, columns = np.r_[rate, -rate], np.r_[origin, origin], np.r_[target, origin]
        q = csc_array((values, (rows_of, columns)), shape=(size, size))
        factors = splu(csc_array(q[1:, 1:]))
        steady = np.r_[1.0, factors.solve(-q[[0], 1:].toarray()[0], trans="T")]
        return cls(tuple(places), origin, target, rate, counted, steady / steady.sum(), factors)

    def mean(self, reward: Callable[[Hashable], float]) -> float:
        """Mean over time of a value of the states."""
        return float(self.steady @ self._of_states(reward))

    @property
    def counted_per_s(self) -> float:
        """What is counted in moves, per unit of time."""
        return float(self.steady[self.origin] @ (self.rate * self.counted))

    def spread_of_time_average(self, reward: Callable[[Hashable], float]) -> float:
        """Of the time average of a value of the states; by what is counted, not by time."""
        value = self._of_states(reward)
        mean = float(self.steady @ value)
        return math.sqrt(self._variance(value - mean, np.zeros_like(self.rate)) * self.counted_per_s) / mean

    def spread_of_ratio(self, reward: Callable[[Hashable], float]) -> float:
        """Of the integral of a value of the states over what is counted: of a mean over requests, by Little's law."""
        value = self._of_states(reward)
        ratio = float(self.steady @ value) / self.counted_per_s
        return math.sqrt(self._variance(value, -ratio * self.counted) / self.counted_per_s) / ratio

    def spread_of_rate(self) -> float:
        """Of what is counted per unit of time."""
        per_s = self.counted_per_s
        rest = np.full(len(self.states), -per_s)
        return math.sqrt(self._variance(rest, self.counted) / per_s)

    def spread_of_share(self, of: Callable[[Hashable], float]) -> float:
        """Of the fraction of what is counted that is counted in such states (1 or 0 for each)."""
        inside = self._of_states(of)[self.origin] * self.counted
        per_s = self.counted_per_s
        share = float(self.steady[self.origin] @ (self.rate * inside)) / per_s
        return math.sqrt(self._variance(np.zeros(len(self.states)), inside - share * self.counted) / per_s) / share

    def _of_states(self, reward: Callable[[Hashable], float]) -> _Floats:
        return np.array([reward(state) for state in self.states], dtype=np.float64)

    def _variance(self, per_s: _Floats, per_move: _Floats) -> float:
        """Per unit of time, of a reward of mean 0: that of the martingale in which g solves Poisson's equation."""
        size = len(self.states)
        total = per_s + np.bincount(self.origin, self.rate * per_move, size)
        g = np.r_[0.0, self.factors.solve(-(total - self.steady @ total)[1:])]
        steps = per_move + g[self.target] - g[self.origin]
        return float(self.steady[self.origin] @ (self.rate * steps**2))
