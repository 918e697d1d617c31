"""Models of a series as plain least squares: coefficients, errors, value of each model at a point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simcodesign.fitting.selection.candidate_fits import Flags, Solution, orthonormal
from simcodesign.fitting.selection.term_basis import Array, Index, Shapes


@dataclass(frozen=True)
class Solved:
    """Least squares of N models with Q columns each.

    ``coefficients`` (N, Q), ``residuals`` and ``leverages`` (N, K), ``numbers`` (N,), how many columns say something of
    their own, and ``inverse`` (N, Q, Q), which turns coefficients of the orthonormal columns into coefficients of the
    columns.
    """

    coefficients: Array
    residuals: Array
    leverages: Array
    numbers: Array
    inverse: Array

    def variance(self, columns: Array) -> Array:
        """Return the variance of each model if its columns are ``columns`` (N, Q).

        As a fraction of the variance of the residuals.
        """
        return np.asarray((np.einsum("npq,np->nq", self.inverse, columns) ** 2).sum(1))

    def some(self, rows: slice) -> Solved:
        """Return the solutions of some of the models."""
        parts = (self.coefficients, self.residuals, self.leverages, self.numbers, self.inverse)
        return Solved(*(part[rows] for part in parts))


def solved(columns: Array, scaled: Array) -> Solved:
    """``scaled`` (..., K) on weighted columns (N, Q, K); columns that add nothing get coefficient zero."""
    units, inverse = orthonormal(columns)
    along = (units * scaled[..., None, :]).sum(-1)
    residuals = scaled - (along[..., None] * units).sum(-2)
    leverages = np.einsum("nqk,nqk->nk", units, units)
    return Solved((inverse * along[..., None, :]).sum(-1), residuals, leverages, leverages.sum(-1), inverse)


@dataclass(frozen=True)
class Family:
    """N models at K points: ``shapes`` (N, T, m), ``constant`` (N,), ``scores`` (N,) in nats.

    ``free`` (N,): the exponents were fitted too. ``root``, ``scaled``: as in ``search``, zero where missing; (K,) for
    the models of one series, best first, and (N, K) if each model has a series of its own. Solutions are kept.
    """

    points: Array
    root: Array
    scaled: Array
    shapes: Shapes
    constant: Flags
    scores: Array
    free: Flags

    def first(self, count: int) -> Family:
        """Return the best ``count`` models only, of one series."""
        return self if count >= len(self.scores) else self._some(slice(0, count), self.root, self.scaled)

    def split(self, starts: Index) -> list[Family]:
        """Return the models of each series, which follow one another from ``starts`` on; all are solved together."""
        ends = [*starts[1:].tolist(), len(self.scores)]
        pairs = zip(starts.tolist(), ends, strict=True)
        return [self._some(slice(start, end), self.root[start], self.scaled[start]) for start, end in pairs]

    def _some(self, rows: slice, root: Array, scaled: Array) -> Family:
        shapes = Shapes(self.shapes.exponents[rows], self.shapes.logs[rows], self.shapes.collectives[rows])
        part = Family(self.points, root, scaled, shapes, self.constant[rows], self.scores[rows], self.free[rows])
        relative, size = self.further
        each = relative.ndim > 0
        further = (relative[rows.start], size[rows.start]) if each else (relative, size)
        part.__dict__.update(plain=self.plain.some(rows), _pairs=self._pairs, further=further)
        if self.free[rows].any():
            first, last = np.searchsorted(self._fitted_rows, [rows.start, rows.stop])
            part.__dict__["_tangential"] = self._tangential.some(slice(first, last))
        return part

    @cached_property
    def fitted(self) -> Family:
        """Return these models, the exponents of all of them counted as fitted."""
        made = replace(self, free=np.ones_like(self.free))
        made.__dict__["plain"] = self.plain  # coefficients are the same
        return made

    @cached_property
    def counts(self) -> Index:
        """At how many points something was measured, () or (N,)."""
        return np.asarray((self.root > 0).sum(-1))

    @cached_property
    def further(self) -> tuple[Flags, Array]:
        """``further_measurement`` of each model; () or (N,)."""
        return further_measurement(self.root, self.scaled)

    @cached_property
    def _there(self) -> Flags:
        return np.asarray(self.shapes.uses.any(-1))

    def columns(self, points: Array) -> Array:
        """Values of the constant and the terms of each model, (N, 1 + T, K'); zero for terms that do not exist."""
        terms = np.where(self._there[..., None], self.shapes.values(points), 0.0)
        first = np.broadcast_to(self.constant[:, None, None], (len(terms), 1, len(points)))
        return np.concatenate([first, terms], 1)

    @cached_property
    def _own_columns(self) -> Array:
        return self.columns(self.points)

    @cached_property
    def plain(self) -> Solved:
        """The models with their exponents as given."""
        return solved(self._own_columns * self.root[..., None, :], self.scaled)

    @cached_property
    def _fitted_rows(self) -> Index:
        return np.flatnonzero(self.free)

    @cached_property
    def _pairs(self) -> tuple[Index, Index]:
        """Terms and parameters of which some model has a fitted exponent."""
        terms, parameters = np.nonzero((self.shapes.uses & self.free[:, None, None]).any(0))
        return terms, parameters

    def _tangents(self, columns: Array, points: Array) -> Array:
        """Return the columns of models with fitted exponents, and how each model changes with its exponents."""
        rows, (terms, parameters) = self._fitted_rows, self._pairs
        logs = (np.log(points) - np.log(self.points).mean(0)).T
        own = columns[rows]
        uses = self.shapes.uses[rows][:, terms, parameters, None]
        return np.concatenate([own, own[:, 1:][:, terms] * logs[parameters] * uses], 1)

    @cached_property
    def _tangential(self) -> Solved:
        """The models with fitted exponents, and only these, with all their tangents."""
        each = self.root.ndim > 1
        root, scaled = (array[self._fitted_rows] if each else array for array in (self.root, self.scaled))
        return solved(self._tangents(self._own_columns, self.points) * root[..., None, :], scaled)

    @cached_property
    def numbers(self) -> Array:
        """How many coefficients and exponents of each model the points determine, (N,)."""
        if not self.free.any():
            return self.plain.numbers
        numbers = self.plain.numbers.copy()
        numbers[self._fitted_rows] = self._tangential.numbers
        return numbers

    def at(self, point: Array) -> tuple[Array, Array]:
        """Each model's value at a point (m,), and its variance as a fraction of the residuals' variance, both (N,)."""
        columns = self.columns(point[None])
        variance = self.plain.variance(columns[:, :, 0])
        if self.free.any():
            tangents = self._tangents(columns, point[None])[:, :, 0]
            variance[self._fitted_rows] = self._tangential.variance(tangents)
        return (self.plain.coefficients * columns[:, :, 0]).sum(1), variance

    def values(self, point: Array) -> Array:
        """Each model's value at a point (m,), (N,)."""
        return np.asarray((self.plain.coefficients * self.columns(point[None])[:, :, 0]).sum(1))

    def solution(self) -> Solution:
        """Coefficients (N, 1 + T) of the columns, residuals and leverages (N, K), the latter with fitted exponents."""
        leverages = self.plain.leverages
        if self.free.any():
            leverages = leverages.copy()
            leverages[self._fitted_rows] = self._tangential.leverages
        return Solution(self.plain.coefficients, self.plain.residuals, leverages)


def further_measurement(root: Array, scaled: Array) -> tuple[Flags, Array]:
    """Return the error of a further measurement, from the weights of the measured values, as in ``Family``.

    Whether the error of a further measurement is relative, and the root of the weight of a measurement of such values
    (if relative, of the value one); () or (N,).
    """
    there = root > 0
    sizes = np.maximum(np.abs(scaled), 1e-300 * root)
    ordered = np.sort(np.where(there, sizes, np.inf), axis=-1)
    count = np.asarray(there.sum(-1))[..., None]
    most = np.take_along_axis(ordered, count - 1, -1)[..., 0]
    relative = most - ordered[..., 0] <= 0.5 * most  # weights go as one over the value
    if not relative.all():
        roots = np.sort(np.where(there, root, np.inf), axis=-1)
        ordered = np.where(relative[..., None], ordered, roots)
    middle = np.take_along_axis(ordered, (count - 1) // 2, -1) + np.take_along_axis(ordered, count // 2, -1)
    return relative, np.asarray(middle[..., 0] / 2)


def symmetric_error(values: Array, predicted: Array) -> float:
    """SMAPE in percent: the mean of 2 |y - f| / (|y| + |f|), zero where both are zero."""
    size = np.abs(values) + np.abs(predicted)
    shares = np.divide(2 * np.abs(values - predicted), size, out=np.zeros_like(size), where=size > 0)
    return float(100 * shares.mean())
