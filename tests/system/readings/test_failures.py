"""Checkpoints and failures: exact times by hand, the mean against Daly's formula, and an independent replay."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.core.forecast_parts import FailureForecast
from simcodesign.describe.design_point import bind
from simcodesign.describe.machine import Machine
from simcodesign.describe.randomness.node_failures import CheckpointTimes
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.describe.yaml.workload import workload_from
from simcodesign.engine.failure_time import Clock
from simcodesign.generate.randomness.failures import failure_times_s
from tests import examples

MACHINE = """
simcodesign: 1
name: failing
nodes: 4
processors_per_node: 2
processor: {rate: 1e9, dynamic_power: 3 W}
failures: FAILURES
network: {topology: {kind: crossbar}, startup: 1 us, bandwidth: 1 GB/s}
"""
WORKLOAD = """
simcodesign: 1
name: long-run
parameters: {work: {default: 100}, interval: {default: 30}}
checkpoints: CHECKPOINTS
program:
  - compute: {seconds: work}
"""
CHECKPOINTS = "{interval: interval, write: 5, restart: 7}"
FAILURES = "{mtbf: 200 s}"


def machine(failures: str = FAILURES) -> Machine:
    return machine_from(parse_yaml(MACHINE.replace("FAILURES", failures), "machine.yaml"), Path())


def workload(checkpoints: str = CHECKPOINTS) -> Workload:
    return workload_from(parse_yaml(WORKLOAD.replace("CHECKPOINTS", checkpoints), "workload.yaml"))


def clock(failures: list[float], work_s: float = 100.0) -> Clock:
    return Clock(CheckpointTimes(30.0, 5.0, 7.0), work_s, iter(failures))


def makespan_s(one: Clock) -> float:
    return float(one.at(np.array([one.work_s]))[0])


@pytest.mark.parametrize(
    ("failures", "work_s", "expected_s", "lost_s", "restart_s"),
    [
        ([], 100.0, 115.0, 0.0, 0.0),  # three checkpoints
        ([], 90.0, 100.0, 0.0, 0.0),  # none after the end
        ([], 30.0, 30.0, 0.0, 0.0),
        ([20.0], 100.0, 20 + 7 + 115.0, 20.0, 7.0),  # before the first checkpoint
        ([34.0], 100.0, 34 + 7 + 115.0, 34.0, 7.0),  # while it is written
        ([36.0], 100.0, 115 + 1 + 7.0, 1.0, 7.0),
        ([36.0, 40.0], 100.0, 40 + 7 + 80.0, 1.0, 11.0),  # during the restart, which begins anew
        ([110.0], 100.0, 110 + 7 + 10.0, 5.0, 7.0),  # in the last interval, which began at 105
        ([115.5], 100.0, 115.0, 0.0, 0.0),  # too late
    ],
)
def test_times_by_hand(
    failures: list[float], work_s: float, expected_s: float, lost_s: float, restart_s: float
) -> None:
    one = clock(failures, work_s)
    assert makespan_s(one) == pytest.approx(expected_s, rel=1e-15)
    assert (one.lost_s, one.restart_s) == (lost_s, restart_s)


def replayed_s(failures: list[float], times: CheckpointTimes, work_s: float) -> dict[float, float]:
    """When every interval ends at last, its checkpoint apart: one attempt after another."""
    now_s, done_s, waiting, ends = 0.0, 0.0, list(failures), {}
    while done_s < work_s:
        part_s = min(times.interval_s, work_s - done_s)
        write_s = times.write_s if done_s + part_s < work_s else 0.0
        if waiting and waiting[0] < now_s + part_s + write_s:
            now_s = waiting.pop(0) + times.restart_s
            while waiting and waiting[0] <= now_s:
                now_s = waiting.pop(0) + times.restart_s
            continue
        done_s += part_s
        ends[done_s] = now_s + part_s
        now_s += part_s + write_s
    return ends


EIGHTHS = st.integers(0, 80).map(lambda number: number / 8)


@pytest.mark.thorough
@settings(max_examples=examples(2000, ordinary=200))
@given(
    st.lists(st.integers(1, 1600).map(lambda number: number / 8), max_size=8),
    st.builds(CheckpointTimes, EIGHTHS.filter(bool), EIGHTHS, EIGHTHS),
    st.integers(1, 320).map(lambda number: number / 8),
)
def test_the_clock_is_that_of_one_attempt_after_another(
    failures: list[float], times: CheckpointTimes, work_s: float
) -> None:
    one = Clock(times, work_s, iter(sorted(failures)))
    ends = replayed_s(sorted(failures), times, work_s)
    assert one.at(np.array([*ends])).tolist() == [*ends.values()]
    written_s = one.checkpoints * times.write_s
    assert makespan_s(one) == work_s + written_s + one.lost_s + one.restart_s
    middle_s = np.array([*ends]) - 1 / 16  # every interval has some work
    assert (one.at(middle_s) == np.array([*ends.values()]) - 1 / 16).all()


@pytest.mark.parametrize("law", ["exponential", "{distribution: weibull, shape: 0.7}"])
def test_failures_of_nodes_come_at_their_rate(law: str) -> None:
    """Of 4 nodes, in the long run one every mtbf / 4; the ranks of a node fail together."""
    point = bind(workload(), machine(f"{{mtbf: 200 s, distribution: {law}}}"), {"P": 8})
    times = np.array(list(islice(failure_times_s(point, 3), 40_000)))
    assert (np.diff(times) >= 0).all()
    assert times[-1] / len(times) == pytest.approx(50.0, rel=0.03)  # 6 standard errors of the exponential
    half = bind(workload(), machine(), {"P": 4})
    assert np.array(list(islice(failure_times_s(half, 3), 40_000)))[-1] / 40_000 == pytest.approx(100.0, rel=0.03)


def test_both_readings_count_checkpoints() -> None:
    for work, checkpoints in ((100, 3), (90, 2), (30, 0), (0, 0)):
        values = {"work": work, "P": 8}
        forecasted = forecast(workload(), machine(), values, bounds=True)
        simulated = sc.simulate(workload(), machine(), values, effects="none")
        assert (forecasted.checkpoints, simulated.checkpoints) == (checkpoints, checkpoints)
        assert forecasted.makespan_s == simulated.makespan_s == work + 5 * checkpoints
        assert float(forecasted.phases["checkpoints"]["disk"]) == simulated.phases["checkpoints"]["disk"]
        assert sum(sum(times.values()) for times in simulated.phases.values()) == simulated.makespan_s
        assert simulated.energy_j == pytest.approx(float(forecasted.energy_j), rel=1e-12)
        assert forecasted.bounds is not None
        assert forecasted.bounds.least_s(()) <= simulated.makespan_s <= forecasted.bounds.upper_s


def test_design_points_are_forecast_together() -> None:
    works = np.array([30.0, 100.0, 1000.0])
    result = sc.forecast(workload(), machine(), {"work": works, "P": 8, "failures.mtbf": 400.0})
    assert isinstance(result.failures, FailureForecast)
    for place, work in enumerate(works):
        one = sc.forecast(workload(), machine("{mtbf: 400 s}"), {"work": work, "P": 8})
        assert isinstance(one.failures, FailureForecast)
        assert np.asarray(result.makespan_s)[place] == one.makespan_s
        assert np.asarray(result.failures.daly_s)[place] == pytest.approx(float(one.failures.daly_s), rel=1e-14)


def test_a_simulation_with_failures() -> None:
    values = {"work": 1000, "P": 8}
    quiet = sc.simulate(workload(), machine(), values, effects="none")
    result = sc.simulate(workload(), machine(), values, effects="failures", seed=1, timeline=True)
    again = sc.simulate(workload(), machine(), values, effects="failures", seed=1, engine="simpy")
    assert result.failures is not None
    assert result.failures.count > 0
    assert result.makespan_s == pytest.approx(
        quiet.makespan_s + result.failures.lost_s + result.failures.restart_s, rel=1e-12
    )
    assert sum(sum(times.values()) for times in result.phases.values()) == pytest.approx(result.makespan_s, rel=1e-12)
    assert again.makespan_s == result.makespan_s
    assert result.timeline is not None
    assert float(result.timeline.finish_s.max()) == float(result.ranks.end_s.max()) == result.makespan_s
    assert result.energy_j == pytest.approx(24.0 * result.makespan_s, rel=1e-12)  # 8 processors that draw 3 W each


def test_without_checkpoints_all_begins_again() -> None:
    plain = workload("{interval: 1e9, write: 0, restart: 0}")
    result = sc.simulate(plain, machine("{mtbf: 400 s}"), {"P": 8}, effects="failures", seed=5)
    assert result.makespan_s == pytest.approx(100.0 + result.failures.lost_s, rel=1e-12)
    assert result.failures.restart_s == 0.0


@pytest.mark.parametrize("text", ["uniform", "lognormal"])
def test_lifetimes_are_exponential_or_weibull(text: str) -> None:
    law = {"uniform": "{distribution: uniform, spread: 0.5}", "lognormal": "5 %"}[text]
    with pytest.raises(InputError, match=r"machine\.yaml:7.*exponential, weibull"):
        machine(f"{{mtbf: 200 s, distribution: {law}}}")


@pytest.mark.parametrize(
    "checkpoints",
    [
        "{interval: 0, write: 1}",
        "{interval: 1, write: 0 - 1}",
        "{interval: 1, write: 1, restart: 1 / 0}",
        "{interval: rank, write: 1}",
        "{write: 1}",
        "{interval: 1, write: 1, often: 2}",
    ],
)
def test_bad_checkpoints(checkpoints: str) -> None:
    with pytest.raises(InputError, match=r"workload\.yaml:5"):
        sc.forecast(workload(checkpoints), machine(), {"P": 8})


def test_a_program_that_never_ends_is_an_error() -> None:
    with pytest.raises(InputError, match="does not end"):
        sc.simulate(workload(), machine("{mtbf: 1 s}"), {"work": 1000, "P": 8}, effects="failures")


def test_no_phase_replaces_the_time_between_failures() -> None:
    text = "simcodesign: 1\nname: a\nprogram:\n  - {phase: b, constants: {failures.mtbf: 3 s}, do: [barrier: {}]}\n"
    with pytest.raises(InputError, match=r"failures\.mtbf"):
        workload_from(parse_yaml(text, "workload.yaml"))
