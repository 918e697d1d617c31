"""The search with simulation in the loop against brute force, and what turned an order."""

from __future__ import annotations

from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pytest

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.scenario import Scenario
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.studies.explore.evaluator import point_of
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.simulated import parallel
from simcodesign.studies.explore.simulated.point_simulator import PointSimulator, simulator_of
from simcodesign.studies.explore.simulated.search import optimum_by_simulation
from simcodesign.studies.explore.simulated.turned_order import cause_of, explain_order
from simcodesign.studies.explore.solvers.solve import solve
from simcodesign.studies.explore.study import ExplorationStudy, Statement, statement_of
from tests.oracles.design_problems import problem

EFFECTS = ("hops", "links", "interfaces")
#: A transform of 64^3 points on 16 ranks of four nodes, whose links four ranks share: 200 designs.
LINKS = "machine.link=2e9,3e9,5e9,8e9,12e9,18e9,27e9,40e9"
CLOCKS = "machine.clock=1e9,1.6e9,2.2e9,2.8e9,3.4e9"


def fft_problem(*vary: str, power: str = "5300 W") -> Problem:
    machine = load_machine("power-budget-cluster", {"processors_per_node": 4})
    scenario = Scenario(load_workload("pencil-fft"), machine, {"P": 16, "n": 64})
    place = Place("test")
    study = ExplorationStudy(
        vary=tuple(statement_of(text, place) for text in vary),
        subject_to=(Statement(f"peak_power <= {power}", place),),
    )
    return study.problem(NativeModel(scenario))


def brute_force(stated: Problem) -> float:
    """The least simulated time of all points that meet the constraints when simulated."""
    simulator = simulator_of(stated, (), EFFECTS, "auto", 0)
    every = [simulator.confirmed(1, False, point) for point in stated.space.all_points()]
    return min(one.simulated_total for one in every if one.simulated is not None and one.simulated.feasible)


@pytest.mark.thorough
def test_few_simulations_find_what_brute_force_finds() -> None:
    stated = fft_problem("q=1,2,4,8,16", CLOCKS, LINKS)
    least = brute_force(stated)
    solution = solve(stated)
    for seed in range(2):
        optimum = optimum_by_simulation(solution, simulations=30, effects=EFFECTS, seed=seed)
        assert optimum.feasible
        assert optimum.simulations == 30
        assert optimum.best.simulated_total == pytest.approx(least, rel=1e-12)


@pytest.mark.thorough
def test_the_same_seed_simulates_the_same_points() -> None:
    solution = solve(fft_problem("q=1,4,16", LINKS))
    ends = [optimum_by_simulation(solution, simulations=9, effects=EFFECTS, seed=3, jobs=n) for n in (1, 2)]
    assert ends[0].trace.equals(ends[1].trace)
    assert len(ends[0].trace) == 9
    assert not ends[0].trace.duplicated(["q", "machine.link"]).any()


@pytest.mark.thorough
def test_processes_simulate_the_same_points(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = solve(fft_problem("q=1,4,16", LINKS))
    alone = optimum_by_simulation(solution, simulations=9, effects=EFFECTS, seed=3)
    monkeypatch.setattr(parallel, "MIN_SAVING_S", 0.0)
    together = optimum_by_simulation(solution, simulations=9, effects=EFFECTS, seed=3, jobs=2)
    assert alone.trace.equals(together.trace)


@pytest.mark.thorough
def test_a_space_of_few_points_is_simulated_whole() -> None:
    stated = fft_problem("q=1,4,16", "machine.link=5e9,12e9")
    optimum = optimum_by_simulation(solve(stated), simulations=50, effects=EFFECTS)
    assert optimum.exact
    assert optimum.simulations == 6
    assert optimum.best.simulated_total == brute_force(stated)


def test_a_constraint_that_no_simulation_meets_is_reported() -> None:
    optimum = optimum_by_simulation(solve(fft_problem("q=1,4", power="1 W")), simulations=5, effects=EFFECTS)
    assert not optimum.feasible
    assert optimum.exact


def test_a_limit_out_of_reach_of_real_variables() -> None:
    stated = fft_problem("machine.link=2e9:4e10", power="1 W")
    optimum = optimum_by_simulation(solve(stated, evaluations=200), simulations=6, effects=EFFECTS)
    assert not optimum.feasible
    assert optimum.simulations == 6


def test_points_that_cannot_be_simulated_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(simulator: PointSimulator, point: np.ndarray) -> str:
        return "no such thing"

    monkeypatch.setattr(parallel, "outcome_of", refuse)
    with pytest.raises(InputError, match="no such thing"):
        optimum_by_simulation(solve(fft_problem("q=1,4,16", LINKS)), simulations=9, effects=EFFECTS)


@pytest.mark.thorough
def test_real_variables_end_within_the_power_limit() -> None:
    stated = fft_problem("q=1,4,16", "machine.link=2e9:4e10", power="5200 W")
    optimum = optimum_by_simulation(solve(stated), simulations=12, effects=EFFECTS)
    assert optimum.feasible
    assert optimum.best.simulated_key <= optimum.of_forecast.simulated_key


def test_formulas_alone_cannot_be_simulated() -> None:
    with pytest.raises(InputError, match="--simulate"):
        optimum_by_simulation(solve(problem(["x=1:9:whole"], {"f": "x"}, ["f"])))


@pytest.mark.parametrize(
    ("first", "other", "kind", "values", "turned"),
    [
        ((3.0, 90.0), (2.0, 80.0), "time", (3.0, 2.0), True),  # both hold: the time
        ((2.0, 120.0), (3.0, 80.0), "constraint", (120.0, 80.0), False),  # the power alone
        ((3.0, 120.0), (2.0, 80.0), "constraint", (120.0, 80.0), True),  # both
    ],
)
def test_cause_of_an_order(
    first: tuple[float, float], other: tuple[float, float], kind: str, values: tuple[float, float], turned: bool
) -> None:
    stated = problem(["x=1:9:whole"], {"time": "x", "power": "x"}, ["time"], ["power <= 100"], units={"time": "time"})
    simulator = PointSimulator(stated, (), cast(Any, None), (), "auto", 0)

    def at(metrics: tuple[float, float]) -> Any:
        columns = {name: np.array([value]) for name, value in zip(("time", "power"), metrics, strict=True)}
        return point_of(stated, stated.assess(np.array([[1.0]]), columns, np.array([True])), 0)

    cause = cause_of(simulator, at(first), at(other))
    assert cause.kind == kind
    assert cause.values == values
    assert cause.objective_turned is turned
    assert cause.objectives == (first[0], other[0])
    assert cause.bound == (100.0 if kind == "constraint" else None)


def test_a_constraint_that_keeps_a_point_out_no_longer_turns_the_order() -> None:
    """By the forecast the quicker point takes too much power; with the effect it does not, and the time decides."""
    stated = problem(["x=1:9:whole"], {"time": "x", "power": "x"}, ["time"], ["power <= 100"], units={"time": "time"})

    def at(*metrics: float) -> Any:
        columns = {name: np.array([value]) for name, value in zip(("time", "power"), metrics, strict=True)}
        return point_of(stated, stated.assess(np.array([[1.0]]), columns, np.array([True])), 0)

    simulator = PointSimulator(stated, (), cast(Any, None), (), "auto", 0)
    quick = [("forecast", at(2.0, 107.0)), ("links", at(2.0, 100.0))]
    slow = [("forecast", at(3.0, 90.0)), ("links", at(3.0, 80.0))]
    with patch.object(PointSimulator, "rungs", lambda *_: quick):
        found = explain_order(simulator, cast(Any, "slow"), slow, cast(Any, "quick"))
    assert (found.effect, found.cause.kind, found.cause.released) == ("links", "constraint", True)
    assert found.cause.values == (107.0, 100.0)
    assert found.cause.bound == 100.0
    assert (found.cause.objectives, found.cause.objective_turned) == ((3.0, 2.0), True)
    with patch.object(PointSimulator, "rungs", lambda *_: [("forecast", at(4.0, 90.0)), quick[1]]):
        assert explain_order(simulator, cast(Any, "slow"), slow, cast(Any, "quick")).cause.kind == "time"
