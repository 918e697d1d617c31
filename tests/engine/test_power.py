"""Power and energy: by hand on two phases, the area under the power, the peak by looking at every moment.

That both readings take the same energy on every shipped pair is in tests/test_two_readings.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.analytic.forecast import forecast
from simcodesign.comparison.compare import compare
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import PowerProfile
from simcodesign.describe.constants import POWERS
from simcodesign.describe.demands.collective import ALGORITHMS
from simcodesign.describe.machine import Machine
from simcodesign.describe.yaml.files import workload_of
from simcodesign.describe.yaml.machine import machine_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.engine.simulate import schedule_of, simulate
from tests import THOROUGH, examples
from tests.builders import workload
from tests.describe.test_resources import HEAD, machine
from tests.shipped_pairs import POWER, powered

ROUNDING = 1e-11


BY_HAND = """
  - phase: one
    repeat: 3
    do:
      - execute: {parallelism: 10, uses: [{flops: 1e9}, {loads: 1e9}]}
      - compute: {flops: 2e9}
  - phase: two
    do:
      - execute: {parallelism: 2, uses: [{flops: 1e9}]}
      - send: {to: 1, bytes: 1e6, when: rank == 0}
      - receive: {from: 0, when: rank == 1}
"""
HARDWARE = """resources:
  flops: {instances: 4, time: amount/1e9, dynamic_power: 3 W}
  loads: {time: amount/2e9, dynamic_power: 2 W, energy: 0.5}
components: {node: {count: nodes, static_power: 100 W}}
"""


def by_hand() -> Machine:
    """1 GFLOP/s at 20 W; a message of 1 MB takes 1 us + 1 ms, at 5 W and 1e-8 J/B."""
    return machine(HARDWARE).with_constants({path: POWER[path] for path in POWER if path[0] in "pn"})


def test_two_phases_by_hand() -> None:
    result = forecast(workload(BY_HAND), by_hand(), {"P": 2})
    # One: 10 items on 4 flops units take 3 s, loads 5 s and overlap; then 2 s. Two: 1 s, and a message.
    message = 1e-6 + 1e-3
    assert result.makespan_s == pytest.approx(3 * (5 + 2) + 1 + message)
    static = 400 * float(result.makespan_s)
    blocks = 2 * 3 * (10 * 1 * 3 + 10 * (0.5 * 2 + 0.5))
    assert result.energy_j == pytest.approx(
        static + blocks + 2 * 3 * 2 * 20 + 2 * 2 * 3 + 5 * message + 0.01, rel=1e-12
    )
    # Phase one: 4 units and loads (2 W, and 10 x 0.5 J in 5 s) and the processor, of both ranks.
    assert result.peak_power_w == pytest.approx(400 + 2 * (4 * 3 + (2 + 1) + 20), rel=1e-12)
    assert result.static_power_w == 400


def test_in_plain_numbers() -> None:
    comparison = compare(workload(BY_HAND), by_hand(), {"P": 2})
    plain = comparison.to_dict()
    assert plain["energy_difference_j"] == comparison.energy_difference_j == pytest.approx(0, abs=1e-9)
    assert plain["energy_error"] == pytest.approx(0, abs=1e-12)
    for side in ("forecast", "simulation"):
        result = getattr(comparison, side)
        for name in ("energy_j", "peak_power_w", "static_power_w"):
            assert plain[side][name] == getattr(result, name)
        assert plain[side]["used"]["loads"] == result.used["loads"] == 2 * 3 * 10 * 1e9
    watts = plain["simulation"]["power_profile"]["watts"]
    assert max(watts) == comparison.simulation.peak_power_w


def test_the_same_simulated() -> None:
    forecasted, simulated = (read(workload(BY_HAND), by_hand(), {"P": 2}) for read in (forecast, simulate))
    assert simulated.energy_j == pytest.approx(forecasted.energy_j, rel=1e-12)
    # Never more at once than in computation: 20 W of each rank; or 4 units and loads.
    assert simulated.peak_power_w == pytest.approx(400 + 2 * 20)
    profile = simulated.power_profile
    assert profile is not None
    # 8 items in 2 s on 4 units, then 2 items in 1 s, then loads alone.
    assert profile.edges_s[:5] == pytest.approx([0, 2, 3, 5, 7])
    assert profile.watts[:4] == pytest.approx([400 + 2 * 15, 400 + 2 * 9, 400 + 2 * 3, 440])
    assert profile.energy_j == pytest.approx(simulated.energy_j, rel=1e-9)


def test_conflicting_resources_do_not_draw_together() -> None:
    both = workload("  - execute: {parallelism: 10, uses: [{flops: 1e9}, {loads: 1e9}]}\n")
    apart = machine(HARDWARE + "conflicts: [[flops, loads]]\n")
    assert forecast(both, apart, {"P": 1}).peak_power_w == pytest.approx(400 + 12)
    assert simulate(both, apart, {"P": 1}).peak_power_w == pytest.approx(400 + 12)


def test_nothing_said_of_power() -> None:
    plain = machine("")
    program = workload("  - compute: {flops: 1e9}\n")
    for result in (forecast(program, plain), simulate(program, plain)):
        assert (result.energy_j, result.peak_power_w, result.static_power_w, result.power_profile) == (None,) * 4
        assert "energy_j" not in result.to_dict()
    assert compare(program, plain).energy_difference_j is None


def test_power_of_a_phase() -> None:
    program = workload(
        "  - phase: slow\n    constants: {processor.rate: 500 MFLOP/s, processor.dynamic_power: 2 W}\n    do: [{compute: {flops: 1e9}}]\n"
    )
    for result in (forecast(program, machine(""), {"P": 1}), simulate(program, machine(""), {"P": 1})):
        assert (result.energy_j, result.peak_power_w) == (4.0, 2.0)


def test_arrays() -> None:
    watts = np.array([[10.0], [30.0]])
    many = forecast("jacobi", powered("torus-cluster"), {"P": [2, 4, 8], "processor.dynamic_power": watts})
    assert np.shape(many.energy_j) == np.shape(many.peak_power_w) == (2, 3)
    for row, column in np.ndindex(2, 3):
        one = forecast(
            "jacobi", powered("torus-cluster"), {"P": [2, 4, 8][column], "processor.dynamic_power": watts[row, 0]}
        )
        assert many.energy_j[row, column] == pytest.approx(one.energy_j)
        assert many.peak_power_w[row, column] == pytest.approx(one.peak_power_w)


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "barrier"])
@pytest.mark.parametrize("on", ["torus-cluster", "loggop"])
def test_energy_of_collectives(name: str, on: str) -> None:
    """Ranks that do not send or receive draw nothing, however long an operation takes."""
    hardware = powered("torus-cluster").with_constants({"network.in_switch.latency": 1e-6})
    if on == "loggop":
        letters = {"network.L": 2e-6, "network.o": 1e-6, "network.g": 5e-7, "network.G": 1e-9, "network.O": 2e-9}
        hardware = hardware.with_constants(letters)
    numbers, sizes = ((1, 2, 3, 7, 8), (0, 100, 1e5)) if THOROUGH else ((1, 3, 8), (0, 1e5))
    for way, ranks, size in itertools.product(ALGORITHMS[name], numbers, sizes):
        program = workload(
            f"  - {name}: {{bytes: {size}, algorithm: {way}}}\n  - exchange: {{pattern: halo2d, bytes: {size}}}\n"
        )
        forecasted, simulated = (
            forecast(program, hardware, {"P": ranks}),
            simulate(program, hardware, {"P": ranks}, effects="none"),
        )
        assert simulated.energy_j == pytest.approx(forecasted.energy_j, rel=ROUNDING, abs=1e-15), (way, ranks, size)


# --- Over time -----------------------------------------------------------------------------------------------


def at_each_moment(result: Result, hardware: Machine, moments: np.ndarray) -> np.ndarray:
    """Watts of all operations that are at work then, one by one."""
    line, static = result.timeline, result.static_power_w
    assert line is not None
    watts = np.full(len(moments), static, dtype=float)
    for op in range(len(line.rank)):
        part = ("processor", "network", "network", "disk", "disk", "memory")[line.kind[op]]
        power = POWER[f"{part}.dynamic_power"]
        if line.kind[op] == 1 and line.finish_s[op] > line.start_s[op]:
            power += POWER["network.energy_per_byte"] * line.size_bytes[op] / (line.finish_s[op] - line.start_s[op])
        watts[(line.start_s[op] <= moments) & (moments < line.finish_s[op])] += power
    return watts


PROGRAMS = [
    "  - repeat: 3\n    do:\n      - compute: {flops: 1e6*(1 + rank)}\n      - allreduce: {bytes: 1e4}\n      - write: {bytes: 1e5}\n",
    "  - compute: {flops: 1e7}\n  - exchange: {pattern: halo2d, bytes: 2e4}\n  - broadcast: {bytes: 3e4}\n  - read: {bytes: 1e4, when: rank < 3}\n",
    "  - compute: {flops: 1e6*(P - rank)}\n  - all_to_all: {bytes: 5e3}\n  - barrier: {}\n",
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("effects", ["none", "all"])
def test_power_over_time(program: str, effects: str) -> None:
    hardware = powered("torus-cluster")
    result = simulate(workload(program), hardware, {"P": 6}, effects=effects, seed=4, timeline=True)
    profile = result.power_profile
    assert profile is not None
    assert profile.energy_j == pytest.approx(result.energy_j, rel=1e-9)
    assert profile.peak_w == result.peak_power_w
    assert (profile.edges_s[0], profile.edges_s[-1]) == (0, result.makespan_s)
    inside = profile.edges_s[:-1] + 0.6180339887 * np.diff(profile.edges_s)  # no moment at which operations touch
    assert profile.watts == pytest.approx(at_each_moment(result, hardware, inside), rel=1e-9)
    # Nothing is higher between these steps: every moment at which anything begins, a little later.
    line = result.timeline
    assert line is not None
    later = np.unique(line.start_s) + 1e-9 * result.makespan_s
    assert at_each_moment(result, hardware, later).max() <= profile.peak_w * (1 + 1e-9)


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=8), st.integers(1, 4))
def test_computations_one_after_another_never_add_up(steps: list[tuple[int, int]], ranks: int) -> None:
    """Two operations of a rank that touch are not at work at once, whatever rounding does to their times."""
    program = "".join(f"  - compute: {{flops: {flops} + {tenths}*1e8/3}}\n" for flops, tenths in steps)
    hardware = powered("crossbar-16")
    result = simulate(workload(program), hardware, {"P": ranks})
    busy = any(flops or tenths for flops, tenths in steps)
    assert result.peak_power_w == pytest.approx(20.0 * ranks if busy else 0.0)


def test_engines_agree() -> None:
    one, other = (
        simulate(workload(PROGRAMS[0]), powered("torus-cluster"), {"P": 6}, engine=name)
        for name in ("simpy", "compiled")
    )
    assert (one.energy_j, one.peak_power_w) == (other.energy_j, other.peak_power_w)
    assert one.power_profile is not None
    assert other.power_profile is not None
    assert one.power_profile.watts.tolist() == other.power_profile.watts.tolist()


def test_schedules_draw_power() -> None:
    program = workload("  - compute: {flops: 1e9}\n  - exchange: {pattern: halo1d, bytes: 1e6}\n")
    hardware = powered("crossbar-16")
    result = simulate(program, hardware, {"P": 2}, effects="none")
    replayed = simulate(workload_of(schedule_of(program, hardware, {"P": 2})), hardware, effects="none")
    assert replayed.energy_j == pytest.approx(result.energy_j, rel=1e-9)


@pytest.mark.parametrize("reads_s", [1, 7])
def test_started_disk_accesses_of_a_program_draw_power(reads_s: int) -> None:
    """2 s of computation at 90 W during a read at 6 W, whichever takes longer, and a write that is waited for later."""

    @sc.program
    def own(rank: int, size: int) -> Iterator[Any]:
        yield sc.rank.overlap(sc.rank.compute(flops=2e9), sc.rank.read(bytes=reads_s * 1e9))
        written = yield sc.rank.start(sc.rank.write(bytes=3e9))
        yield sc.rank.compute(flops=2e9)
        yield sc.rank.wait(written)

    text = HEAD.replace("1 GFLOP/s", "1 GFLOP/s, dynamic_power: 90 W")
    disk = "disk: {read_startup: 0 s, write_startup: 0 s, bandwidth: 1 GB/s, dynamic_power: 6 W}\n"
    on = machine_from(parse_yaml(text + disk, "own.yaml"), Path())
    results = [sc.forecast(own, on, {"P": 2})]
    results += [sc.simulate(own, on, {"P": 2}, effects="none", engine=engine) for engine in ("simpy", "compiled")]
    for result in results:
        assert result.makespan_s == pytest.approx(max(2, reads_s) + 3)
        assert result.energy_j == pytest.approx(2 * (90 * 4 + 6 * (reads_s + 3)))


def test_every_power_is_a_key_of_a_machine_file() -> None:
    text = HEAD.replace("1 GFLOP/s", "1 GFLOP/s, dynamic_power: 90 W").replace(
        "1 GB/s", "1 GB/s, dynamic_power: 1 W, energy_per_byte: 20 nJ/B"
    )
    assert text != HEAD
    full = "disk: {read_startup: 1 ms, write_startup: 1 ms, bandwidth: 1 GB/s, dynamic_power: 6 W}\nmemory: {latency: 90 ns, bandwidth: 9 GB/s, dynamic_power: 4 W}\naccelerator: {count: 1, rate: 1 TFLOP/s, dynamic_power: 280 W}\n"
    from_file = machine_from(parse_yaml(text + full, "own.yaml"), Path())
    watts = {"processor": 90.0, "accelerator": 280.0, "memory": 4.0, "disk": 6.0, "network": 1.0}
    powers = {f"{part}.dynamic_power": power_w for part, power_w in watts.items()} | {"network.energy_per_byte": 2e-8}
    assert from_file.powers() == powers
    assert powers.keys() == POWERS.keys()


def test_an_empty_profile() -> None:
    nothing = PowerProfile(np.zeros(1), np.zeros(0))
    assert (nothing.energy_j, nothing.peak_w) == (0, 0)
    none = simulate(workload("  - compute: {flops: 0}\n"), powered("crossbar-16"), {"P": 1})
    assert (none.energy_j, none.peak_power_w) == (0, 0)
