"""Improves the best point of a search.

Steps of the discrete variables, sequential quadratic programming in the others, and steps of whole variables with the
others again from their limits.

Differences for gradients are evaluated together, so that a gradient is one call of the model. Whatever comes out is
kept only if it is better: feasible, and of a lesser total, or of a lesser violation if nothing is feasible.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import minimize

from simcodesign.studies.explore.evaluator import Evaluator
from simcodesign.studies.explore.space import FloatArray, Variable

#: A difference in coordinates, of which the error in a gradient is least.
DIFFERENCE = 1e-5
ROUNDS = 6
#: Combinations of discrete variables that are refined, and further valleys.
COMBINATIONS, VALLEYS = 8, 3
#: Distance of two valleys, as a fraction of the range of a real variable.
WIDE_APART = 0.1
ITERATIONS = 60
#: A program ends after this many evaluations without an improvement by this fraction; other valleys are solved roughly.
IDLE, SETTLED, ROUGHLY = 12, 1e-12, 1e-6
#: Steps of whole variables after which the real ones are looked for again.
MAX_RESTARTS = 6
#: Numbers of discrete variables up to which all are stepped together, and every two; and values of one that are all
#: tried.
FEW, MAX_PAIRED, LINE = 4, 12, 256
#: So many real variables start from all combinations of their limits; more of them from all lower or all upper ones.
CORNERS = 4
#: So near a limit, in coordinates, a real variable is tried on it.
NEXT_TO = 1e-6
#: Distance to a constraint, in coordinates, within which a point is moved onto it, and the number of steps.
NEXT_TO_CONSTRAINT, NEWTON_STEPS = 1e-6, 2
#: Points between two others on which the best is looked for.
BETWEEN = 65


def refine(evaluator: Evaluator) -> None:
    """Polish the best points of different valleys a little, and the best of all until it gets no better."""
    real = _real(evaluator)
    for start in valleys(evaluator, COMBINATIONS, VALLEYS):
        with evaluator.nested("polish") as nested:
            nested(start[None, :], "polish")
            if np.isfinite(nested.best_key[0]) and real.any():
                # Steps of discrete variables would leave the valley before its bottom is known.
                climb(nested, real, ROUGHLY)
    polish(evaluator)


def _real(evaluator: Evaluator) -> Any:
    """Mask of the real variables whose limits differ."""
    return np.array(
        [not variable.discrete and variable.low < variable.high for variable in evaluator.problem.space.variables]
    )


def valleys(evaluator: Evaluator, most_combinations: int, further_valleys: int) -> FloatArray:
    """Return the best points of several combinations of the discrete variables, and further ones.

    The further ones lie widely apart in a real variable, both best first: (points, variables).
    """
    space = evaluator.problem.space
    scored = evaluator.score(evaluator.all_evaluated())
    points = scored.evaluated.points[scored.order()]
    discrete = np.array([variable.discrete for variable in space.variables])
    _, first = np.unique(points[:, discrete], axis=0, return_index=True)
    selected = np.sort(first)[:most_combinations].tolist()
    coordinates = space.encode(points) / np.maximum(space.tops, 1e-300)
    remaining = np.arange(len(points))
    for _ in range(further_valleys + 1):
        if not len(remaining):
            break
        selected.append(int(remaining[0]))
        distances = np.abs(coordinates[remaining] - coordinates[remaining[0]])[:, ~discrete]
        remaining = remaining[(distances > WIDE_APART).any(axis=1)]
    return points[list(dict.fromkeys(selected))]


def polish(evaluator: Evaluator, rounds: int = ROUNDS) -> None:
    """Improve the best point of the evaluator until nothing changes any more, or for ``rounds`` rounds."""
    real = _real(evaluator)
    for _ in range(rounds):
        before = evaluator.best_key
        descend(evaluator)
        if real.any():
            climb(evaluator, real)
            if not evaluator.best_key < before:
                restart_from_steps(evaluator, real)
        if not evaluator.best_key < before:
            return


def restart_from_steps(evaluator: Evaluator, real: Any) -> None:
    """Make steps of one whole variable or choice.

    Each with the real variables started from their values and their limits.

    Next to the best point may be a whole number that is possible only if a real variable is at its limit: no
    step of one of the two alone leads there.
    """
    assert evaluator.best is not None
    before, groups = evaluator.best.copy(), _restart_points(evaluator, real)
    if not groups:
        return
    scored = evaluator(np.concatenate(groups), "neighbours")
    ends = np.cumsum([len(group) for group in groups])
    order = np.argsort(scored.order())  # its place among all
    first = [min(range(end - len(group), end), key=order.__getitem__) for group, end in zip(groups, ends, strict=True)]
    # The nearest steps first: a limit is passed by one step, and any further one is refused all the more.
    nearest_first = sorted(
        first, key=lambda at: (not _is_next(evaluator, before, scored.evaluated.points[at]), order[at])
    )
    for at in nearest_first[:MAX_RESTARTS]:
        with evaluator.nested("neighbours") as nested:
            nested(scored.evaluated.points[at][None, :], "neighbours")
            if not np.isfinite(nested.best_key[0]):
                continue
            climb(nested, real)
            if scored.violation[at] > 0 and nested.best_key[0] == 0:
                climb(nested, real)  # the first ended at the first point that is feasible


def _is_next(evaluator: Evaluator, base: FloatArray, point: FloatArray) -> bool:
    """Whether no discrete variable is more than one step away."""
    return all(
        value == current or value in variable.neighbours(float(current))
        for variable, current, value in zip(evaluator.problem.space.variables, base, point, strict=True)
        if variable.discrete
    )


def _restart_points(evaluator: Evaluator, real: Any) -> list[FloatArray]:
    """For every step of a discrete variable the points from which the real ones may start, (starts, variables)."""
    assert evaluator.best is not None
    base, variables = evaluator.best, evaluator.problem.space.variables
    indices = [int(at) for at in np.flatnonzero(real)]
    limits = {at: (variables[at].low, variables[at].high) for at in indices}
    starts: list[dict[int, float]] = [{}]
    if len(indices) <= CORNERS:
        starts += [dict(zip(indices, corner, strict=True)) for corner in product(*limits.values())]
    else:
        starts += [{at: limits[at][end] for at in indices} for end in (0, 1)]
    starts += [{at: limit} for at in indices for limit in limits[at]] if len(indices) > 1 else []
    return [
        np.array([_with(base, {at: value, **start}) for start in starts])
        for at, variable in enumerate(variables)
        if variable.discrete
        for value in _values(variable, float(base[at]))
    ]


def descend(evaluator: Evaluator, rounds: int = 200) -> None:
    """Make steps of discrete variables, of one, two or a few at a time, as long as they help."""
    for _ in range(rounds):
        before = evaluator.best_key
        points = _steps(evaluator)
        if not len(points):
            return
        evaluator(points, "neighbours")
        if not evaluator.best_key < before:
            return


def _steps(evaluator: Evaluator) -> FloatArray:
    """Return points that differ from the best one in one discrete variable.

    Also return points that differ by steps of 1, 2, 4 ... in two variables, or by up to 1 in each of a few.
    """
    assert evaluator.best is not None
    base, points = evaluator.best, []
    variables = evaluator.problem.space.variables
    discrete = [at for at, variable in enumerate(variables) if variable.discrete]
    values = {at: _values(variables[at], float(base[at])) for at in discrete}
    for at in discrete:
        points += [_with(base, {at: value}) for value in _line(variables[at], float(base[at]))]
    if len(discrete) <= FEW:
        for first, second in combinations(discrete, 2):
            points += [_with(base, {first: a, second: b}) for a in values[first] for b in values[second]]
        near = [(float(base[at]), *variables[at].neighbours(float(base[at]))) for at in discrete]
        points += [_with(base, dict(zip(discrete, steps, strict=True))) for steps in product(*near)]
    elif len(discrete) <= MAX_PAIRED:
        neighbours = {at: variables[at].neighbours(float(base[at])) for at in discrete}
        for first, second in combinations(discrete, 2):
            points += [_with(base, {first: a, second: b}) for a in neighbours[first] for b in neighbours[second]]
    return np.array(points)


def _line(variable: Variable, value: float) -> list[float]:
    """All other values of a variable; of one with many those that are steps of 1, 2, 4 ... away."""
    if variable.choices or variable.high - variable.low >= LINE:
        return _values(variable, value)
    return [float(other) for other in np.arange(variable.low, variable.high + 1) if other != value]


def _values(variable: Variable, value: float) -> list[float]:
    if variable.choices:
        return [choice for choice in variable.choices if choice != value]
    powers = 2.0 ** np.arange(max(np.ceil(np.log2(max(variable.high - variable.low, 1.0))), 0) + 1)
    candidates = np.clip(np.concatenate([value - powers, value + powers]), variable.low, variable.high)
    return [float(candidate) for candidate in np.unique(candidates) if candidate != value]


def _with(base: FloatArray, changes: dict[int, float]) -> FloatArray:
    point = base.copy()
    for at, value in changes.items():
        point[at] = value
    return point


def climb(evaluator: Evaluator, real: Any, settled: float = SETTLED) -> None:
    """Improve by sequential quadratic programming in the real variables.

    Until it gains less than this fraction, then the way between its answer and the best point.
    """
    assert evaluator.best is not None
    base = evaluator.best.copy()
    program = _Program(evaluator, base, real, evaluator.best_key[0] > 0, settled)
    point = program.solve()
    evaluator(_at_limits(evaluator, point, real)[None, :], "polish")
    evaluator(program.at_active_constraints(point)[None, :], "polish")
    # The end point may violate a constraint by rounding: the last point before it that does not is taken.
    for _ in range(8):
        assert evaluator.best is not None
        before, best = evaluator.best_key, evaluator.best
        ends = evaluator.problem.space.encode(np.array([best, point]))
        shares = np.linspace(0.0, 1.0, BETWEEN)[1:, None]
        line = evaluator.problem.space.decode(ends[0] + shares * (ends[1] - ends[0]))
        line[:, ~real] = base[~real]
        scored = evaluator(line, "polish")
        if not evaluator.best_key < before:
            # Nothing better in these steps: look at the first of them.
            point = line[0]
            if np.array_equal(best, point):
                return
            continue
        after = min(int(scored.order()[0]) + 1, len(line) - 1)
        point = line[after]


def _at_limits(evaluator: Evaluator, point: FloatArray, real: Any) -> FloatArray:
    """Return the point with every real variable that is next to a limit on it: a program ends near it by rounding."""
    space = evaluator.problem.space
    coordinates = space.encode(point[None, :])[0]
    ends = np.rint(coordinates)
    at_limit = real & (np.abs(coordinates - ends) < NEXT_TO)
    return np.where(at_limit, space.decode(np.where(at_limit, ends, coordinates)[None, :])[0], point)


class _SettledError(Exception):
    """A program makes no more progress."""


class _Program:
    """The program in z = (coordinates of the real variables, slacks).

    Minimize the total, or with ``slacks`` their sum, by which the constraints give way. Values and gradients of one z
    come from one call of the model.
    """

    def __init__(self, evaluator: Evaluator, base: FloatArray, real: Any, slacks: bool, settled: float) -> None:
        self.evaluator, self.base, self.real, self.settled = evaluator, base, real, settled
        self.problem = evaluator.problem
        self.count = int(real.sum())
        self.slacks = len(self.problem.constraints) if slacks else 0
        self.start = self.problem.space.encode(base[None, :])[0]
        self.read: tuple[FloatArray, Any] | None = None
        self.scale = 1.0
        self.best, self.idle = evaluator.best_key, 0

    def solve(self) -> FloatArray:
        """Return the point that it ends with, feasible or not."""
        first = np.concatenate([self.start[self.real], self._first_slacks()])
        self.scale = abs(self.values(first)[0]) or 1.0
        bounds = [(0.0, 1.0)] * self.count + [(0.0, None)] * self.slacks
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                ended = minimize(
                    lambda z: self.values(z)[0] / self.scale,
                    first,
                    jac=lambda z: self.values(z)[1] / self.scale,
                    bounds=bounds,
                    constraints=self._constraints(),
                    method="SLSQP",
                    options={"maxiter": ITERATIONS, "ftol": self.settled / 1e3},
                ).x
            except _SettledError:
                assert self.read is not None
                ended = self.read[0]
        coordinates: FloatArray = np.clip(np.nan_to_num(ended[: self.count]), 0.0, 1.0)
        return np.asarray(self._points(coordinates[None, :])[0])

    def at_active_constraints(self, point: FloatArray) -> FloatArray:
        """Return the point moved onto the constraints next to it, by Newton's method with the shortest step.

        The distance at which sequential quadratic programming ends differs between releases of SciPy.
        """
        coordinates: FloatArray = self.problem.space.encode(point[None, :])[0][self.real]
        for _ in range(NEWTON_STEPS):
            _, _, gaps, slopes = self._differences(coordinates)
            active = np.abs(gaps) < NEXT_TO_CONSTRAINT * np.linalg.norm(slopes, axis=1)
            if not active.any():
                break
            step = np.linalg.lstsq(slopes[active], -gaps[active], rcond=None)[0]
            coordinates = np.clip(coordinates + step, 0.0, 1.0)
        return np.asarray(self._points(coordinates[None, :])[0])

    def _first_slacks(self) -> FloatArray:
        if not self.slacks:
            return np.zeros(0)
        gaps = self.evaluator(self.base[None, :], "polish").evaluated.gaps
        return np.asarray(np.nan_to_num(np.maximum(self.problem.excess(gaps)[0], 0.0), posinf=1.0))

    def _points(self, coordinates: FloatArray) -> FloatArray:
        """Points (n, all variables) for coordinates (n, real variables)."""
        whole = np.tile(self.start, (len(coordinates), 1))
        whole[:, self.real] = coordinates
        points = self.problem.space.decode(whole)
        points[:, ~self.real] = self.base[~self.real]
        return points

    def values(self, z: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the objective and its gradient, the gaps (k,) and their gradients (k, variables)."""
        if self.read is None or not np.array_equal(self.read[0], z):
            self.read = (np.array(z), self._differences(np.clip(z[: self.count], 0.0, 1.0)))
            self._watch()
        total, slope, gaps, slopes = self.read[1]
        if self.slacks:
            total, slope = float(z[self.count :].sum()), np.zeros(self.count)
        full = np.concatenate([slope, np.ones(self.slacks)])
        return total, full, gaps, slopes

    def _watch(self) -> None:
        """End a program without progress: its line searches would continue for long within rounding."""
        violation, total = self.evaluator.best_key
        before = self.best
        better = violation < before[0] * (1 - self.settled) or (
            violation == before[0] and total < before[1] - self.settled * abs(before[1])
        )
        self.idle = 0 if better else self.idle + 1
        self.best = (violation, total) if better else before
        if self.idle > IDLE:
            raise _SettledError

    def _differences(self, centre: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        steps = np.eye(self.count) * DIFFERENCE
        stencil = np.clip(np.vstack([centre, centre + steps, centre - steps]), 0.0, 1.0)
        scored = self.evaluator(self._points(stencil), "polish")
        n, gaps = self.count, scored.evaluated.gaps
        widths = np.diag(stencil[1 : n + 1] - stencil[n + 1 :])
        columns = np.column_stack([scored.total, gaps])
        # Where the model refuses a neighbour nothing is known of the slope.
        slopes = np.nan_to_num((columns[1 : n + 1] - columns[n + 1 :]) / widths[:, None], posinf=0.0, neginf=0.0)
        values = np.nan_to_num(columns[0], nan=1e30, posinf=1e30, neginf=-1e30)
        return float(values[0]), slopes[:, 0], values[1:], slopes[:, 1:].T

    def _constraints(self) -> list[dict[str, Any]]:
        return [
            self._constraint(at, constraint.relation == "==", constraint.slack)
            for at, constraint in enumerate(self.problem.constraints)
        ]

    def _constraint(self, at: int, equal: bool, slack: float) -> dict[str, Any]:
        """``gap <= slack`` (and its own slack variable), for SciPy as something that is 0 or above."""
        if equal and not self.slacks:
            return {"type": "eq", "fun": lambda z: self.values(z)[2][at] - slack, "jac": self._jacobian(at, 1.0)}
        if equal:
            own = self.count + at
            fun: Callable[[FloatArray], Any] = lambda z: np.array(  # noqa: E731
                [z[own] - (self.values(z)[2][at] - slack), z[own] + (self.values(z)[2][at] - slack)]
            )
            return {
                "type": "ineq",
                "fun": fun,
                "jac": lambda z: np.vstack([self._jacobian(at, -1.0)(z), self._jacobian(at, 1.0)(z)]),
            }
        return {
            "type": "ineq",
            "fun": lambda z: slack - self.values(z)[2][at] + (z[self.count + at] if self.slacks else 0.0),
            "jac": self._jacobian(at, -1.0),
        }

    def _jacobian(self, at: int, sign: float) -> Callable[[FloatArray], FloatArray]:
        def jacobian(z: FloatArray) -> FloatArray:
            own = np.zeros(self.slacks)
            if self.slacks:
                own[at] = 1.0
            return np.concatenate([sign * self.values(z)[3][at], own])

        return jacobian
