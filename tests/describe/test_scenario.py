"""A scenario stands for workload, machine, parameters, preset and phases in every verb."""

from __future__ import annotations

from pathlib import Path

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.goal.format import write_goal
from simcodesign.describe.scenario import Scenario
from simcodesign.engine.simulate import schedule_of

SCENARIO = Scenario.of("jacobi", "torus-cluster", {"P": 8}, phases=["sweep"])
ARGUMENTS = ("jacobi", "torus-cluster", {"P": 8})


def test_names_are_read() -> None:
    assert SCENARIO.workload == sc.Workload.load("jacobi")
    assert SCENARIO.machine == sc.Machine.load("torus-cluster")
    assert SCENARIO.bind().ranks == 8
    assert SCENARIO.bind().workload.phases() == ("sweep",)


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        (sc.forecast, {}),
        (sc.simulate, {}),
        (sc.compare, {}),
        (sc.simulate, {"replications": 2}),
        (sc.compare, {"replications": 2}),
    ],
)
def test_a_verb_answers_the_same(verb, more: dict[str, int]) -> None:
    assert verb(SCENARIO, **more).to_dict() == verb(*ARGUMENTS, phases=["sweep"], **more).to_dict()


def test_another_machine_and_other_parameters() -> None:
    other = SCENARIO.on("crossbar-16").at({"P": 4})
    assert (other.machine.name, other.parameters) == ("crossbar-16", {"P": 4})
    assert sc.simulate(other).machine == "crossbar-16"


def test_a_schedule(tmp_path: Path) -> None:
    write_goal(schedule_of(SCENARIO), tmp_path / "one.goal")
    write_goal(schedule_of(*ARGUMENTS, phases=["sweep"]), tmp_path / "other.goal")
    assert (tmp_path / "one.goal").read_bytes() == (tmp_path / "other.goal").read_bytes()


@pytest.mark.parametrize(
    "more", [{"machine": "crossbar-16"}, {"parameters": {"P": 4}}, {"preset": "tiny"}, {"phases": ["sweep"]}]
)
def test_a_scenario_stands_alone(more: dict[str, object]) -> None:
    with pytest.raises(InputError, match="a scenario has its machine"):
        sc.forecast(SCENARIO, **more)


def test_a_machine_is_needed() -> None:
    with pytest.raises(InputError, match="a machine is missing"):
        sc.forecast("jacobi")
