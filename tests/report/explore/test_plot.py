"""What plots of planners draw over a variable: never the variable over itself."""

from __future__ import annotations

import numpy as np

from simcodesign.report.explore.plot import curves_of
from simcodesign.studies.explore.evaluator import Evaluator
from tests.oracles.design_problems import problem

FORMULAS = {"time": "n**2/8", "energy": "3*n"}
UNITS = {"time": "time", "energy": "energy"}


def test_size_is_not_drawn_over_itself() -> None:
    stated = problem(["n=1:100:whole"], FORMULAS, (), ["time <= 50 s", "energy <= 200 J", "n >= 2"], ["n"], UNITS)
    curves = curves_of(stated)
    assert [(curve.label, curve.dimension, curve.bound) for curve in curves] == [
        ("time", "time", 50.0),
        ("energy", "energy", 200.0),
    ]
    points = np.array([[2.0], [20.0]])
    scored = Evaluator(stated)(points, "slice")
    assert [curve.values(stated, scored).tolist() for curve in curves] == [[0.5, 50.0], [6.0, 60.0]]


def test_without_a_bound_the_time_is_drawn() -> None:
    stated = problem(["n=1:100:whole"], FORMULAS, maximize=["n"], units=UNITS)
    assert [curve.label for curve in curves_of(stated)] == ["time"]


def test_the_objective_comes_first_and_once() -> None:
    stated = problem(["n=1:100:whole"], FORMULAS, ["energy"], ["energy >= 9", "time <= 4"], units=UNITS)
    assert [curve.label for curve in curves_of(stated)] == ["energy", "time"]
    assert [curve.label for curve in curves_of(problem(["n=1:9"], FORMULAS, ["time", "energy"]))] == ["weighted sum"]
