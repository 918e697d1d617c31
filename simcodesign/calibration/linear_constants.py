"""Constants of linear time models from measured times: least squares with no constant below 0, and what is determined.

A measured time is ``known + sum over k of design[i, k] * constant[k]``: the resource-usage equations of SPECseis96
(Armstrong and Eigenmann, equations 3 and 4) are of this kind in their startup and per-byte constants. Constants that no
row has in common are fitted apart (a group). Within a group three things are distinguished:

- estimates of the constants that the times determine, each with a standard error (constants at 0 held there) and an
  interval: all values at which the best fit of the others, none below 0, has a sum of squares within ``t^2 s^2`` of the
  least. Away from 0 that is the interval of Student's t; at 0 it begins there.
- constants that they do not determine: no estimate, but the least and the largest value in any non-negative solution
  that fits as well (linear programming), and the combinations that are determined;
- directions which the noise of the measurements hides although they are determined in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import norm, t

from simcodesign.calibration.estimates import Combination, Estimate, Group
from simcodesign.calibration.linear_algebra import NULL, echelon, nonnegative
from simcodesign.calibration.outlying_times import OutlyingTime, kept_by_robust_fit, outlying
from simcodesign.core.errors import InputError
from simcodesign.core.units import LEAST, MOST, NOT_NEGATIVE_RANGE, POSITIVE_RANGE, is_positive
from simcodesign.fitting.measurements import FloatArray, IntArray

WEIGHTINGS = ("relative", "absolute")
#: Residuals below this fraction of the times are rounding: then there is no noise to make an interval of.
ROUNDING = 1e-12
REWEIGHTINGS = 30


@dataclass(frozen=True, eq=False)
class ConstantsProblem:
    """N measured times and K unknown constants.

    ``design``: (N, K), seconds that one unit of a constant adds to a time, none below 0. ``times_s``: (N,) measured,
    ``known_s``: (N,) the part of them that no unknown has. ``weighting``: the standard error of a time is proportional
    to the time (``relative``: to the fitted one, by repeated fits) or the same for all (``absolute``). ``error``:
    that standard error (a fraction, or seconds) if it is known; otherwise it is taken from the residuals.

    Raises InputError for shapes that do not match, numbers that are not finite or negative, and times of 0 with
    relative weights.
    """

    names: tuple[str, ...]
    design: FloatArray
    times_s: FloatArray
    known_s: FloatArray
    weighting: str = "relative"
    error: float | None = None

    def __post_init__(self) -> None:
        shapes = (len(self.times_s), len(self.names)), self.times_s.shape
        if (self.design.shape, self.known_s.shape) != shapes:
            raise InputError(
                "shapes of design and times", value=(self.design.shape, self.known_s.shape), allowed=str(shapes)
            )
        if not self.names or not len(self.times_s):
            raise InputError("a fit needs at least one constant and one measured time")
        if len(set(self.names)) < len(self.names):
            raise InputError("two constants of one name", value=self.names)
        if self.weighting not in WEIGHTINGS:
            raise InputError("weights", value=self.weighting, allowed=", ".join(WEIGHTINGS))
        for what, numbers in (("design", self.design), ("times", self.times_s), ("known parts", self.known_s)):
            if not np.all((numbers >= 0) & (numbers <= MOST)):
                raise InputError(f"{what} of a fit", allowed=NOT_NEGATIVE_RANGE)
        if np.any((self.times_s > 0) & (self.times_s < LEAST)):  # relative weights are their inverses
            raise InputError("times of a fit", allowed=NOT_NEGATIVE_RANGE)
        if self.weighting == "relative" and np.any(self.times_s == 0):
            raise InputError("a time of 0 has no relative error", allowed="times above 0, or absolute weights")
        if self.error is not None and not is_positive(self.error):
            raise InputError("error of a measurement", value=self.error, allowed=POSITIVE_RANGE)


@dataclass(frozen=True, eq=False)
class ConstantsFit:
    """``solution``: (K,) one of the best fits, unique only where constants are determined; ``fitted_s``: (N,).

    ``outliers``: times that the others do not explain; a ``robust`` fit left them out, any other used them.
    """

    problem: ConstantsProblem
    level: float
    estimates: tuple[Estimate, ...]
    groups: tuple[Group, ...]
    solution: FloatArray
    fitted_s: FloatArray
    outliers: tuple[OutlyingTime, ...] = ()
    robust: bool = False

    @property
    def residuals_s(self) -> FloatArray:
        """Fitted minus measured, (N,)."""
        return self.fitted_s - self.problem.times_s

    def __getitem__(self, name: str) -> Estimate:
        return next(estimate for estimate in self.estimates if estimate.name == name)


def fit_constants(problem: ConstantsProblem, level: float = 0.9, robust: bool = False) -> ConstantsFit:
    """Return the constants that fit the times best, with intervals of this level.

    ``robust``: of all but the outliers (``outlying_times``).

    Raises InputError for a level outside 0 to 1.
    """
    if not 0 < level < 1:
        raise InputError("level of intervals", value=level, allowed="above 0 and below 1")
    solution = np.zeros(len(problem.names))
    estimates: dict[str, Estimate] = {}
    groups = []
    outliers: list[OutlyingTime] = []
    for columns, every in _groups(problem.design):
        names = tuple(problem.names[column] for column in columns)
        rows, left_out = _without_outliers(problem, every, columns) if robust else (every, [])
        part = _Part(problem, rows, columns, level)
        outliers += left_out if robust else part.outliers(problem)
        solution[columns] = part.solution
        estimates |= {name: part.estimate(place, name) for place, name in enumerate(names)}
        groups.append(part.group(names))
    fitted = problem.known_s + problem.design @ solution
    return ConstantsFit(
        problem,
        level,
        tuple(estimates[name] for name in problem.names),
        tuple(groups),
        solution,
        fitted,
        tuple(outliers),
        robust,
    )


def _without_outliers(
    problem: ConstantsProblem, rows: IntArray, columns: IntArray
) -> tuple[IntArray, list[OutlyingTime]]:
    """Return the rows of a group that a robust fit keeps, and the others."""
    times = problem.times_s[rows]
    kept, expected, deviations = kept_by_robust_fit(
        problem.design[np.ix_(rows, columns)], times, problem.known_s[rows], problem.weighting == "relative"
    )
    outliers = [
        OutlyingTime(int(rows[place]), float(times[place]), float(expected[place]), float(deviations[place]))
        for place in np.flatnonzero(~kept).tolist()
    ]
    return rows[kept], outliers


def _groups(design: FloatArray) -> list[tuple[IntArray, IntArray]]:
    """Columns and rows of the constants that hang together by common rows."""
    rows, columns = np.nonzero(design)
    count = design.shape[1]
    size = count + design.shape[0]
    graph = csr_array((np.ones(len(rows)), (columns, count + rows)), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    group_labels = dict.fromkeys(labels[:count].tolist())
    return [(np.flatnonzero(labels[:count] == one), np.flatnonzero(labels[count:] == one)) for one in group_labels]


class _Part:
    """One group: weighted rows, columns scaled to length 1, everything in units of the standard error's scale."""

    def __init__(self, problem: ConstantsProblem, rows: IntArray, columns: IntArray, level: float) -> None:
        self.level, self.rows, self.raw = level, rows, problem.design[np.ix_(rows, columns)]
        self.used = np.count_nonzero(self.raw, axis=0)
        times, known = problem.times_s[rows], problem.known_s[rows]
        scale = times if problem.weighting == "relative" else np.ones(len(rows))
        self._weigh(scale, times - known)
        for _ in range(REWEIGHTINGS if problem.weighting == "relative" else 0):
            fitted = known + self.raw @ self.solution
            # Weights by measured times would favour those that came out low.
            new = np.where(fitted > 0, fitted, times)
            done = np.allclose(new, scale, rtol=1e-12, atol=0)
            scale = new
            self._weigh(scale, times - known)
            if done:
                break
        self._take_apart()
        self._spread(problem.error)

    def _weigh(self, scale: FloatArray, target: FloatArray) -> None:
        self.scale = scale
        weighted = self.raw / scale[:, None]
        self.norms = np.sqrt((weighted**2).sum(axis=0))
        self.norms[self.norms == 0] = 1.0
        self.design, self.target = weighted / self.norms, target / scale
        self.x = nonnegative(self.design, self.target)
        self.solution = self.x / self.norms

    def _take_apart(self) -> None:
        """Directions that the rows determine (row space), and those that they do not (null space)."""
        # Equal sums of squares in as many rows as there are constants, and one.
        self.small: FloatArray = np.asarray(
            np.linalg.qr(np.column_stack([self.design, self.target]), mode="r"), dtype=np.float64
        )
        _, values, vectors = np.linalg.svd(self.small[:, :-1])
        rank = int(np.sum(values > NULL * max(values.max(initial=0.0), 1e-300)))
        self.values, self.row_space, self.null = values[:rank], vectors[:rank], vectors[rank:].T
        self.determined = np.linalg.norm(self.null, axis=1) < np.sqrt(NULL)
        self.rank = rank

    def _spread(self, error: float | None) -> None:
        """Return the standard error of a weighted row, and how many of them an interval reaches."""
        self.freedom = len(self.target) - self.rank
        self.least = float(np.sum((self.target - self.design @ self.x) ** 2))
        if error is not None:
            self.error, self.reach = error, float(norm.ppf(0.5 + self.level / 2))
        elif self.freedom:
            unbound = np.linalg.lstsq(self.design, self.target, rcond=NULL)[0]
            squares = float(np.sum((self.target - self.design @ unbound) ** 2))
            self.error = float(np.sqrt(squares / self.freedom))
            self.reach = float(t.ppf(0.5 + self.level / 2, self.freedom))
            if self.error <= ROUNDING * max(float(np.linalg.norm(self.target)), 1e-300):
                self.error = 0.0
        elif self.least > (1e-9 * float(np.linalg.norm(self.target))) ** 2:
            # No row is left over, but the bound at 0 keeps the rows from being met: that misfit shows their error.
            freedom = max(len(self.target) - int(np.sum(self.x > 0)), 1)
            self.error = float(np.sqrt(self.least / freedom))
            self.reach = float(t.ppf(0.5 + self.level / 2, freedom))
        else:
            self.error = self.reach = float("nan")

    def outliers(self, problem: ConstantsProblem) -> list[OutlyingTime]:
        """Return the times that the others do not explain."""
        known = problem.known_s[self.rows]
        return [
            OutlyingTime(
                int(self.rows[place]),
                float(problem.times_s[self.rows[place]]),
                float(known[place] + expected * self.scale[place]),
                deviations,
            )
            for place, expected, deviations in outlying(self.design, self.target, self.x)
        ]

    def estimate(self, place: int, name: str) -> Estimate:
        """One constant, in its own unit."""
        unit = float(self.norms[place])
        determined = bool(self.determined[place])
        least, most = (float(self.x[place]),) * 2 if determined else self._range(place)
        low, high = self._interval(place, least, most)
        at_bound = determined and bool(self.x[place] == 0) and self._slope(place) > 1e-9
        return Estimate(
            name,
            float(self.solution[place]) if determined else float("nan"),
            self._standard_error(place) / unit,
            low / unit,
            high / unit,
            least / unit,
            most / unit,
            int(self.used[place]),
            at_bound,
        )

    def _slope(self, place: int) -> float:
        """How much the sum of squares would fall below the bound; 0 for noise that is rounding."""
        slope = float(-self.design[:, place] @ (self.target - self.design @ self.x))
        return max(slope, 0.0) / max(float(np.linalg.norm(self.target)), 1e-300)

    def _standard_error(self, place: int) -> float:
        """With the constants at 0 held there."""
        free = np.flatnonzero(self.x > 0)
        if place not in free or not self.determined[place]:
            return float("nan")
        inverse = np.linalg.pinv(self.design[:, free], rcond=NULL)
        return self.error * float(np.linalg.norm(inverse[int(np.flatnonzero(free == place)[0])]))

    def _range(self, place: int) -> tuple[float, float]:
        """Least and largest value among the solutions that fit equally well."""
        size = max(float(self.x.max(initial=0.0)), 1e-300)  # the solver's tolerance is absolute
        goal = np.zeros(len(self.x))
        goal[place] = 1.0
        ends = []
        for sign in (1.0, -1.0):
            solution = linprog(
                sign * goal,
                A_eq=self.row_space if self.rank else None,
                b_eq=self.row_space @ (self.x / size) if self.rank else None,
            )
            ends.append(float(solution.x[place]) * size if solution.status == 0 else np.inf)
        return max(ends[0], 0.0) if np.isfinite(ends[0]) else 0.0, ends[1]

    def _interval(self, place: int, least: float, most: float) -> tuple[float, float]:
        """Values at which the best fit of the others is nearly as good."""
        if not len(self.target):
            return 0.0, float("inf")
        if np.isnan(self.error):
            return float("nan"), float("nan")
        if self.error == 0:
            return least, most
        column, target = self.small[:, place], self.small[:, -1]
        others = np.delete(self.small[:, :-1], place, axis=1)
        allowed = (self.reach * self.error) ** 2

        def excess(value: float) -> float:
            left = target - column * value
            return float(np.sum((left - others @ nonnegative(others, left)) ** 2)) - self.least - allowed

        student = self._student(place)
        return (
            self._end(excess, least, -1.0) if student[0] is None else student[0],
            self._end(excess, most, 1.0) if student[1] is None else student[1],
        )

    def _student(self, place: int) -> tuple[float | None, float | None]:
        """Return the ends of the interval if no bound is met before them, otherwise None.

        It spares the search.
        """
        if self.rank < len(self.x) or not np.all(self.x > 0):
            return None, None
        inverse = np.linalg.inv(self.small[:-1, :-1] if len(self.small) > len(self.x) else self.small[:, :-1])
        covariance = inverse @ inverse[place]
        ends: list[float | None] = []
        for sign in (-1.0, 1.0):
            there = self.x + sign * self.reach * self.error * covariance / np.sqrt(covariance[place])
            ends.append(float(there[place]) if np.all(there >= 0) else None)
        return ends[0], ends[1]

    def _end(self, excess: Callable[[float], float], start: float, sign: float) -> float:
        """Where the excess, negative at the start, becomes 0; 0 or infinity if it does not."""
        if not np.isfinite(start) or (sign < 0 and (start == 0 or excess(0.0) <= 0)):
            return max(start, 0.0) if sign > 0 else 0.0
        step, inner = self.reach * self.error, start
        for _ in range(60):
            outer = max(start + sign * step, 0.0)
            if excess(outer) > 0:
                return float(brentq(excess, inner, outer, xtol=1e-12 * max(abs(outer), step), rtol=1e-10))
            inner, step = outer, 2 * step
        return float("inf")

    def group(self, names: tuple[str, ...]) -> Group:
        """Return the determined and undetermined constants of a group."""
        loose = tuple(name for name, fixed in zip(names, self.determined, strict=True) if not fixed)
        return Group(
            names,
            self.rows,
            self.freedom,
            self.error,
            loose,
            self.null.shape[1],
            self._combinations(names) if loose else (),
            self._hidden(names),
            self.null,
            self.norms,
        )

    def _combinations(self, names: tuple[str, ...]) -> tuple[Combination, ...]:
        """Return determined sums of constants that are not determined each."""
        combinations = []
        for row in echelon(self.row_space):
            weights = row * self.norms
            there = np.flatnonzero(row)
            if len(there) < 2:
                continue
            first = weights[there[0]]
            value = float(row @ self.x / first)
            inverse = np.linalg.pinv(self.design, rcond=NULL)
            reach = float(self.reach * self.error * np.linalg.norm(row @ inverse) / first)
            floor = 0.0 if np.all(weights >= 0) else -np.inf
            named = {names[place]: float(weights[place] / first) for place in there}
            combinations.append(Combination(named, value, max(value - reach, floor), value + reach))
        return tuple(combinations)

    def _hidden(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Directions along which the interval is wider than the whole solution."""
        if np.isnan(self.error):
            return ()
        size = float(np.linalg.norm(self.row_space @ self.x))
        hidden = []
        for value, direction in zip(self.values, self.row_space, strict=True):
            if self.reach * self.error / value > size and len(names) > 1:
                hidden.append(tuple(names[place] for place in np.flatnonzero(np.abs(direction) > 0.1)))
        return tuple(one for one in hidden if len(one) > 1)
