"""Why nothing is feasible: relaxations by hand and by linear programming, conflicts by brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from simcodesign.core.errors import InputError
from simcodesign.studies.explore.solvers.infeasibility import Infeasibility, explain
from simcodesign.studies.explore.solvers.solve import solve
from tests.oracles.design_problems import ARCHITECT, ARCHITECT_UNITS, LIMITS, problem

#: Rows a, b of a.x <= b; x within 0 and 10.
LINEAR = [
    ([[1, 1], [-1, 0], [0, -1], [-1, 1], [1, 0]], [4, -3, -2, -5, 9]),
    ([[1, 2], [-1, -1], [1, -1], [-2, 1]], [5, -6, 1, 2]),
]


def explained(rows: list[list[int]], bounds: list[int]) -> Infeasibility:
    limits = [f"{a}*x + {b}*y <= {bound}" for (a, b), bound in zip(rows, bounds, strict=True)]
    design_problem = problem(["x=0:10", "y=0:10"], {"f": "x + 2*y"}, ["f"], limits)
    return explain(solve(design_problem, evaluations=2500), evaluations=2500)


@pytest.fixture(scope="module", params=LINEAR)
def case(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, Infeasibility]:
    rows, bounds = request.param
    return np.array(rows, float), np.array(bounds, float), explained(rows, bounds)


@pytest.mark.thorough
def test_relaxations_of_linear_problems(case: tuple[np.ndarray, np.ndarray, Infeasibility]) -> None:
    rows, bounds, why = case
    for at, one in enumerate(why.relaxations):
        rest = [place for place in range(len(bounds)) if place != at]
        best = linprog(rows[at], rows[rest], bounds[rest], bounds=[(0, 10)] * 2)
        assert one.helps is (best.status == 0)
        if one.helps:
            assert one.bound == pytest.approx(best.fun, rel=1e-9)
            assert one.fraction == pytest.approx((best.fun - bounds[at]) / abs(bounds[at]), rel=1e-8)
            assert one.point is not None
            x = np.array(list(one.point.values.values()))
            assert rows[at] @ x == pytest.approx(best.fun, rel=1e-9)
            assert np.all(rows[rest] @ x <= bounds[rest] + 1e-12)


def test_the_least_total_violation_of_linear_problems(case: tuple[np.ndarray, np.ndarray, Infeasibility]) -> None:
    rows, bounds, why = case
    count = len(bounds)
    # Minimize the sum of slacks that are shares of the bounds.
    widened = np.hstack([rows / np.abs(bounds)[:, None], -np.eye(count)])
    best = linprog([0, 0] + [1] * count, widened, bounds / np.abs(bounds), bounds=[(0, 10)] * 2 + [(0, None)] * count)
    assert why.nearest.violation == pytest.approx(best.fun, rel=1e-9)


def test_conflicts_by_brute_force(case: tuple[np.ndarray, np.ndarray, Infeasibility]) -> None:
    rows, bounds, why = case

    def feasible(places: tuple[int, ...]) -> bool:
        some = list(places)
        return (
            linprog([0, 0], rows[some] if some else None, bounds[some] if some else None, bounds=[(0, 10)] * 2).status
            == 0
        )

    every = range(len(bounds))
    minimal = {
        places
        for size in range(1, len(bounds) + 1)
        for places in combinations(every, size)
        if not feasible(places) and all(feasible(tuple(p for p in places if p != left)) for left in places)
    }
    texts = [one.text for one in why.problem.constraints]
    assert {tuple(texts.index(one.text) for one in conflict) for conflict in why.conflicts} == minimal
    assert why.all_conflicts


def names_of(why: Infeasibility) -> list[set[str]]:
    return [{one.text.split()[0] for one in conflict} for conflict in why.conflicts]


@pytest.mark.thorough
def test_the_architect_by_hand() -> None:
    """At 3 flop/byte a GPU has 399.6 GFLOP/s, so that 126 are needed, which take 31.5 kW; 18 kW hold 72."""
    design_problem = problem(
        ["gpus=1:500:whole", "clock=1e8:1.3e9"], ARCHITECT, [], LIMITS, ["peak"], units=ARCHITECT_UNITS
    )
    why = explain(solve(design_problem, evaluations=6000), evaluations=6000)
    power, peak, balance, units = why.relaxations
    assert power.bound == 31500
    assert power.fraction == pytest.approx(0.75, rel=1e-12)
    assert peak.bound == pytest.approx(72 * 399.6e9, rel=1e-9)
    assert not balance.helps  # 72 GPUs at 1.3 GHz have 47.9 TFLOP/s
    assert not units.helps
    assert names_of(why) == [{"power", "peak"}]


@pytest.mark.thorough
def test_the_architect_with_a_faster_clock() -> None:
    """72 GPUs need 50e12/72 FLOP/s each, which is 50e12/72/133.2e9 flop per byte."""
    design_problem = problem(
        ["gpus=1:500:whole", "clock=1e8:2e9"], ARCHITECT, [], LIMITS, ["peak"], units=ARCHITECT_UNITS
    )
    why = explain(solve(design_problem, evaluations=6000), evaluations=6000)
    balance = why.relaxations[2]
    assert names_of(why) == [{"power", "peak", "balance"}]
    assert balance.bound == pytest.approx(50e12 / 72 / 133.2e9, rel=1e-9)


def test_proven_for_separate_values() -> None:
    design_problem = problem(["n=1:50:whole"], {"f": "(n - 20)**2"}, ["n"], ["f <= 0.5", "n >= 30"])
    why = explain(solve(design_problem))
    assert why.exact
    assert [one.bound for one in why.relaxations] == [100, 20]
    assert len(why.conflicts) == 1


def test_one_constraint_against_the_limits() -> None:
    why = explain(solve(problem(["x=0:10"], {"f": "2*x"}, ["f"], ["f >= 25", "x <= 5"])))
    assert [[one.text for one in conflict] for conflict in why.conflicts] == [["f >= 25"]]
    assert why.relaxations[0].bound == pytest.approx(10, rel=1e-12)
    assert not why.relaxations[1].helps


def test_an_equality_that_cannot_be() -> None:
    why = explain(solve(problem(["x=0:10"], {"f": "x**2 + 4"}, ["x"], ["f == 3"])))
    assert why.relaxations[0].fraction == pytest.approx(1 / 3, rel=1e-9)
    assert why.nearest.violation == pytest.approx(1 / 3 - 1e-6, rel=1e-9)


def test_what_is_feasible_needs_no_reason() -> None:
    with pytest.raises(InputError, match="feasible point"):
        explain(solve(problem(["x=0:10"], {"f": "x"}, ["f"], ["f >= 2"])))
