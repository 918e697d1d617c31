"""The coefficients of a form by least squares: linear ones solved, the others searched with those projected out.

For each choice of the non-linear coefficients the best linear ones follow from a linear least-squares problem; what is
left of the values is a function of the non-linear ones alone (Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973)), whose
Jacobian is taken as Kaufman simplified it (BIT 15 (1975)): the derivative of the model with the part that the linear
coefficients can follow taken out. The search is a trust-region method from several starts: there may be many valleys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import optimize

from simcodesign.fitting.formulas.branches import forms_by_branch
from simcodesign.fitting.formulas.form import Form
from simcodesign.fitting.formulas.starts import EXPONENT_BOUND, starts_of
from simcodesign.fitting.selection.candidate_fits import Flags
from simcodesign.fitting.selection.term_basis import Array

#: Starts that are followed to the bottom of their valleys.
_FOLLOWED = 12
#: Number of starts whose coefficients are combined into further starts.
_SEEDS = 4
#: As many of them that end in the lowest valley so far are enough; sums of squares that differ by less are the same.
_AGREEING, _SAME = 4, 1e-9
_MOST_STEPS = 300
_TOLERANCE = 1e-15
#: Singular values below this fraction of the largest count as zero, columns scaled to length one.
RANK_TOLERANCE = 1e-10
#: Residuals below this fraction of the values are rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Inner:
    """The linear coefficients (L,) for some non-linear ones.

    Weighted ``residuals`` (K,), the weighted ``columns`` (K, L) of the linear ones, and which of them are not held at
    zero (``free``, (L,)).
    """

    coefficients: Array
    residuals: Array
    columns: Array
    free: Flags

    @property
    def cost(self) -> float:
        """The sum of squares; inf where the form is undefined."""
        cost = float(self.residuals @ self.residuals)
        return cost if np.isfinite(cost) else np.inf


@dataclass(frozen=True)
class Problem:
    """A form, points (K, m), the roots of their weights and the weighted values (K,).

    Whether linear coefficients must be zero or more.
    """

    form: Form
    points: Array
    root: Array
    scaled: Array
    nonnegative: bool = False

    @cached_property
    def _names(self) -> Mapping[str, Array | np.float64]:
        return self.form.names_at(self.points)

    def inner(self, nonlinear: Array) -> Inner:
        """Return the best linear coefficients for these non-linear ones, (N,)."""
        form = self.form
        given = dict(zip(form.nonlinear, nonlinear.tolist(), strict=True)) | dict.fromkeys(form.linear, 0.0)
        without = self._weighted(form, given, None)
        columns = [self._weighted(form, given, name) for name in form.linear]
        matrix = np.stack(columns, 1) if columns else np.empty((len(self.root), 0))
        if not (np.isfinite(without).all() and np.isfinite((matrix**2).sum())):
            none = np.zeros(len(columns))
            return Inner(none, np.full(len(self.root), np.inf), matrix, np.zeros(len(columns), dtype=np.bool_))
        coefficients = linear_coefficients(matrix, self.scaled - without, self.nonnegative)
        free = coefficients > 0 if self.nonnegative else np.ones(len(columns), dtype=np.bool_)
        return Inner(coefficients, self.scaled - without - matrix @ coefficients, matrix, free)

    def tangents(self, coefficients: Mapping[str, float]) -> Array:
        """How the weighted form grows with each non-linear coefficient, (K, N)."""
        form = self.form
        columns = [self._weighted(form, coefficients, name) for name in form.nonlinear]
        return np.stack(columns, 1) if columns else np.empty((len(self.root), 0))

    def _weighted(self, form: Form, coefficients: Mapping[str, float], by: str | None) -> Array:
        """Return the form (None) or its derivative by a coefficient, times the roots of weights, (K,)."""
        node = form.tree if by is None else form.slopes[by]
        with np.errstate(all="ignore"):
            return form.evaluated(node, self._names, coefficients, len(self.root)) * self.root

    def residuals(self, nonlinear: Array) -> Array:
        """Residuals of the weighted values, (K,)."""
        return self.inner(nonlinear).residuals

    def jacobian(self, nonlinear: Array) -> Array:
        """How that changes with each non-linear coefficient, (K, N), without what linear ones follow."""
        inner, form = self.inner(nonlinear), self.form
        pairs = zip((*form.linear, *form.nonlinear), (*inner.coefficients, *nonlinear), strict=True)
        tangents = np.nan_to_num(self.tangents({name: float(value) for name, value in pairs}), posinf=0.0, neginf=0.0)
        units = _orthonormal(inner.columns[:, inner.free])
        return np.asarray(units @ (units.T @ tangents) - tangents)


@dataclass(frozen=True)
class Solution:
    """The best coefficients, by name, the non-linear ones (N,) again, and the inner problem there."""

    coefficients: Mapping[str, float]
    nonlinear: Array
    inner: Inner


@np.errstate(all="ignore")  # far from the values a form may overflow
def solve(problem: Problem) -> Solution | None:
    """Return the coefficients with the smallest sum of squares; None where the form is defined for no start."""
    form = problem.form
    best = np.empty(0) if not form.nonlinear else _searched(problem)
    inner = None if best is None else problem.inner(best)
    if best is None or inner is None or inner.cost == np.inf:
        return None
    pairs = zip(form.coefficients, (*inner.coefficients.tolist(), *best.tolist()), strict=True)
    return Solution(dict(pairs), best, inner)


def _searched(problem: Problem) -> Array | None:
    starts = starts_of(problem.form, problem.points, problem.scaled / problem.root)
    costs = np.array([problem.inner(start).cost for start in starts])
    more = _branch_starts(problem, starts[np.argsort(costs, kind="stable")[:_SEEDS]])
    starts = np.concatenate([starts, more])
    costs = np.concatenate([costs, [problem.inner(start).cost for start in more]])
    order = np.argsort(costs, kind="stable")
    order = order[np.isfinite(costs[order])]
    if not len(order):
        return None
    bound = np.array([EXPONENT_BOUND if name in problem.form.exponents else np.inf for name in problem.form.nonlinear])
    best, lowest = starts[order[0]], costs[order[0]]
    enough = (_ROUNDING * np.linalg.norm(problem.scaled)) ** 2
    reached = 0
    for number in order[_spread(starts[order])]:
        if lowest <= enough or reached == _AGREEING:
            break
        found = optimize.least_squares(
            problem.residuals,
            starts[number],
            problem.jacobian,
            bounds=(-bound, bound),
            x_scale="jac",
            xtol=_TOLERANCE,
            ftol=_TOLERANCE,
            gtol=_TOLERANCE,
            max_nfev=_MOST_STEPS,
        )
        cost = 2 * float(found.cost)
        reached = 1 if cost < lowest * (1 - _SAME) else reached + (cost < lowest * (1 + _SAME))
        if cost < lowest:
            best, lowest = found.x, cost
    return np.asarray(best)


def _branch_starts(problem: Problem, seeds: Array) -> Array:
    """Return starts (S, N) that suppose which argument of ``min`` and ``max`` counts.

    Coefficients that are non-linear even so have the values of the ``seeds``.
    """
    form, found = problem.form, [np.empty((0, len(problem.form.nonlinear)))]
    bound = np.array([EXPONENT_BOUND if name in form.exponents else np.inf for name in form.nonlinear])
    for other in forms_by_branch(form, problem.points):
        part = replace(problem, form=other, nonnegative=False)
        for seed in seeds if other.nonlinear else seeds[:1]:
            given = dict(zip(form.nonlinear, seed.tolist(), strict=True))
            inner = part.inner(np.array([given.get(name, 1.0) for name in other.nonlinear]))
            given |= dict(zip(other.linear, inner.coefficients.tolist(), strict=True))
            found.append(np.clip([[given[name] for name in form.nonlinear]], -bound, bound))
    return np.concatenate(found)


def _spread(starts: Array) -> list[int]:
    """Return indices of the starts to follow: the best, and others that are not its near neighbours.

    Starts are best first.
    """
    scale = np.maximum(np.abs(starts), 0.1)
    chosen: list[int] = []
    for number, start in enumerate(starts):
        near = any((np.abs(start - starts[other]) < 0.2 * scale[other]).all() for other in chosen)
        if not near:
            chosen.append(number)
        if len(chosen) == _FOLLOWED:
            break
    return chosen


def linear_coefficients(matrix: Array, values: Array, nonnegative: bool) -> Array:
    """Return the least-squares solution (L,) for a matrix (K, L), of least length if there are several.

    Zero or more if ``nonnegative``.
    """
    if not matrix.shape[1]:
        return np.empty(0)  # SciPy's nnls ends the process for a matrix without columns
    sizes = np.linalg.norm(matrix, axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    if not nonnegative:
        return np.asarray(np.linalg.lstsq(matrix / sizes, values, rcond=RANK_TOLERANCE)[0] / sizes)
    try:
        return np.asarray(optimize.nnls(matrix / sizes, values)[0] / sizes)
    except RuntimeError:  # it has not ended within its steps
        return np.asarray(np.maximum(optimize.lsq_linear(matrix / sizes, values, (0, np.inf)).x, 0.0) / sizes)


def _orthonormal(matrix: Array) -> Array:
    """Return an orthonormal basis of the columns (K, L)."""
    sizes = np.linalg.norm(matrix, axis=0)
    left, singular, _ = np.linalg.svd(matrix / np.where(sizes > 0, sizes, 1.0), full_matrices=False)
    return np.asarray(left[:, singular > RANK_TOLERANCE * singular.max(initial=0.0)])
