"""One series and its best models as plain least squares: coefficients, errors, what each model says at a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.fitting.basis import Array, Shapes
from simcodesign.fitting.search import Flags, Solution, solve


@dataclass(frozen=True)
class Family:
    """The best N models of one series at K points: ``shapes`` (N, T, m), ``constant`` (N,), ``scores`` (N,) in nats.

    ``free`` (N,): the exponents were fitted too. ``root``, ``scaled`` (K,): as in ``search``, zero where missing.
    """

    points: Array
    root: Array
    scaled: Array
    shapes: Shapes
    constant: Flags
    scores: Array
    free: Flags

    def first(self, count: int) -> Family:
        """The best ``count`` models only."""
        some = np.arange(min(count, len(self.scores)))
        return Family(
            self.points,
            self.root,
            self.scaled,
            self.shapes.take(some),
            self.constant[some],
            self.scores[some],
            self.free[some],
        )

    def columns(self, points: Array) -> Array:
        """Values of the constant and the terms of each model, (N, 1 + T, K'); zero for terms that do not exist."""
        there = np.asarray(self.shapes.uses.any(-1))
        terms = np.where(there[..., None], self.shapes.values(points), 0.0)
        first = np.broadcast_to(self.constant[:, None, None], (len(terms), 1, len(points)))
        return np.concatenate([first, terms], 1)

    def tangents(self, points: Array) -> Array:
        """The columns, and for fitted exponents how the model changes with them, (N, 1 + T + T m, K')."""
        columns = self.columns(points)
        logs = (np.log(points) - np.log(self.points).mean(0)).T
        uses = self.shapes.uses & self.free[:, None, None]
        changes = columns[:, 1:, None, :] * logs[None, None] * uses[..., None]
        return np.concatenate([columns, changes.reshape(len(columns), -1, len(points))], 1)

    def solution(self) -> Solution:
        """Coefficients (N, 1 + T) of the columns, residuals and leverages (N, K), the latter with fitted exponents."""
        plain = solve(self.columns(self.points) * self.root, self.scaled)
        if not self.free.any():
            return plain
        whole = solve(self.tangents(self.points) * self.root, self.scaled)
        return Solution(plain.coefficients, plain.residuals, whole.leverages)


def symmetric_error(values: Array, predicted: Array) -> float:
    """SMAPE in percent: the mean of 2 |y - f| / (|y| + |f|), zero where both are zero."""
    size = np.abs(values) + np.abs(predicted)
    shares = np.divide(2 * np.abs(values - predicted), size, out=np.zeros_like(size), where=size > 0)
    return float(100 * shares.mean())
