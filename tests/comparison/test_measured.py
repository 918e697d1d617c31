"""Measured times in a comparison: which of them hold, the ladder to them, and where there are others."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

import simcodesign as sc
from simcodesign.comparison.attribution import UNEXPLAINED
from simcodesign.comparison.effects import WAITING
from simcodesign.core.errors import InputError
from simcodesign.core.to_json import to_json
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from tests.builders import read_machine, workload

HEAD = "parameters: {m: {default: 1000, unit: B}}\n"
PROGRAM = (
    "- phase: a\n  do: [broadcast: {bytes: m}]\n- phase: b\n  do: [allreduce: {bytes: m}, compute: {flops: 1e6}]\n"
)
MACHINE = read_machine("""
simcodesign: 1
name: here
nodes: 16
processor: {rate: 1 GFLOP/s}
network: {startup: 5 us, bandwidth: 1 GB/s, sends: blocking, topology: {kind: mesh, shape: [4, 4]}}
""")
WORK = workload(PROGRAM, HEAD)


def compared(measured: Any, effects: str = "hops,links", **rest: Any) -> sc.Comparison:
    return sc.compare(WORK, MACHINE, {"P": 8}, measured=measured, effects=effects, **rest)


def test_the_ladder_goes_on_to_what_was_measured() -> None:
    frame = pd.DataFrame({"P": [4, 8, 8], "value": [1e-3, 3e-3, 5e-3]})
    comparison = compared(frame)
    assert comparison.measured is not None
    assert comparison.measured.total_s == pytest.approx(4e-3)
    steps = comparison.measured_ladder
    assert [step.step for step in steps] == [WAITING, "links", UNEXPLAINED]  # a hop of this machine takes no time
    assert math.fsum(step.change_s for step in steps) == pytest.approx(4e-3 - float(comparison.forecast.makespan_s))
    assert math.fsum(step.fraction for step in steps) == pytest.approx(1)
    assert steps[-1].change_s == pytest.approx(4e-3 - float(comparison.simulation.makespan_s))
    for name, side in (("forecast", comparison.forecast), ("simulation", comparison.simulation)):
        assert comparison.measured_errors[name] == pytest.approx(float(side.makespan_s) / 4e-3 - 1)
    shown = to_json(comparison)
    assert shown["measured"]["total"] == {
        "value": pytest.approx(4e-3),
        "low": pytest.approx(3.5e-3),
        "high": pytest.approx(4.5e-3),
        "n": 2,
        "interval": "quartiles, around the median of repetitions",
    }
    assert [step["step"] for step in shown["measured_ladder"]] == [step.step for step in steps]
    shares = [[rung.fraction for rung in one.rungs] for one in (comparison, compared(None))]
    assert shares[0] == shares[1]  # the gap between the readings stays what it is


@pytest.mark.parametrize(
    ("at", "machine", "holds"),
    [
        ({}, "", True),
        ({"P": 8.0, "m": 1000.0}, "here", True),
        ({"P": 8.0, "m": 1001.0}, "", False),
        ({"P": 8.0}, "there", False),
        ({"network.startup": 5e-6, "network.bandwidth": 1e9, "nodes": 16.0}, "", True),
        ({"network.startup": 6e-6}, "", False),
        ({"network.topology.kind": "mesh"}, "", True),
        ({"network.topology.kind": "torus"}, "", False),
    ],
)
def test_where_it_was_measured(at: dict[str, Any], machine: str, holds: bool) -> None:
    comparison = compared(MeasuredTimes(MeasuredValue(1e-3), at=at, machine=machine), effects="none")
    assert (comparison.measured is not None) == holds
    assert bool(comparison.measured_elsewhere) != holds


def test_what_is_given_comes_before_what_the_workload_has() -> None:
    own = workload(PROGRAM, f"{HEAD}measured: {{total: 1 s, at: {{P: 8}}}}\n")
    given = MeasuredTimes(MeasuredValue(2.0), at={"P": 8.0})
    for measured, total_s in ((None, 1.0), (given, 2.0), ([MeasuredTimes(MeasuredValue(3.0), at={"P": 4.0})], 1.0)):
        comparison = sc.compare(own, MACHINE, {"P": 8}, effects="none", measured=measured)
        assert comparison.measured is not None
        assert comparison.measured.total_s == total_s


def test_where_nothing_was_measured_the_nearest_points_are_named() -> None:
    frame = pd.DataFrame({"P": [2, 4, 16, 8, 1, 3, 5], "m": [1, 1, 1, 7, 1, 1, 1], "value": 1.0})
    comparison = compared(frame, effects="none")
    assert comparison.measured_elsewhere.startswith("P=8, m=7 B; P=2, m=1 B")
    assert comparison.measured_elsewhere.endswith("and 2 more")
    assert comparison.measured_errors == {}
    assert to_json(comparison)["measured_elsewhere"] == comparison.measured_elsewhere


def test_phases_add_up_to_a_total_and_count_alone_where_others_are_left_out() -> None:
    frame = pd.DataFrame(
        {"P": 8, "phase": ["a", "b", "b"], "component": ["", "", "computation"], "value": [1e-3, 2e-3, 1e-3]}
    )
    whole, part = (compared(frame, effects="none", phases=phases) for phases in (None, ["b"]))
    assert [one.measured.total_s for one in (whole, part) if one.measured] == pytest.approx([3e-3, 2e-3])
    assert part.measured is not None
    assert part.measured.phases_s == {"b": 2e-3}
    only = MeasuredTimes(MeasuredValue(1.0), components={"computation": MeasuredValue(0.5)})
    assert compared(only, effects="none", phases=["b"]).measured is None  # that is of the whole program


def test_what_cannot_be_used() -> None:
    with pytest.raises(InputError, match="not measured times"):
        compared(3.0)
    with pytest.raises(InputError, match="unknown name"):
        compared(MeasuredTimes(MeasuredValue(1.0), at={"network.strtup": 1.0}))
    with pytest.raises(InputError, match="no such phase"):
        compared(MeasuredTimes(phases={"c": MeasuredValue(1.0)}))
