"""The possible factors for each parameter of a term, as tables over the values of the parameter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcodesign.fitting.selection.term_basis import Array, Choice, Index, Shapes, basis_of, product_of, slopes_of

#: Factors of each parameter that a new term begins with.
_COARSE = 4


@dataclass(frozen=True)
class FactorTables:
    """Factors at K points in m parameters.

    For each parameter, ``levels`` (K,) and ``members`` (K, L) map its L values to each point has; ``tables`` (C, L) are
    its factors at these values, row 0 (all ones) for no factor; ``shapes``: the factors as terms, in the order of
    the rows from 1 on.
    """

    points: Array
    levels: list[Index]
    members: list[Array]
    tables: list[Array]
    shapes: list[Shapes]

    @property
    def parameters(self) -> int:
        """Return the number of parameters."""
        return len(self.tables)

    def values(self, choices: Index, axis: int) -> Array:
        """Values of the factors (N,) of one parameter at the points, (N, K)."""
        return np.take(self.tables[axis][choices], self.levels[axis], axis=1)

    def columns(self, choices: Index) -> Array:
        """Values (N, K) of terms given by their choices (N, m); zero for terms without a factor."""
        made = self.values(choices[:, 0], 0)
        for axis in range(1, self.parameters):
            made *= self.values(choices[:, axis], axis)
        made[~(choices > 0).any(1)] = 0.0
        return made

    def shapes_of(self, choices: Index) -> Shapes:
        """Terms (N, m) as shapes."""
        shapes = Shapes(np.zeros(choices.shape), np.zeros(choices.shape), np.zeros(choices.shape, dtype=np.int64))
        for axis, own in enumerate(self.shapes):
            chosen = choices[:, axis]
            shapes.exponents[:, axis] = np.append(0.0, own.exponents[:, 0])[chosen]
            shapes.logs[:, axis] = np.append(0.0, own.logs[:, 0])[chosen]
            shapes.collectives[:, axis] = np.append(0, own.collectives[:, 0])[chosen]
        return shapes

    @property
    def alone(self) -> Index:
        """Each factor of each parameter as a term of its own, (J, m)."""
        rows = np.zeros((sum(len(table) - 1 for table in self.tables), self.parameters), dtype=np.int64)
        start = 0
        for axis, table in enumerate(self.tables):
            rows[start : start + len(table) - 1, axis] = np.arange(1, len(table))
            start += len(table) - 1
        return rows

    def slopes(self, choices: Index) -> Array:
        """Return the power that each factor (N, T, m) grows as where the points are."""
        return np.stack([self._slopes[axis][choices[..., axis]] for axis in range(self.parameters)], -1)

    def nearest(self, slopes: Array, choices: Index) -> Index:
        """For each factor (N, T, m) the factor that grows nearest to a power; no factor if there is none."""
        made = choices.copy()
        for axis, own in enumerate(self._slopes):
            nearest = np.abs(slopes[..., axis, None] - own).argmin(-1)
            made[..., axis] = np.where(choices[..., axis] > 0, nearest, 0)
        return made

    @cached_property
    def _slopes(self) -> list[Array]:
        pairs = zip(self.shapes, self.points.T, strict=True)
        return [np.append(0.0, slopes_of(shapes, x[:, None])[:, 0]) for shapes, x in pairs]

    @cached_property
    def starts(self) -> tuple[Index, Array, Index]:
        """Return the products of a coarse set of factors (J, m), and their values (J, K).

        Also return a number (J,) for the set of parameters of each.
        """
        coarse = [_spread_out(table) for table in self.tables]
        rows = [row for row in itertools.product(*coarse) if any(row)]
        choices = np.array(rows, dtype=np.int64).reshape(len(rows), self.parameters)
        parameter_sets = ((choices > 0) * 2 ** np.arange(self.parameters)).sum(1)
        return choices, self.columns(choices), parameter_sets


def factor_tables(points: Array, choices: Sequence[Sequence[Choice]]) -> FactorTables:
    """Return the factors that are finite, not negative and not constant over the values of their parameter."""
    levels, members, tables, shapes = [], [], [], []
    for axis, choice in enumerate(choices):
        values, which = np.unique(points[:, axis], return_inverse=True)
        basis = basis_of(values[:, None], product_of([choice]))
        levels.append(np.asarray(which.reshape(-1), dtype=np.int64))
        members.append((levels[-1][:, None] == np.arange(len(values))).astype(np.float64))
        tables.append(np.concatenate([np.ones((1, len(values))), basis.columns]))
        shapes.append(basis.shapes)
    return FactorTables(points, levels, members, tables, shapes)


def _spread_out(table: Array) -> list[int]:
    """No factor, and a few from slow to fast growth."""
    if len(table) - 1 <= _COARSE:
        return list(range(len(table)))
    growth = np.log(np.maximum(table[1:, -1], 1e-300)) - np.log(np.maximum(table[1:, 0], 1e-9 * table[1:, -1]))
    by_growth = np.argsort(growth, kind="stable")
    places = np.linspace(0, len(by_growth) - 1, 2 * _COARSE + 1)[1::2].round().astype(np.int64)
    return [0, *(1 + by_growth[places]).tolist()]
