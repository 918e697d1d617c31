"""Proofs by branch and bound on intervals: that no point of the space is feasible, or better than a given one.

The space is cut into boxes. Interval arithmetic (``core.expressions.interval``) bounds each gap, and the total, at
every point of a box. A box is excluded if a constraint is violated throughout, or nothing in it is better; the others
are halved, until none is left or there are too many. Only formulas have bounds (``BoundedModel``): where a constraint
or the objective needs anything else, that one excludes nothing, and there may be no proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.expressions.interval import Interval, bounds, point, where
from simcodesign.studies.explore.problem import ROUNDING, Constraint, Problem, plain_name
from simcodesign.studies.explore.space import FloatArray, Variable

#: Boxes at a time, and in all.
MAX_BOXES, MAX_IN_ALL = 4096, 65536
#: An improvement by less than this fraction of the total does not count.
BETTER = 1e-9


@runtime_checkable
class BoundedModel(Protocol):
    """A model that can bound metrics over a box."""

    def bounds(self, names: Mapping[str, Interval]) -> Mapping[str, Interval]:
        """Bounds of metrics, if available, when the variables lie in these intervals."""


def excluded_boxes(problem: Problem, best: float | None = None, scales: Sequence[float] = ()) -> int:
    """Return the number of boxes without a feasible point that cover the space; 0 if there is no proof.

    Within the limits; with ``best``: one of a total below that. ``scales``: divisors of the objectives if there are
    several.
    """
    if not isinstance(problem.model, BoundedModel) or not (problem.constraints or best is not None):
        return 0
    boxes, count = _Boxes.of(problem), 0
    while boxes.count:
        excluded = _excluded(problem, boxes, best, scales)
        count += int(excluded.sum())
        boxes = boxes.without(excluded)
        if 2 * boxes.count > MAX_BOXES or count > MAX_IN_ALL or not boxes.can_be_halved.all():
            return 0
        boxes = boxes.halved()
    return count


def _excluded(problem: Problem, boxes: _Boxes, best: float | None, scales: Sequence[float]) -> NDArray[np.bool_]:
    """Boxes in which nothing is feasible, or better: (boxes,). What is NaN excludes nothing."""
    names = _names(problem, boxes)
    excluded = np.zeros(boxes.count, dtype=np.bool_)
    with np.errstate(all="ignore"):
        for constraint in problem.constraints:
            excluded |= _violated(constraint, names)
        if best is not None:
            excluded |= _total(problem, names, scales).low >= best - BETTER * abs(best)
    return excluded


def _names(problem: Problem, boxes: _Boxes) -> dict[str, Interval]:
    """Bounds of everything that an expression of the problem may use."""
    assert isinstance(problem.model, BoundedModel)
    variables = dict(zip(problem.space.names, boxes.intervals(), strict=True))
    fixed = {name: point(value) for name, value in problem.model.fixed(problem.space.names).items()}
    known = {**fixed, **problem.model.bounds(variables), **variables}
    return {plain_name(name): interval for name, interval in known.items()}


def _violated(constraint: Constraint, names: Mapping[str, Interval]) -> NDArray[np.bool_]:
    """Where a constraint is violated throughout; as ``Constraint.gap`` and ``Constraint.excess``."""
    left, right = bounds(constraint.left, names), bounds(constraint.right, names)
    zero = right.is_point & (right.low == 0)
    gap = (left - right) / where(zero, point(1.0), abs(right))
    if constraint.relation == ">=":
        gap = -gap
    above = gap.low > constraint.slack + ROUNDING
    if constraint.relation != "==":
        return above
    allowed = constraint.tolerance + ROUNDING
    return (gap.low > constraint.slack + allowed) | (gap.high < constraint.slack - allowed)


def _total(problem: Problem, names: Mapping[str, Interval], scales: Sequence[float]) -> Interval:
    """Bounds of ``Problem.total``."""
    total = point(0.0)
    for number, objective in enumerate(problem.objectives):
        share = 1.0 if len(problem.objectives) == 1 else objective.weight / (scales[number] if scales else 1.0)
        total = total + point(objective.sign * share) * bounds(objective.expression, names)
    return total


@dataclass(frozen=True)
class _Boxes:
    """Boxes with both ends, ``low`` and ``high`` (boxes, variables): values, or places in the list of choices."""

    variables: tuple[Variable, ...]
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, problem: Problem) -> _Boxes:
        """Return the whole space."""
        variables = problem.space.variables
        low = [0.0 if one.choices else one.low for one in variables]
        high = [len(one.choices) - 1.0 if one.choices else one.high for one in variables]
        return cls(variables, np.array([low]), np.array([high]))

    @property
    def count(self) -> int:
        return len(self.low)

    def intervals(self) -> list[Interval]:
        """Values of each variable, (boxes,)."""
        ends = []
        for at, variable in enumerate(self.variables):
            low, high = self.low[:, at], self.high[:, at]
            if variable.choices:
                low, high = (np.asarray(variable.choices)[end.astype(np.int64)] for end in (low, high))
            ends.append(Interval(low, high))
        return ends

    def without(self, excluded: NDArray[np.bool_]) -> _Boxes:
        return _Boxes(self.variables, self.low[~excluded], self.high[~excluded])

    @property
    def middles(self) -> FloatArray:
        """Where each side is cut, (boxes, variables); geometric where a variable is searched in its logarithm."""
        logs = np.array([bool(one.log) and not one.choices for one in self.variables])
        mean = self.low + (self.high - self.low) / 2
        with np.errstate(invalid="ignore"):
            middles = np.where(logs, np.sqrt(self.low) * np.sqrt(self.high), mean)
        whole = np.array([one.discrete for one in self.variables])
        return np.clip(np.where(whole, np.floor(middles), middles), self.low, self.high)

    @property
    def can_be_halved(self) -> NDArray[np.bool_]:
        """Boxes of which a side can be cut: (boxes,)."""
        return np.asarray(self._sides().max(axis=1) > 0)

    def _sides(self) -> FloatArray:
        """Return the length of each side as a fraction of its variable, 0 if there is nothing between its ends."""
        whole = np.array([one.discrete for one in self.variables])
        middles = self.middles
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.array([bool(one.log) and not one.choices for one in self.variables])
            length = np.where(logs, np.log(self.high) - np.log(self.low), self.high - self.low)
            first = _Boxes.length_of(self.variables)
        inside = np.where(whole, self.high > self.low, (middles > self.low) & (middles < self.high))
        return np.where(inside, np.maximum(length / first, 1e-300), 0.0)

    @staticmethod
    def length_of(variables: Sequence[Variable]) -> FloatArray:
        """Return the length of each side of the whole space; 1 if that is 0."""
        lengths = []
        for one in variables:
            length = len(one.choices) - 1.0 if one.choices else one.high - one.low
            lengths.append((np.log(one.high) - np.log(one.low)) if one.log and not one.choices else length)
        return np.where(np.array(lengths) > 0, lengths, 1.0)

    def halved(self) -> _Boxes:
        """Both halves of every box, along the side that is the longest share of its variable."""
        if not self.count:
            return self
        axis, rows = self._sides().argmax(axis=1), np.arange(self.count)
        cut = self.middles[rows, axis]
        whole = np.array([one.discrete for one in self.variables])[axis]
        first_high, second_low = self.high.copy(), self.low.copy()
        first_high[rows, axis] = cut
        second_low[rows, axis] = np.where(whole, cut + 1, cut)
        return _Boxes(self.variables, np.vstack([self.low, second_low]), np.vstack([first_high, self.high]))
