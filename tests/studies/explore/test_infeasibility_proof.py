"""Proofs that nothing is feasible, or better: compared with all points of whole spaces, and with inequalities by hand."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from simcodesign.describe.scenario import Scenario
from simcodesign.studies.explore.models.model_interfaces import apply_model_limits
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.problem_parser import constraint, objective, variable
from simcodesign.studies.explore.solvers.infeasibility_proof import excluded_boxes
from simcodesign.studies.explore.solvers.solve import solve
from simcodesign.studies.explore.space import Space
from tests import examples
from tests.oracles.design_problems import problem

rows = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-12, 12)), min_size=1, max_size=4)


@settings(max_examples=examples(60), deadline=None)
@given(rows)
def test_a_proof_is_never_wrong_and_found_for_whole_linear_problems(rows: list[tuple[int, int, int]]) -> None:
    """a x + b y <= c for whole x and y of 0 to 9: every linear function is monotone."""
    formulas = {f"g{at}": f"{a}*x + {b}*y" for at, (a, b, _) in enumerate(rows)}
    limits = [f"g{at} <= {c}" for at, (_, _, c) in enumerate(rows)]
    design_problem = problem(["x=0:9:whole", "y=0:9:whole"], formulas, subject_to=limits)
    feasible = any(all(a * x + b * y <= c for a, b, c in rows) for x, y in itertools.product(range(10), range(10)))
    assert (excluded_boxes(design_problem) > 0) is not feasible


@settings(max_examples=examples(30), deadline=None)
@given(st.floats(0.5, 5), st.floats(1.001, 3))
def test_sums_and_products(most: float, beyond: float) -> None:
    """x + y <= s leaves x*y no more than (s/2)^2."""
    design_problem = problem(
        ["x=0:9", "y=0:9"], {"s": "x + y", "p": "x*y"}, ["s"], [f"s <= {most}", f"p >= {most**2 / 4 * beyond}"]
    )
    assert excluded_boxes(design_problem) > 0
    near = problem(["x=0:9", "y=0:9"], {"s": "x + y", "p": "x*y"}, ["s"], [f"s <= {most}", f"p >= {most**2 / 4.1}"])
    assert excluded_boxes(near) == 0


def test_an_equality_is_between_two_bounds() -> None:
    far, near = (
        problem(["x=1:4", "y=1:4"], {"a": "x*y", "b": "x/y"}, ["a"], [f"a == {area}", "b == 4"]) for area in (9, 4)
    )
    assert excluded_boxes(far) > 0  # b = 4 leaves x = 4 and y = 1 alone
    assert excluded_boxes(near) == 0


def test_what_may_be_undefined_is_not_proven() -> None:
    undefined = problem(["x=0:10", "y=0:10"], {"g": "where(x < 5, nothing, x)", "nothing": "0/0"}, ["y"], ["g >= 100"])
    assert excluded_boxes(undefined) == 0


def test_a_search_says_that_it_is_proven() -> None:
    design_problem = problem(["x=0:10", "y=0:10"], {"s": "x + y", "p": "x*y"}, ["s"], ["s <= 3", "p >= 2.5"])
    solution = solve(design_problem)
    assert not solution.feasible
    assert solution.exact
    assert "interval" in solution.proof
    square = problem(["x=0:10", "y=0:10"], {"g": "(x - 5)**2 + y"}, ["y"], ["g >= 50"])
    assert solve(square).proof  # not monotone, but at most 25 + 10


def test_without_constraints_or_in_too_many_parts_there_is_no_proof() -> None:
    assert excluded_boxes(problem(["x=0:1"], {"f": "x"}, ["f"])) == 0
    names = [f"x{at}" for at in range(9)]
    sums = " + ".join(names)
    design_problem = problem(
        [f"{name}=0:1" for name in names], {"f": sums, "g": f"({sums})**2"}, ["f"], ["f <= 3", "g >= 9.1"]
    )
    assert excluded_boxes(design_problem) == 0
    assert excluded_boxes(problem([f"{name}=0:1" for name in names], {"f": sums}, ["f"], ["f >= 10"])) == 1


class Sampled:
    """A model that can be evaluated and nothing else: no tree of an expression."""

    name = "sampled"
    dimensions: ClassVar[Mapping[str, str]] = {"time": "", "square": ""}

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        return {}

    def evaluate(self, values: Mapping[str, NDArray[np.float64]]) -> Mapping[str, NDArray[np.float64]]:
        return {"time": values["n"] / 1000, "square": values["n"] ** 2}


@pytest.mark.thorough
@settings(max_examples=examples(40), deadline=None)
@given(st.integers(2000, 90_000), st.integers(1, 100), st.sampled_from(["", ":whole"]))
def test_a_dip_that_samples_miss_is_never_proven_away(centre: int, half: int, whole: str) -> None:
    """A time that rises but for a dip: nothing is proven infeasible, and no best point that is worse than the dip."""
    dip = f"where(abs(n - {centre}) <= {half}, 0.5, n/1000)"
    infeasible = solve(problem([f"n=1000:100000{whole}"], {"time": dip}, ["time"], ["time <= 0.9"]))
    assert infeasible.feasible or not (infeasible.exact or infeasible.proof)
    best = solve(problem([f"n=1000:100000{whole}"], {"time": dip}, ["time"]))
    assert best.objective == 0.5 or not (best.exact or best.proof)
    rising = solve(problem([f"n=1000:100000{whole}"], {"time": "n/1000"}, ["time"], ["time <= 0.9"]))
    assert rising.exact
    assert rising.proof


def test_models_that_are_no_formula_prove_nothing() -> None:
    space = Space((variable("n=1000:100000", {}),))
    known = Sampled.dimensions
    for limit in ("time <= 0.9", "time <= 50"):
        design_problem = Problem(Sampled(), space, (objective("time", False, known),), (constraint(limit, known),))
        solution = solve(design_problem)
        assert solution.method == "bisection"
        assert not solution.exact
        assert not solution.proof


def test_equations_and_footprints_of_workloads_are_formulas() -> None:
    """kripke has 1e5 n bytes, and a process of juqueen 1 GB: n = 10^4; its time is no formula."""
    model = NativeModel(Scenario.of("kripke", "juqueen", {}))
    known = model.dimensions
    space = Space((apply_model_limits(model, variable("n=1:1e6", {})),))
    limits = {text: constraint(text, known) for text in ("footprint <= capacity", "n >= 20000", "time <= 1 us")}
    proven = Problem(model, space, (), tuple(limits[text] for text in ("footprint <= capacity", "n >= 20000")))
    assert excluded_boxes(proven) > 0
    assert excluded_boxes(proven.with_constraints([limits["time <= 1 us"]])) == 0


@settings(max_examples=examples(40), deadline=None)
@given(rows, st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
def test_a_best_point_is_proven_and_a_worse_one_is_not(
    rows: list[tuple[int, int, int]], costs: tuple[int, int]
) -> None:
    formulas = {f"g{at}": f"{a}*x + {b}*y" for at, (a, b, _) in enumerate(rows)} | {"f": f"{costs[0]}*x + {costs[1]}*y"}
    limits = [f"g{at} <= {c}" for at, (_, _, c) in enumerate(rows)]
    design_problem = problem(["x=0:9:whole", "y=0:9:whole"], formulas, ["f"], subject_to=limits)
    totals = [
        costs[0] * x + costs[1] * y
        for x, y in itertools.product(range(10), range(10))
        if all(a * x + b * y <= c for a, b, c in rows)
    ]
    if totals:
        assert excluded_boxes(design_problem, float(min(totals))) > 0
        assert excluded_boxes(design_problem, min(totals) + 0.5) == 0
