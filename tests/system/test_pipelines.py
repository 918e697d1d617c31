"""The shipped schedules of pipelines against schedules written out pass by pass, and against closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.describe.machine import Machine
from tests.builders import read_machine
from tests.oracles import pipeline_schedules as oracle

SCHEDULES = ("gpipe", "one_f_one_b", "interleaved", "zero_bubble")
FORWARD_S, BACKWARD_S, WEIGHTS_S = 0.01, 0.02, 0.01
ROUNDING = 1e-12
PIPELINE = sc.Workload.load("pipeline")


def cluster(nodes: int = 64, startup_s: float = 0.0, sends: str = "blocking", more: str = "") -> Machine:
    text = "simcodesign: 1\nname: cluster\nprocessor: {rate: 1 GFLOP/s}\n"
    network = f"topology: {{kind: crossbar}}, startup: {startup_s} s, bandwidth: 1 GB/s, sends: {sends}{more}"
    return read_machine(f"{text}nodes: {nodes}\nnetwork: {{{network}}}\n")


def sizes(schedule: str) -> Iterator[tuple[int, int, int]]:
    """Stages, micro-batches, chunks."""
    for stages in range(1, 7):
        if schedule == "interleaved":
            for groups in range(1, 4):
                yield from ((stages, stages * groups, chunks) for chunks in range(1, 5))
        else:
            yield from ((stages, micro_batches, 1) for micro_batches in range(1, 11))


def order_of(schedule: str, stages: int, micro_batches: int, chunks: int) -> oracle.Order:
    if schedule == "interleaved":
        return oracle.interleaved(stages, micro_batches, chunks)
    of: Any = getattr(oracle, schedule)
    order: oracle.Order = of(stages, micro_batches)
    return order


def expected_s(
    schedule: str, size: tuple[int, int, int], times: tuple[float, float, float], more_s: float = 0
) -> float:
    """By the list scheduler; ``more_s`` lengthens every pass that has a message."""
    forward_s, backward_s, weights_s = times
    chunks = size[2]
    is_cut = schedule == "zero_bubble"
    time_of = {
        "F": forward_s / chunks + more_s,
        "B": (backward_s - is_cut * weights_s) / chunks + more_s,
        "W": weights_s / chunks,
    }
    return oracle.makespan(order_of(schedule, *size), chunks, time_of)


def point(schedule: str, size: tuple[int, int, int], times: tuple[float, float, float], size_bytes: float) -> Any:
    stages, micro_batches, chunks = size
    number = dict(zip(("forward", "backward", "weights"), times, strict=True))
    own = {"micro_batches": micro_batches, "chunks": chunks, "activation": size_bytes}
    return {"P": stages, "schedule": schedule, **own, **number}


TIMES = ((FORWARD_S, BACKWARD_S, WEIGHTS_S), (0.007, 0.025, 0.011), (0.03, 0.02, 0.001))


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_both_readings_take_the_time_of_the_schedule_written_out(schedule: str, times: tuple[float, ...]) -> None:
    on, checked = cluster(), 0
    for size in sizes(schedule):
        at = point(schedule, size, times, 0)  # type: ignore[arg-type]
        exact_s = expected_s(schedule, size, times)  # type: ignore[arg-type]
        simulated = sc.simulate(PIPELINE, on, at, effects=())
        assert simulated.makespan_s == pytest.approx(exact_s, rel=ROUNDING), size
        path = sc.forecast(PIPELINE, on, at, longest_path=True).longest_path
        assert path is not None and path.time_s is not None
        assert not path.left_out
        assert path.time_s == pytest.approx(exact_s, rel=ROUNDING), size
        checked += 1
    assert checked >= 60


@pytest.mark.parametrize("sends", ["blocking", "nonblocking", "rendezvous"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_messages_delay_no_pass_by_more_than_one_and_never_deadlock(schedule: str, sends: str) -> None:
    startup_s, size_bytes = 1e-4, 1e6
    rendezvous = sends == "rendezvous"
    on = cluster(6, startup_s, "blocking" if rendezvous else sends, ", S: 1 KiB" if rendezvous else "")
    most_s = startup_s + size_bytes / 1e9
    for size in sizes(schedule):
        at = point(schedule, size, TIMES[0], size_bytes)
        simulated_s = sc.simulate(PIPELINE, on, at, effects=()).makespan_s
        path = sc.forecast(PIPELINE, on, at, longest_path=True).longest_path
        assert path is not None and path.time_s is not None
        if not path.left_out:
            assert path.time_s == pytest.approx(simulated_s, rel=ROUNDING), size
        least_s = expected_s(schedule, size, TIMES[0])
        assert least_s * (1 - ROUNDING) <= simulated_s, size
        if not rendezvous and sends == "blocking":
            assert simulated_s <= expected_s(schedule, size, TIMES[0], most_s) * (1 + ROUNDING), size
