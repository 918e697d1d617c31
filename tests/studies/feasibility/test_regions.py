"""Feasibility regions against closed forms: linear times written by hand, and the published conjugate-gradient region."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.workload import Workload
from simcodesign.studies.feasibility.boundary import Corner, all_zeros, along
from simcodesign.studies.feasibility.regions import (
    FeasibilityQuestion,
    forecast_region,
    question,
    simulated_region,
    threshold,
)
from tests.builders import read_machine, read_workload, workload

RING = """
simcodesign: 1
name: ring
parameters:
  work: {default: 1e6}
  messages: {default: 10}
  size: {default: 100}
  eta: {default: 1, range: [1e-9, 1]}
  power: {default: 1}
program:
  - phase: step
    useful_flops: P*work
    do:
      - compute: {flops: work/eta}
      - repeat: messages
        do:
          - exchange: {pattern: halo1d, bytes: size}
  - phase: unpaid
    do:
      - compute: {seconds: 1}
"""


def ring() -> Workload:
    return read_workload(RING.lstrip())


def machine(rate: float = 1e9) -> sc.Machine:
    return sc.Machine.load("crossbar-16", {"processor.rate": f"{rate} FLOP/s", "network.hop_latency": "0 s"})


amounts = st.floats(1e-3, 1e3)


@settings(deadline=None)
@given(work=amounts, messages=st.integers(1, 50), size=amounts, spare=st.floats(1.01, 100))
def test_the_region_of_a_linear_time_is_a_triangle(work: float, messages: int, size: float, spare: float) -> None:
    """work/rate + 2 messages (startup + size per_byte) <= 16 work / target, on 16 ranks."""
    target = 16e9 / spare
    inputs = question(
        ring(),
        machine(),
        ("network.startup", "network.per_byte"),
        target,
        {"work": 1e6 * work, "messages": messages, "size": size},
    )
    region = forecast_region(inputs, points=5)
    room = 1e-3 * work * (spare - 1)
    assert region.fixed_s == pytest.approx(1e-3 * work, rel=1e-12)
    assert region.limit_s == pytest.approx(1e-3 * work * spare, rel=1e-12)
    assert region.intercepts == pytest.approx((room / (2 * messages), room / (2 * messages * size)), rel=1e-9)
    assert region.slopes == pytest.approx((2 * messages, 2 * messages * size), rel=1e-9)
    assert 2 * messages * (region.x + size * region.y) == pytest.approx(np.full(5, room), rel=1e-9)


def test_every_point_of_the_boundary_has_the_time_allowed() -> None:
    inputs = question("cg", "exascale-cg", ("ts", "tw"), 1e18, {"eta": 0.5})
    region = forecast_region(inputs, points=7)
    for x, y in zip(region.x, region.y, strict=True):
        result = sc.forecast(
            "cg", "exascale-cg", {"eta": 0.5, "network.startup": x, "network.per_byte": y / 8}, phases="iterate"
        )
        assert result.makespan_s == pytest.approx(region.limit_s, rel=1e-11)


def test_a_time_per_value_counts_the_bytes_of_a_value() -> None:
    """Half as many bytes a value, half the bandwidth: the time per value stays."""
    halves = [
        forecast_region(question("cg", "exascale-cg", ("ts", "tw"), 1e18, {"value_bytes": b}), 2) for b in (4.0, 8.0)
    ]
    assert halves[0].intercepts == pytest.approx(halves[1].intercepts, rel=1e-9)
    assert [region.costs[1].scale for region in halves] == [0.25, 0.125]


def test_a_simulated_region_without_effects_is_the_forecast() -> None:
    inputs = question("cg", sc.Machine.load("exascale-cg", {"nodes": 64}), ("ts", "tw"), 1e18 / 2**14, {"train": 104.0})
    forecasted, simulated = forecast_region(inputs, 3), simulated_region(inputs, (), 3)
    assert simulated.x == pytest.approx(forecasted.x, rel=1e-6)
    assert simulated.y == pytest.approx(forecasted.y, rel=1e-6)
    assert simulated.slopes is None


def cg_of_64(duplex: str) -> FeasibilityQuestion:
    """The published question for 64 nodes, whose interfaces are such."""
    machine = sc.Machine.load("exascale-cg", {"nodes": 64, "network.interfaces.duplex": duplex})
    return question("cg", machine, ("ts", "tw"), 1e18 / 2**14, {"train": 104.0})


@pytest.mark.thorough
def test_only_where_messages_may_wait_gaps_are_looked_for() -> None:
    """On a crossbar no message of a ring waits: the boundaries are the same, by a fraction of the runs."""
    inputs = question(ring(), machine(), ("ts", "tw"), 8e9)
    alone, queueing = (simulated_region(inputs, effects, 5) for effects in (("hops",), ("hops", "links")))
    assert alone.x == pytest.approx(queueing.x, rel=1e-6, abs=1e-15)
    assert alone.y == pytest.approx(queueing.y, rel=1e-6, abs=1e-15)
    assert alone.runs <= 5 * len(alone.x) < queueing.runs


@pytest.mark.thorough
def test_half_duplex_interfaces_halve_the_bandwidth_that_suffices() -> None:
    """Without startup, they pass what comes in after what goes out: the boundary comes to half and a bit. Full duplex
    ones leave it where the forecast has it, since every rank sends and receives one message at a time."""
    inputs = cg_of_64("half")
    forecasted, simulated = forecast_region(inputs, 2), simulated_region(inputs, ("interfaces",), 2)
    assert 0.5 < simulated.intercepts[1] / forecasted.intercepts[1] < 0.56
    full = simulated_region(cg_of_64("full"), ("interfaces",), 2)
    assert full.intercepts == pytest.approx(forecasted.intercepts, rel=1e-9)


@pytest.mark.thorough
def test_a_boundary_gathers_points_where_it_bends() -> None:
    """Half-duplex interfaces: flat while they are the limit, then down the line of the forecast."""
    inputs = cg_of_64("half")
    simulated = simulated_region(inputs, ("interfaces",))
    assert simulated.off == 0.0
    assert 3 < len(simulated.x) < 17
    assert np.all(np.diff(simulated.x) > 0)
    x, y = simulated.bend or (0.0, 0.0)
    forecasted = forecast_region(inputs, 2).intercepts
    assert x / forecasted[0] + y / forecasted[1] == pytest.approx(1.0, abs=0.01)  # there the forecast holds again
    for i in range(len(simulated.x) - 1):  # any simulation between two points is where the straight line says
        between = [(line[i] + line[i + 1]) / 2 for line in (simulated.x, simulated.y)]
        near, far = (inputs.simulated_s(s * between[0], s * between[1], ("interfaces",)) for s in (0.985, 1.025))
        assert near <= simulated.limit_s <= far


@pytest.mark.thorough
def test_too_few_points_are_said() -> None:
    inputs = cg_of_64("half")
    assert simulated_region(inputs, ("interfaces",), 2).off == math.inf
    few = simulated_region(inputs, ("interfaces",), 3)
    assert len(few.x) == 3
    assert few.off > 0.1


def test_a_message_is_no_faster_than_its_link() -> None:
    """2 * 10 messages of 100 bytes at 5 ps per byte at least, the rest of the time is for both costs."""
    built = sc.Machine.load(
        "crossbar-16",
        {"processor.rate": "1 GFLOP/s", "network.hop_latency": "0 s", "network.link_bandwidth": "200 GB/s"},
    )
    region = forecast_region(question(ring(), built, ("ts", "tw"), 8e9), 5)
    floor_s = 1e-3 + 20 * 100 * 5e-12
    assert region.costs[1].low == pytest.approx(5e-12)
    assert region.fixed_s == pytest.approx(floor_s, rel=1e-12)
    assert region.intercepts == pytest.approx(((2e-3 - floor_s) / 20, 1e-3 / 2000), rel=1e-9)
    assert region.slopes == pytest.approx((20, 2000), rel=1e-6)
    assert region.y.min() == pytest.approx(5e-12)


def test_a_link_is_no_slower_than_a_message() -> None:
    """What the time does not bound ends where the machine does not allow more."""
    region = forecast_region(question(ring(), machine(), ("ts", "network.link_per_byte"), 8e9), 3)
    assert region.capped == (False, True)
    assert region.intercepts[1] == machine().network.message_model.per_byte_s


def test_what_takes_too_long_without_messages_is_not_feasible() -> None:
    inputs = question("cg", "exascale-cg", ("ts", "tw"), 1e18, {"eta": 0.09})
    region = forecast_region(inputs)
    assert not region.feasible
    assert region.x.shape == region.y.shape == (0,)
    assert all(math.isnan(cost) for cost in region.intercepts)


def test_the_threshold_is_where_the_computation_takes_all_the_time() -> None:
    """work/(rate eta) = 16 work/target."""
    inputs = question(ring(), machine(), ("ts", "tw"), 16e9 * 0.3)
    assert threshold(inputs, "eta", 1e-3, 1.0) == pytest.approx(0.3, rel=1e-9)
    assert threshold(inputs, "eta", 0.5, 1.0) is None
    assert threshold(inputs, "eta", 1e-3, 0.1) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"over": ("ts", "nothing")}, "a cost that does not exist"),
        ({"over": ("ts", "ts")}, "two costs"),
        ({"over": ("ts", "processor.rate")}, "no cost"),
        ({"over": ("ts", "cores")}, "whole numbers only"),
        ({"over": ("ts", "network.bandwidth")}, "allowed: tw"),
        ({"over": ("ts", "s_i")}, "useful flops change"),
        ({"over": ("tw", "network.link_per_byte")}, "do not span a region"),
        ({"over": ("ts", "network.startup")}, "these are one"),
        ({"rate_flop_per_s": 0.0}, "rate to be reached"),
        ({"rate_flop_per_s": math.nan}, "rate to be reached"),
        ({"parameters": {"network.startup": 1e-6}}, "one of the two costs"),
        ({"workload": "jacobi", "machine": "crossbar-16"}, "useful_flops"),
    ],
)
def test_bad_questions(change: dict[str, object], message: str) -> None:
    base: dict[str, object] = {
        "workload": "cg",
        "machine": "exascale-cg",
        "over": ("ts", "tw"),
        "rate_flop_per_s": 1e18,
    }
    with pytest.raises(InputError, match=message):
        question(**{**base, **change})  # type: ignore[arg-type]


def test_a_cost_that_does_not_matter_has_no_boundary() -> None:
    inputs = question(ring(), machine(), ("ts", "power"), 1e9)
    with pytest.raises(InputError, match="does not grow"):
        forecast_region(inputs)


@pytest.mark.parametrize(
    ("height", "waves", "pieces"),
    [(0.0, 20.0, 1), (0.02, 20.0, 1), (0.05, 60.0, None), (0.08, 90.0, None), (0.05, 130.0, None)],
)
def test_all_pieces_of_a_ray_are_found(height: float, waves: float, pieces: int | None) -> None:
    """A time that rises with a wave on it, against 200,001 numbers that are looked at one by one."""

    def excess(far: float) -> float:
        return far - 1.0 + height * math.sin(waves * far)

    numbers = np.linspace(0.0, 3.0, 200_001)
    above = numbers - 1.0 + height * np.sin(waves * numbers) > 0
    expected = (numbers[:-1] + numbers[1:])[above[:-1] != above[1:]] / 2
    zeros = all_zeros(excess, along(excess, 1e-9, math.inf, 1e-12), math.inf, 1e-12)
    assert zeros == pytest.approx(expected.tolist(), abs=2e-5)
    assert pieces is None or len(zeros) == pieces


def test_the_boundary_is_the_outermost_and_gaps_are_kept() -> None:
    """Along the first cost 0.05 sin(60 x) is on the time: it is above the limit between zeros, and below it again."""

    def excess(x: float, y: float) -> float:
        return x + y - 1.0 + 0.05 * math.sin(60.0 * x)

    corner = Corner(excess, (math.inf, math.inf), 1e-12, steady=False)
    far, up = corner.intercepts()
    numbers = np.linspace(0.0, 3.0, 200_001)
    below = numbers[numbers - 1.0 + 0.05 * np.sin(60.0 * numbers) <= 0]
    assert far == pytest.approx(below[-1], abs=2e-5)
    assert up == pytest.approx(1.0)
    jumps = np.flatnonzero(np.diff(below) > 2e-5)
    gaps = [(float(below[at]), float(below[at + 1])) for at in jumps]
    assert len(gaps) >= 1
    assert [(begin[0], end[0]) for begin, end in corner.gaps] == [pytest.approx(gap, abs=3e-5) for gap in gaps]
    assert Corner(excess, (math.inf, math.inf), 1e-12).gaps == []


MESH = """
simcodesign: 1
name: mesh-64
nodes: 64
processor: {rate: 1 GFLOP/s}
network:
  topology: {kind: mesh, shape: [8, 8]}
  startup: 1 us
  bandwidth: 1 GB/s
  sends: blocking
  hop_latency: 100 ns
"""
HALO = """
- phase: step
  useful_flops: P*1e6
  do:
    - compute: {flops: 1e6}
    - exchange: {pattern: halo3d, bytes: 1e6}
    - allreduce: {bytes: 8}
    - allreduce: {bytes: 8}
"""


@pytest.mark.thorough
def test_queueing_leaves_a_region_that_is_not_one_piece() -> None:
    """On a mesh the time falls with t_w where messages come to miss each other: a limit within a fall has several
    crossings at one t_s. Against simulations at each picosecond per byte from 300 to 335."""
    effects = ("hops", "links", "interfaces")
    base = question(workload(HALO.lstrip()), read_machine(MESH.lstrip()), ("ts", "tw"), 20e9)
    time_s = cache(lambda tw: base.simulated_s(125.6e-6, tw, effects, "compiled"))
    values = np.arange(300, 336) * 1e-12
    times = np.array([time_s(float(tw)) for tw in values])
    falls = np.flatnonzero(np.diff(times) < 0)
    assert len(falls) == 1
    limit_s = (times[falls[0]] + times[falls[0] + 1]) / 2
    is_feasible = times <= limit_s
    changes = np.flatnonzero(np.diff(is_feasible))
    assert is_feasible[[0, *(changes + 1)]].tolist() == [True, False, True, False]
    found = []
    for first in (values[changes[0]], values[changes[2]]):  # from either crossing
        first = along(lambda tw: time_s(tw) - limit_s, float(first), math.inf, 1e-9)
        found.append(all_zeros(lambda tw: time_s(tw) - limit_s, first, math.inf, 1e-9))
        assert len(found[-1]) == 3
        for zero, change in zip(found[-1], changes, strict=True):
            assert values[change] <= zero <= values[change + 1]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
