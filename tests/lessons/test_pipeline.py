"""The lesson ``pipeline``: without times of messages its runs take what a list scheduler takes, and what it says follows
from closed forms."""

from __future__ import annotations

import pytest

import simcodesign as sc
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.scenarios import scenario_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.oracles import pipeline_schedules as schedules

STAGES, WORK_S, MIB = 8, 0.96, 2**20
ORDERS = {
    "one": lambda m: (schedules.one_f_one_b(STAGES, m), 1),
    "gpipe": lambda m: (schedules.gpipe(STAGES, m), 1),
    "interleaved": lambda m: (schedules.interleaved(STAGES, m, 2, STAGES), 2),
    "zero": lambda m: (schedules.zero_bubble(STAGES, m), 1),
}


@pytest.mark.parametrize("name", ORDERS)
def test_runs_are_the_published_schedules(name: str) -> None:
    run = read_lesson(lesson_folder("pipeline")).runs[name]
    for count in (8, 16):
        slider = run.sliders[0]
        scenario = scenario_at(run, {slider.name: [stop.value for stop in slider.stops].index(count)})
        order, chunks = ORDERS[name](count)
        whole = name != "zero"
        times_s = {"F": WORK_S / 3 / count / chunks, "B": WORK_S / (1.5 if whole else 3) / count / chunks}
        expected_s = schedules.makespan(order, chunks, times_s | {"W": WORK_S / 3 / count})
        machine = scenario.machine.with_constants({"network.startup": 0.0})
        found = sc.simulate(scenario.workload, machine, {**scenario.parameters, "activation": 0}, effects="none")
        assert found.headline_s == pytest.approx(expected_s, rel=1e-12)
        bubble_s = 7 * WORK_S / count / {"interleaved": 2, "zero": 3}.get(name, 1)
        assert expected_s == pytest.approx(WORK_S + bubble_s, rel=1e-12)


@pytest.mark.parametrize(("stages", "micro_batches"), [(8, 64), (4, 10), (3, 3)])
def test_1f1b_holds_as_many_micro_batches_as_there_are_stages(stages: int, micro_batches: int) -> None:
    """The answer of ``held``, counted in the written order of passes."""

    def most_held(order: schedules.Order) -> int:
        held = [0]
        for kind, _, _ in order[0]:
            held.append(held[-1] + (1 if kind == "F" else -1))
        return max(held)

    assert most_held(schedules.one_f_one_b(stages, micro_batches)) == min(stages, micro_batches)
    assert most_held(schedules.gpipe(stages, micro_batches)) == micro_batches


def test_one_micro_batch_takes_all_stages_one_after_the_other() -> None:
    """8 stages forward and 8 backward, and 14 messages between neighbours."""
    run = read_lesson(lesson_folder("pipeline")).runs["one"]
    scenario = scenario_at(run, {"batches": 0})
    found = sc.simulate(scenario.workload, scenario.machine, scenario.parameters, effects="none")
    message_s = 200e-6 + 512 * MIB / 10e9
    assert found.headline_s == pytest.approx(STAGES * WORK_S + 14 * message_s, rel=1e-12)
