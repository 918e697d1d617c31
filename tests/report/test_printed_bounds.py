"""Bounds in print: rounded to the side on which they hold, with digits until what is compared differs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.units import parse_quantity, rounded_toward, told_apart
from simcodesign.report.explore.words import bound_shown, in_print
from simcodesign.report.results.tables import footprint_facts
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.planners import plan
from simcodesign.studies.explore.problem import FormulaModel, Objective, formula
from simcodesign.studies.explore.problem_parser import constraint
from simcodesign.studies.explore.solvers.solve import solve
from simcodesign.studies.explore.space import Variable
from simcodesign.studies.requirements.memory_capacity import fit_memory


@given(st.floats(1e-300, 1e300), st.integers(1, 15), st.booleans())
def test_rounding_toward_a_side(value: float, digits: int, up: bool) -> None:
    rounded = rounded_toward(value, digits, up)
    assert (rounded >= value) if up else (rounded <= value)
    assert abs(rounded - value) <= 10.0 ** (1 - digits) * value
    assert float(f"{rounded:.{digits - 1}e}") == rounded


@given(st.floats(1.0, 1e15), st.integers(1, 100))
def test_what_differs_is_printed_differently(size: float, ulps: int) -> None:
    other = size + ulps * np.spacing(size)
    texts = told_apart(size, other, "size")
    assert texts[0] != texts[1]
    assert told_apart(size, size, "size")[0] == told_apart(size, size, "size")[1]


def test_the_printed_size_fits() -> None:
    """100 p log2 p + 1000 n bytes <= 1 GB on 458,752 processes: n = 137,208.83 by hand, so that 137,209 does not fit."""
    model = NativeModel(sc.Scenario.of("icofoam", "juqueen"))
    problem = plan(model, (), (), (constraint("footprint <= capacity", model.dimensions),))
    solution = solve(problem)
    printed, texts = in_print(problem, solution.point)
    assert texts["n"] == "137208"
    p = 458752
    assert 100 * p * np.log2(p) + 1e3 * float(texts["n"]) <= 1e9 < 100 * p * np.log2(p) + 1e3 * 137209
    assert printed.feasible


@given(st.floats(1.0, 1e6), st.sampled_from(["<=", ">="]))
def test_the_printed_optimum_of_a_formula_is_feasible(bound: float, relation: str) -> None:
    """The largest x with 3 x <= bound, or the smallest with 3 x >= bound: the printed number meets it too."""
    model = FormulaModel("line", {"y": formula("3*x")}, ("x",))
    objective = Objective(formula("x"), maximize=relation == "<=")
    problem = plan(model, [Variable("x", 1e-3, 1e6)], [objective], [constraint(f"y {relation} {bound!r}", {})])
    solution = solve(problem)
    _, texts = in_print(problem, solution.point)
    x = float(texts["x"])
    assert 3 * x <= bound * (1 + 1e-15) if relation == "<=" else 3 * x >= bound * (1 - 1e-15)
    assert x == pytest.approx(bound / 3, rel=1e-5)


def test_a_relaxed_bound_is_rounded_to_its_loose_side() -> None:
    assert bound_shown(constraint("time <= 1 s", {"time": "time"}), 1.00011) == "1.001 s"
    assert bound_shown(constraint("time >= 1 s", {"time": "time"}), 0.99999) == "999.9 ms"


@given(st.floats(1e8, 1e12))
def test_a_memory_fit_fits(capacity: float) -> None:
    fit = fit_memory("icofoam", 64, capacity)
    assert 100 * 64 * 6 + 1e3 * rounded_toward(fit.size, 10, up=False) <= capacity


def test_needs_and_has_differ_in_print() -> None:
    workload = sc.Workload.load({"name": "full", "footprint": 1000000100, "program": [{"compute": {"seconds": 1}}]})
    machine = sc.Machine.load("torus-cluster", {"memory.capacity": "4 GB"})
    facts = dict(footprint_facts(sc.forecast(workload, machine, {"P": 4})))
    assert facts["memory"] == "DOES NOT FIT: needs 1.0000001 GB a rank; a rank has 1 GB"
    assert parse_quantity("1.0000001 GB", "size") == 1000000100
