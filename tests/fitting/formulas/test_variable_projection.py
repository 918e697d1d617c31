"""The inner linear problem against NumPy's least squares, and its derivative against differences."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.fitting.formulas.variable_projection import Problem, solve
from tests.fitting.formulas.test_form import form

POINTS = np.array([(p, m) for p in (2.0, 4.0, 8.0, 16.0) for m in (10.0, 100.0, 1000.0)])
P, M = POINTS.T


def problem(values: np.ndarray, text: str = "P**x + b*m") -> Problem:
    root = 1 / values
    return Problem(form(text), POINTS, root, values * root)


def test_the_part_without_linear_coefficients_is_subtracted() -> None:
    """``P**x`` has no coefficient of its own: the rest of the values is what ``b*m`` must follow."""
    values = P**1.5 + 0.3 * M + np.sin(M)
    root = 1 / values
    expected, *_ = np.linalg.lstsq((M * root)[:, None], (values - P**1.2) * root, rcond=None)
    inner = problem(values).inner(np.array([1.2]))
    assert inner.coefficients == pytest.approx(expected, rel=1e-12)
    assert inner.residuals == pytest.approx((values - P**1.2 - expected * M) * root, rel=1e-9)


def test_the_jacobian_is_the_derivative_where_nothing_is_left() -> None:
    """Kaufman's simplification leaves out a term that is proportional to the residuals, which are zero at the truth."""
    exact, step = problem(P**1.5 + 0.3 * M), 1e-6
    difference = (exact.residuals(np.array([1.5 + step])) - exact.residuals(np.array([1.5 - step]))) / (2 * step)
    assert exact.jacobian(np.array([1.5]))[:, 0] == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_coefficients_of_both_kinds_are_found() -> None:
    solution = solve(problem(P**1.5 + 0.3 * M))
    assert solution is not None
    assert solution.coefficients == pytest.approx({"x": 1.5, "b": 0.3}, rel=1e-9)
