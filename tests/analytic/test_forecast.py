"""The forecast: textbook costs by hand, arrays equal single points, ranks that differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.analytic.forecast import forecast
from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.engine.simulate import simulate
from tests.builders import read_workload, workload
from tests.shipped_pairs import POWERS_OF_TWO, RANKS_DIFFER, plain_workloads

STARTUP_S, PER_BYTE_S, RATE = 10e-6, 10e-9, 1e9  # crossbar-16
MESSAGE_S = STARTUP_S + 1000 * PER_BYTE_S


@pytest.fixture
def crossbar():
    return load_machine("crossbar-16")


@pytest.mark.parametrize(
    ("step", "seconds"),
    [
        ("compute: {flops: 5e8}", 0.5),
        ("compute: {seconds: 0.25}", 0.25),
        ("compute: {instructions: 2e9}", 2.0),  # 1 GHz, one cycle each
        ("compute: {loops: [{range: 100, operations: 1e6}, {range: 50, operations: 2e6}]}", 0.2),
        ("read: {bytes: 1e6, times: 3}", 3 * (5e-3 + 0.01)),
        ("write: {bytes: 1e6, times: 0.5}", 0.5 * (5e-3 + 0.01)),
        ("broadcast: {bytes: 1000}", 4 * MESSAGE_S),  # ceil(log2 13)
        ("broadcast: {bytes: 1000, algorithm: linear}", 12 * MESSAGE_S),
        ("allreduce: {bytes: 1000}", (3 + 2) * MESSAGE_S),  # 13 = 8 + 5: one before, one after
        ("allreduce: {bytes: 13000, algorithm: ring}", 24 * MESSAGE_S),
        ("allreduce: {bytes: 1000, algorithm: reduce_broadcast}", (3 + 4) * MESSAGE_S),
        ("allgather: {bytes: 1000}", 12 * MESSAGE_S),
        ("allgather: {bytes: 1000, algorithm: bruck}", 4 * STARTUP_S + 12 * 1000 * PER_BYTE_S),
        ("all_to_all: {bytes: 1000}", 12 * MESSAGE_S),
        # distances 1..12 with bit 0, 1, 2, 3 set: 6, 6, 5, 5 blocks
        ("all_to_all: {bytes: 1000, algorithm: bruck}", 4 * STARTUP_S + 22 * 1000 * PER_BYTE_S),
        ("all_broadcast: {bytes: 1000}", 12 * MESSAGE_S),
        ("barrier: {}", 4 * STARTUP_S),
        ("exchange: {pattern: halo1d, bytes: 1000}", 2 * MESSAGE_S),
        ("exchange: {pattern: halo2d, bytes: [1000, 0], grid: [13, 1], periodic: false}", 2 * MESSAGE_S),
        ("send: {to: (rank + 1) % P, bytes: 1000}", MESSAGE_S),
        ("receive: {from: (rank - 1) % P}", 0.0),
    ],
)
def test_costs_by_hand(step: str, seconds: float, crossbar) -> None:
    result = forecast(workload(f"  - {step}\n"), crossbar, {"P": 13})
    assert result.makespan_s == pytest.approx(seconds, rel=1e-14)


def test_phases_and_repeats(crossbar) -> None:
    program = """
  - compute: {flops: 1e9}
  - phase: outer
    repeat: 3
    constants: {processor.rate: 2 GFLOP/s}
    do:
      - compute: {flops: 1e9}
      - phase: inner
        repeat: 2
        do:
          - compute: {flops: 1e9}
"""
    phases = forecast(workload(program), crossbar).phases
    assert {name: times["computation"] for name, times in phases.items()} == {"main": 1, "outer": 1.5, "outer/inner": 3}


def test_forecast_takes_a_fraction_of_an_iteration(crossbar) -> None:
    described = workload("  - repeat: 1/8\n    do:\n      - compute: {seconds: 1}\n")
    assert forecast(described, crossbar).makespan_s == 0.125


@pytest.mark.parametrize("name", sorted({*plain_workloads()} - {*RANKS_DIFFER}))
def test_arrays_are_single_points(name: str) -> None:
    machine = load_machine("torus-cluster")
    seven = 7 if name not in POWERS_OF_TWO else 8
    ranks, startup = np.array([1, 2, seven, 64, 256]), np.array([[1e-6], [2e-4]])
    every = forecast(name, machine, {"P": ranks, "network.startup": startup})
    assert every.makespan_s.shape == (2, 5)
    for row, column in np.ndindex(2, 5):
        one = forecast(name, machine, {"P": ranks[column], "network.startup": startup[row, 0]})
        assert every.makespan_s[row, column] == pytest.approx(one.makespan_s, rel=1e-13)
        for phase, times in one.phases.items():
            for part, time in times.items():
                cell = np.broadcast_to(every.phases[phase][part], (2, 5))[row, column]
                assert cell == pytest.approx(time, rel=1e-13)


def test_busiest_rank_counts_where_ranks_differ(crossbar) -> None:
    described = workload("  - compute: {seconds: rank}\n  - write: {bytes: 0, when: rank == 2}\n")
    result = forecast(described, crossbar, {"P": 4})
    assert result.components["computation"] == 3.0
    assert result.components["disk"] == 0.0
    assert result.makespan_s == simulate(described, crossbar, {"P": 4}, effects="none").makespan_s
    heavier = forecast(described, crossbar, {"P": 4, "disk.write_startup": np.array([0.5, 1.5, 2.5])})
    assert heavier.makespan_s == pytest.approx([3.0, 3.5, 4.5])


def test_master_sends_to_everybody(crossbar) -> None:
    """The sum counts the busiest rank alone, without its waits; the forecast is the two messages one after another."""
    program = """
  - {send: {to: 1, bytes: 1000, when: rank == 0}}
  - {receive: {from: 0, when: rank == 1}}
  - {send: {to: 2, bytes: 1000, when: rank == 1}}
  - {receive: {from: 1, when: rank == 2}}
"""
    described = workload(program)
    forecasted = forecast(described, crossbar, {"P": 3})
    assert (forecasted.sum_s, forecasted.messages, forecasted.message_bytes) == (pytest.approx(MESSAGE_S), 2, 2000)
    assert forecasted.makespan_s == pytest.approx(2 * MESSAGE_S)
    simulated = simulate(described, crossbar, {"P": 3}, effects="none")
    assert simulated.makespan_s == pytest.approx(2 * MESSAGE_S)


@given(scale=st.sampled_from([2.0**k for k in range(-8, 9)]), ranks=st.integers(1, 16))
def test_time_scales_with_the_constants(scale: float, ranks: int) -> None:
    machine = load_machine("crossbar-16")
    constants = machine.constants()
    scaled = {
        path: value / scale if path in ("processor.rate", "processor.clock") else value * scale
        for path, value in constants.items()
        if path != "processor.cpi"
    }
    one = forecast("jacobi", machine, {"P": ranks})
    other = forecast("jacobi", machine.with_constants(scaled), {"P": ranks})
    assert other.makespan_s == one.makespan_s * scale


@pytest.mark.thorough
def test_a_million_points_in_one_call() -> None:
    points = {"P": np.full(10**6, 16), "n_i": np.linspace(1e3, 1e6, 10**6)}
    result = forecast("cg-iteration", "torus-cluster", points)
    assert result.makespan_s.shape == (10**6,)
    assert np.all(np.diff(result.makespan_s) > 0)


def test_bounds_are_for_one_point() -> None:
    with pytest.raises(InputError, match="one design point"):
        forecast("jacobi", "crossbar-16", {"P": [2, 4]}, bounds=True)


def test_instructions_need_a_clock() -> None:
    machine = load_machine("mesh-256")
    with pytest.raises(InputError, match="clock"):
        forecast(workload("  - compute: {instructions: 1}\n"), machine)


def test_paths_are_taken_as_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("simcodesign: 1\nname: mine\nprogram:\n  - compute: {seconds: 2}\n")
    assert forecast(path, "crossbar-16").makespan_s == 2.0
    assert load_workload(str(path)).name == "mine"


FOOTPRINT = """\
simcodesign: 1
name: sized
parameters: {n: {default: 1e6}}
footprint: 8*n*P
program: [compute: {flops: n}]
"""


@pytest.mark.parametrize("capacity", [None, 1e8])
def test_both_readings_say_the_footprint_and_change_no_time(crossbar, capacity: float | None) -> None:
    sized = read_workload(FOOTPRINT)
    plain = read_workload(FOOTPRINT.replace("footprint: 8*n*P\n", ""))
    given = {"P": 4} | ({} if capacity is None else {"memory.capacity": capacity})
    for read in (forecast, simulate):
        result = read(sized, crossbar, given)
        assert (result.footprint_bytes, result.capacity_bytes) == (3.2e7, capacity)
        assert result.fits is (None if capacity is None else True)
        assert result.to_dict()["footprint_bytes"] == 3.2e7
        assert result.to_dict()["capacity_bytes"] == capacity
        assert result.makespan_s == read(plain, crossbar, given).makespan_s
        assert read(plain, crossbar, given).fits is None


def test_where_a_footprint_fits(crossbar) -> None:
    sized = read_workload(FOOTPRINT)
    result = forecast(sized, crossbar, {"P": 4, "n": [[1.0], [2.0]], "memory.capacity": [31, 32, 64]})
    assert np.array_equal(result.fits, [[False, True, True], [False, False, True]])
    assert result.makespan_s.shape == result.footprint_bytes.shape == result.capacity_bytes.shape == (2, 3)


def test_what_all_ranks_compute(crossbar) -> None:
    """Flops and instructions of every rank and repetition; seconds are neither."""
    described = workload(
        "  - repeat: 3\n"
        "    do: [compute: {flops: rank*n, when: rank > 0}, compute: {instructions: 7}, compute: {seconds: 1}]\n"
        "  - compute: {loops: [{range: n, operations: 2}, {range: 5, operations: n}]}\n",
        "parameters: {n: 10}\n",
    )
    forecasted = forecast(described, crossbar, {"P": 4})
    simulated = simulate(described, crossbar, {"P": 4})
    for result in (forecasted, simulated):
        assert result.flops == 3 * 10 * (1 + 2 + 3) + 4 * (20 + 50)
        assert result.instructions == 3 * 7 * 4
