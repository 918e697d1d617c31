"""Power and energy of a small machine, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcodesign.aspen.application import load_application
from simcodesign.aspen.machine import AspenMachine
from simcodesign.aspen.power import dynamic_energies, energy_j, machine_max_power_w, max_power_w, static_power_w
from simcodesign.aspen.timing import Timing, run_time

# Three nodes with two sockets of four cores each. Cores: flops and ints have a power of their own, and share none.
MACHINE = """
param idle = 10
param nodes = 3
machine M {
  node [nodes] N  interconnect Net
  dynamic power [sent * 2]     // joules a byte, of what the interconnect sends
  resource barrier(sent) [sent]
}
interconnect Net { resource messages(bytes) [bytes / 4]  static power [7] }
node N { socket [2] S  static power [100] static power [1] }
socket S { core [4] C  memory R  static power [idle] }
core C {
  resource flops(n) [n]   dynamic power [5]
  resource ints(n) [n]    dynamic power [6]
}
memory R {
  resource loads(bytes) [bytes / 2]
  resource stores(bytes) [bytes / 2]
  conflict loads, stores
  dynamic power [20]
}
"""
STATIC = 7 + 3 * 101 + 6 * 10


def timed(machine: AspenMachine, folder: Path, body: str, **parameters: object) -> Timing:
    path = folder / "a.aspen"
    path.write_text(f"model a {{ param n = 1 {body} }}", encoding="utf-8")
    return run_time(load_application(path), machine, None, parameters)  # type: ignore[arg-type]


def test_static_power(machine: AspenMachine) -> None:
    assert static_power_w(machine) == STATIC
    np.testing.assert_array_equal(static_power_w(machine, {"idle": [0, 1]}), [STATIC - 60, STATIC - 54])


def test_power_without_an_application(machine: AspenMachine) -> None:
    # 24 cores with both kinds of operations; of the 6 memories loads or stores.
    assert machine_max_power_w(machine) == STATIC + 24 * (5 + 6) + 6 * 20


@pytest.mark.parametrize(
    ("body", "dynamic"),
    [
        ("kernel main { execute { flops [1] } }", 24 * 5),
        ("kernel main { execute { flops [1] } execute { ints [1] } }", 24 * (5 + 6)),  # of one kernel: together
        ("kernel a { execute { flops [1] } } kernel main { call a execute { ints [1] } }", 24 * 6),  # the larger
        ("kernel main { execute { loads [1] stores [1] } }", 6 * 20),  # never at the same time
        ("kernel main { execute { loads [1] ints [1] } }", 6 * 20 + 24 * 6),
        ("kernel main { execute { messages [8] } }", 8 * 2 / 2),  # 16 J in 2 s
        ("kernel main { execute { messages [0] } }", 0),
        ("kernel main { }", 0),
    ],
)
def test_power_with_an_application(machine: AspenMachine, tmp_path: Path, body: str, dynamic: float) -> None:
    assert max_power_w(timed(machine, tmp_path, body)) == STATIC + dynamic


@pytest.mark.parametrize(
    ("body", "seconds", "dynamic"),
    [
        ("kernel main { execute { flops [8] } }", 8, 8 * 5),  # one core works
        ("kernel main { execute [48] { flops [8] } }", 16, 48 * 8 * 5),  # all of them, twice
        ("kernel main { iterate [3] { execute { loads [8] stores [4] } } }", 18, 18 * 20),
        ("kernel main { map [4] { execute { flops [8] } } }", 8, 4 * 8 * 5),
        ("kernel main { par { execute { flops [8] } execute { ints [9] } } }", 9, 8 * 5 + 9 * 6),
        ("kernel main { probability { [0.5] { execute [3] { messages [8] } } } }", 3, 0.5 * 3 * 8 * 2),
    ],
)
def test_energy(machine: AspenMachine, tmp_path: Path, body: str, seconds: float, dynamic: float) -> None:
    timing = timed(machine, tmp_path, body)
    assert timing.seconds == seconds
    assert energy_j(timing) == STATIC * seconds + dynamic
    assert sum(np.asarray(use.energy_j) for use in dynamic_energies(timing)) == dynamic


def test_energy_of_many_points(machine: AspenMachine, tmp_path: Path) -> None:
    n = np.array([1.0, 30.0, 0.0])
    timing = timed(machine, tmp_path, "kernel main { execute [n] { flops [2] messages [n] } }", n=n, idle=0)
    static = STATIC - 60
    seconds = np.maximum(np.ceil(n / 24) * 2, n * n / 4)
    np.testing.assert_allclose(energy_j(timing), static * seconds + n * 2 * 5 + n * n * 2, rtol=1e-15)
    np.testing.assert_array_equal(np.shape(max_power_w(timing)), (3,))
