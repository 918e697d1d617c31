"""Problems: statements in text, gaps and violations, models that refuse points."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.studies.explore.evaluator import Evaluator
from simcodesign.studies.explore.problem import Problem, RefusedPointsError
from simcodesign.studies.explore.problem_parser import constraint, objective, variable
from simcodesign.studies.explore.space import FloatArray, Space, Variable
from tests.oracles.design_problems import problem

DIMENSIONS = {"time": "time", "footprint": "size", "capacity": "size", "rate": "rate", "flops": "count", "n": ""}


@pytest.mark.parametrize(
    ("text", "relation", "bound", "dimension"),
    [
        ("time <= 10 s", "<=", 10.0, "time"),
        ("time<=10ms", "<=", 0.01, "time"),
        ("footprint <= 2 GiB", "<=", 2.0 * 2**30, "size"),
        ("rate >= 1 PFLOP/s", ">=", 1e15, "rate"),
        ("rate >= 1 Pflop/s", ">=", 1e15, "rate"),
        ("time*n <= 5 us", "<=", 5e-6, "time"),
        ("n*8 <= 4 MB", "<=", 4e6, "size"),
        ("flops == 1e12", "==", 1e12, "count"),
        ("n >= -3", ">=", -3.0, ""),
    ],
)
def test_constraints_with_numbers(text: str, relation: str, bound: float, dimension: str) -> None:
    result = constraint(text, DIMENSIONS)
    assert (result.relation, result.dimension) == (relation, dimension)
    assert result.bound == pytest.approx(bound, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("time <= 120", "time <= 120 s"),
        ("time <= 1e3 ms", "time <= 1e3 ms"),
        ("footprint<=5", "footprint <= 5 B"),
        ("n >= 3", "n >= 3"),
        ("flops == 1e12", "flops == 1e12"),
        ("rate >= 3", "rate >= 3 FLOP/s"),
    ],
)
def test_a_bare_bound_is_shown_as_it_is_read(text: str, shown: str) -> None:
    assert constraint(text, DIMENSIONS).text == shown
    assert constraint(shown, DIMENSIONS).bound == constraint(text, DIMENSIONS).bound


def test_a_constraint_between_two_expressions() -> None:
    result = constraint("footprint + 1 <= capacity / 2", DIMENSIONS)
    assert result.bound is None
    gap = result.gap({"footprint": np.array([9.0, 49.0, 99.0]), "capacity": np.array(100.0)})
    assert np.asarray(gap).tolist() == [-0.8, 0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time", "not a constraint"),
        ("", "not a constraint"),
        ("time < 1", "relation <"),
        ("1 <= time <= 2", "not a constraint"),
        ("time <=", "not a constraint"),
        ("time <= 1 GB", "unit of size, not of time"),
        ("time <= 1 parsec", "parsec"),
        ("time <= import os", "syntax error"),
        ("time.x() <= 3", "unknown function"),
    ],
)
def test_bad_constraints(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        constraint(text, DIMENSIONS, Place("--subject-to"))


@pytest.mark.parametrize(
    ("text", "inner", "weight"),
    [
        ("time", "time", 1.0),
        ("time*2", "time", 2.0),
        ("time * 2.5e-1", "time", 0.25),
        ("(time + n)*3", "(time + n)", 3.0),
        ("time + n*3", "time + n*3", 1.0),
        ("2*time", "2*time", 1.0),
        ("time*n", "time*n", 1.0),
    ],
)
def test_weights_of_objectives(text: str, inner: str, weight: float) -> None:
    result = objective(text, False, DIMENSIONS)
    assert (result.text, result.weight) == (inner, weight)


@pytest.mark.parametrize("text", ["", "time*0", "time +", "__import__('os')"])
def test_bad_objectives(text: str) -> None:
    with pytest.raises(InputError):
        objective(text, False, DIMENSIONS)


def test_variables_in_text() -> None:
    assert variable("n=1:10:whole", {}) == Variable("n", 1, 10, whole=True)
    assert variable("t = 1 us : 5 ms", {"t": "time"}).high == 0.005
    assert variable("P=4,1,2", {}).choices == (1, 2, 4)
    assert variable("n=1:10:log", {}).log


@pytest.mark.parametrize(
    "text", ["n", "n=", "=1:2", "n=1:2:3", "n=a:b", "n=1:2:log:linear", "n=1,x", "n=1:nan", "n=1:inf"]
)
def test_bad_variables_in_text(text: str) -> None:
    with pytest.raises(InputError):
        variable(text, {})


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.floats(-20, 20).filter(lambda bound: abs(bound) > 1e-3))
def test_violations_are_relative_to_the_bound(xs: list[float], bound: float) -> None:
    design_problem = problem(["x=-50:50"], {"m": "x"}, ["m"], [f"m <= {bound!r}", f"m >= {bound!r} * 2"])
    evaluated = design_problem.evaluate(np.array(xs)[:, None])
    expected = [max((x - bound) / abs(bound), 0.0) + max((2 * bound - x) / abs(2 * bound), 0.0) for x in xs]
    assert np.allclose(design_problem.violation(evaluated.gaps), expected, rtol=1e-12, atol=1e-14)


def test_a_bound_of_nothing_counts_in_its_own_unit() -> None:
    design_problem = problem(["x=-50:50"], {"m": "x"}, ["m"], ["m <= 0"])
    assert design_problem.violation(design_problem.evaluate(np.array([[3.0], [-1.0]])).gaps).tolist() == [3.0, 0.0]


def test_equalities_have_a_tolerance() -> None:
    design_problem = problem(["x=0:50"], {"m": "x"}, ["m"], ["m == 10"])
    violation = design_problem.violation(design_problem.evaluate(np.array([[10.0], [10.000009], [10.1], [9.9]])).gaps)
    assert violation[:2].tolist() == [0, 0]
    assert violation[2:] == pytest.approx([0.01 - 1e-6] * 2, rel=1e-9)


def test_slack_moves_the_bound() -> None:
    below, above = constraint("n <= 10", DIMENSIONS), constraint("n >= -10", DIMENSIONS)
    assert below.with_slack(0.01).bound == pytest.approx(10.1, rel=1e-15)
    assert above.with_slack(0.01).bound == pytest.approx(-10.1, rel=1e-15)


def test_unknown_names() -> None:
    with pytest.raises(InputError, match=r"did you mean 'speed'\?"):
        problem(["x=0:1"], {"speed": "x"}, ["sped"])
    with pytest.raises(InputError, match="neither a metric nor a variable"):
        problem(["x=0:1"], {"speed": "x"}, ["speed"], ["y <= 1"])
    with pytest.raises(InputError, match="unknown"):
        problem(["x=0:1"], {"speed": "x + q"}, ["speed"])
    with pytest.raises(InputError, match="->"):
        problem(["x=0:1"], {"a": "b", "b": "a"}, ["a"])
    with pytest.raises(InputError, match="is a metric"):
        Problem(Refusing(1.0, True), Space((Variable("m", 0, 1),)), (objective("m", False, {}),))


class Refusing:
    """Has no answer above its limit; ``tells`` says whether it knows at which points."""

    name, dimensions = "refusing", {"m": ""}

    def __init__(self, limit: float, tells: bool) -> None:
        self.limit, self.tells = limit, tells

    def fixed(self, varied: Collection[str]) -> Mapping[str, float]:
        return {"limit.of.it": self.limit}

    def evaluate(self, values: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
        refused = values["x"] > self.limit
        if refused.any():
            error = InputError("beyond the limit", value=float(values["x"][refused][0]))
            raise RefusedPointsError(error, refused) if self.tells else error
        return {"m": values["x"] ** 2}


@pytest.mark.parametrize("tells", [True, False])
@given(st.lists(st.floats(0, 10), min_size=1, max_size=40), st.floats(0, 10))
def test_refused_points_are_found_and_counted(tells: bool, xs: list[float], limit: float) -> None:
    design_problem = Problem(Refusing(limit, tells), Space((Variable("x", 0, 10),)), (objective("m", False, {}),))
    evaluator = Evaluator(design_problem)
    scored = evaluator(np.array(xs)[:, None], "test")
    beyond = [x for x in xs if x > limit]
    assert scored.evaluated.points[:, 0].tolist() == xs
    assert scored.evaluated.usable.tolist() == [x <= limit for x in xs]
    # x * x, as an array's square is: a power of floats may be rounded otherwise.
    assert [m for m in scored.evaluated.metrics["m"] if not np.isnan(m)] == [x * x for x in xs if x <= limit]
    assert sum(one.count for one in evaluator.refusals()) == len(beyond)
    if beyond:
        assert evaluator.refusals()[0].values == {"x": beyond[0]}
        assert "beyond the limit" in evaluator.refusals()[0].why


def test_dotted_names_stand_in_expressions() -> None:
    design_problem = Problem(
        Refusing(4.0, True),
        Space((Variable("x", 0, 10),)),
        (objective("m", False, {}),),
        (constraint("x <= limit.of.it / 2", {}),),
    )
    assert design_problem.violation(design_problem.evaluate(np.array([[2.0], [3.0]])).gaps).tolist() == [0.0, 0.5]
