"""Proofs that nothing is feasible: compared with all points of whole spaces, and with inequalities by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.studies.explore.evaluator import Evaluator
from simcodesign.studies.explore.solvers.infeasibility_proof import STAGE, excluded_boxes
from simcodesign.studies.explore.solvers.solve import solve
from tests import examples
from tests.oracles.design_problems import problem

rows = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-12, 12)), min_size=1, max_size=4)


@settings(max_examples=examples(60), deadline=None)
@given(rows)
def test_a_proof_is_never_wrong_and_found_for_whole_linear_problems(rows: list[tuple[int, int, int]]) -> None:
    """a x + b y <= c for whole x and y of 0 to 9: every linear function is monotone."""
    formulas = {f"g{at}": f"{a}*x + {b}*y" for at, (a, b, _) in enumerate(rows)}
    limits = [f"g{at} <= {c}" for at, (_, _, c) in enumerate(rows)]
    asked = problem(["x=0:9:whole", "y=0:9:whole"], formulas, subject_to=limits)
    feasible = any(all(a * x + b * y <= c for a, b, c in rows) for x, y in itertools.product(range(10), range(10)))
    assert (excluded_boxes(Evaluator(asked)) > 0) is not feasible


@settings(max_examples=examples(30), deadline=None)
@given(st.floats(0.5, 5), st.floats(1.001, 3))
def test_sums_and_products(most: float, beyond: float) -> None:
    """x + y <= s leaves x*y no more than (s/2)^2."""
    asked = problem(
        ["x=0:9", "y=0:9"], {"s": "x + y", "p": "x*y"}, ["s"], [f"s <= {most}", f"p >= {most**2 / 4 * beyond}"]
    )
    assert excluded_boxes(Evaluator(asked)) > 0
    near = problem(["x=0:9", "y=0:9"], {"s": "x + y", "p": "x*y"}, ["s"], [f"s <= {most}", f"p >= {most**2 / 4.1}"])
    assert excluded_boxes(Evaluator(near)) == 0


def test_an_equality_is_between_two_bounds() -> None:
    far, near = (
        problem(["x=1:4", "y=1:4"], {"a": "x*y", "b": "x/y"}, ["a"], [f"a == {area}", "b == 4"]) for area in (9, 4)
    )
    assert excluded_boxes(Evaluator(far)) > 0  # b = 4 leaves x = 4 and y = 1 alone
    assert excluded_boxes(Evaluator(near)) == 0


@pytest.mark.parametrize("formula", ["(x - 5)**2", "where(x < 5, nothing, x)"])
def test_what_is_not_monotone_is_not_proven(formula: str) -> None:
    formulas = {"g": formula, "nothing": "0/0"} if "nothing" in formula else {"g": formula}
    asked = problem(["x=0:10", "y=0:10"], formulas, ["y"], ["g >= 100"])
    assert excluded_boxes(Evaluator(asked)) == 0


def test_a_search_says_that_it_is_proven() -> None:
    asked = problem(["x=0:10", "y=0:10"], {"s": "x + y", "p": "x*y"}, ["s"], ["s <= 3", "p >= 2.5"])
    found = solve(asked)
    assert not found.feasible
    assert not found.exact
    assert "monotone" in found.proof
    assert (found.trace.stage == STAGE).any()
    assert not solve(problem(["x=0:10", "y=0:10"], {"g": "(x - 5)**2 + y"}, ["y"], ["g >= 50"])).proof


def test_without_constraints_or_with_many_variables_there_is_nothing_to_prove() -> None:
    assert excluded_boxes(Evaluator(problem(["x=0:1"], {"f": "x"}, ["f"]))) == 0
    names = [f"x{at}" for at in range(9)]
    asked = problem([f"{name}=0:1" for name in names], {"f": "+".join(names)}, ["f"], ["f >= 10"])
    assert excluded_boxes(Evaluator(asked)) == 0
    assert np.isinf(Evaluator(asked).remaining)
