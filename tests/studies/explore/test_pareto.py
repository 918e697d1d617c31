"""Pareto fronts of known shape, by enumeration and by search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.studies.explore.pareto import nondominated, pareto_front, spread
from tests.oracles.design_problems import problem

VARY = ["x1=0:1", "x2=0:1", "x3=0:1"]
G = "1 + 9*(x2 + x3)/2"
SMALL = st.integers(0, 6).map(float)


@given(st.integers(2, 3).flatmap(lambda m: st.lists(st.tuples(*[SMALL] * m), min_size=1, max_size=40)))
def test_nondominated_by_brute_force(rows: list[tuple[float, ...]]) -> None:
    kept = nondominated(np.array(rows))
    chosen = [row for row, keep in zip(rows, kept, strict=True) if keep]
    assert len(chosen) == len(set(chosen))
    expected = {
        row
        for row in rows
        if not any(all(a <= b for a, b in zip(other, row, strict=True)) and other != row for other in rows)
    }
    assert set(chosen) == expected


@pytest.mark.parametrize(
    ("shape", "front"),
    [
        ("g*(1 - sqrt(x1/g))", lambda f: 1 - np.sqrt(f)),  # ZDT1, convex
        ("g*(1 - (x1/g)**2)", lambda f: 1 - f**2),  # ZDT2, concave: no weighted sum finds its middle
    ],
)
@pytest.mark.thorough
def test_fronts_of_zdt(shape: str, front: object) -> None:
    """Zitzler, Deb and Thiele 2000: the front has g = 1."""
    design_problem = problem(VARY, {"f": "x1", "g": G, "h": shape}, ["f", "h"])
    result = pareto_front(design_problem, points=9, evaluations=40_000)
    values = np.array([point.objectives for point in result.points])
    assert np.allclose(values[:, 1], front(values[:, 0]), atol=1e-7)  # type: ignore[operator]
    assert values[:, 0].min() == pytest.approx(0, abs=1e-9)
    assert values[:, 0].max() == pytest.approx(1, abs=1e-9)
    steps = np.linalg.norm(np.diff(values, axis=0), axis=1)
    assert steps.max() < 1.5 * steps.min()  # evenly spread
    assert len(values) == 9


@pytest.mark.thorough
def test_a_front_of_three_objectives_on_a_sphere() -> None:
    formulas = {"x": "r*sqrt(a*b)", "y": "r*sqrt(a*(1 - b))", "z": "r*sqrt(1 - a)"}
    design_problem = problem(["a=0:1", "b=0:1", "r=1:2"], formulas, ["x", "y", "z"])
    front = pareto_front(design_problem, points=8, evaluations=40_000)
    values = np.array([point.objectives for point in front.points])
    assert np.allclose((values**2).sum(axis=1), 1, rtol=1e-6)
    assert np.allclose(values.min(axis=0), 0, atol=1e-6)
    assert len(values) >= 6


@pytest.mark.thorough
def test_a_front_under_a_constraint() -> None:
    """a = x against 10 - x, both cheaper with small c; c >= 2: the front is the line a + b = 14."""
    design_problem = problem(["x=0:10", "c=0:5"], {"a": "x + c", "b": "10 - x + c"}, ["a", "b"], ["c >= 2"])
    front = pareto_front(design_problem, points=6)
    values = np.array([point.objectives for point in front.points])
    assert np.allclose(values.sum(axis=1), 14, rtol=1e-9)
    assert all(point.feasible for point in front.points)


def test_separate_values_are_enumerated() -> None:
    design_problem = problem(
        ["n=1:30:whole", "k=1,2,3"], {"time": "100/(n*k)", "cost": "n*k**2"}, ["time"], ["cost <= 40"], ["cost"]
    )
    front = pareto_front(design_problem, points=100)
    assert front.exact
    rows = {(100 / (n * k), n * k * k) for n in range(1, 31) for k in (1, 2, 3) if n * k * k <= 40}
    best = {row for row in rows if not any(o[0] <= row[0] and o[1] >= row[1] and o != row for o in rows)}
    assert {point.objectives for point in front.points} == best


def test_nothing_feasible_gives_no_points() -> None:
    design_problem = problem(["x=0:1", "y=0:1"], {"a": "x", "b": "y"}, ["a", "b"], ["x + y >= 3"])
    front = pareto_front(design_problem, points=5)
    assert front.points == ()
    assert not front.solution.feasible


def test_one_objective_has_no_front() -> None:
    with pytest.raises(InputError, match="2 or 3"):
        pareto_front(problem(["x=0:1"], {"a": "x"}, ["a"]))


def test_a_front_comes_again_with_its_seed() -> None:
    design_problem = problem(VARY, {"f": "x1", "g": G, "h": "g*(1 - sqrt(x1/g))"}, ["f", "h"])
    one, same = (pareto_front(design_problem, points=4, evaluations=1000, seed=5) for _ in range(2))
    assert one.points == same.points
    assert len(one.trace) == one.evaluations


def test_spread_keeps_the_ends() -> None:
    line = np.column_stack([np.linspace(0, 1, 101), np.linspace(1, 0, 101)])
    assert spread(line, 5).tolist() == [0, 25, 50, 75, 100]


@pytest.mark.parametrize("limit", [200, 1000, 5000])
def test_a_limit_of_evaluations_holds(limit: int) -> None:
    design_problem = problem(["x=0:10", "c=0:5"], {"a": "x + c", "b": "10 - x + c"}, ["a", "b"], ["c >= 2"])
    front = pareto_front(design_problem, points=6, evaluations=limit)
    assert front.evaluations == len(front.trace) <= limit
    assert len(front.points) >= 2
