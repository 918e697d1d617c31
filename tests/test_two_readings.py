"""With every effect off, the simulation is the forecast: for every shipped workload on every shipped machine it fits.

The two sides share the description and nothing else (tests/test_layers.py). A difference above rounding would mean that a
closed form and the messages that it stands for are not the same.
"""

from __future__ import annotations

import pytest

from simcodesign.analytic.forecast import forecast
from simcodesign.describe.files import available, load_machine, load_workload
from simcodesign.engine.simulate import simulate

#: Some 10^5 additions of float64: each rounds by at most 1.1e-16 of the sum, rarely in the same direction.
ROUNDING = 1e-12
#: One, powers of two, odd, prime, and as many as the smallest machine has.
RANKS = (1, 2, 3, 5, 7, 8, 12, 13, 16)
CASES = [(workload, machine) for workload in available("workloads") for machine in available("topologies")]


def both(workload: str, machine: str, ranks: int, preset: str | None = None):
    described = load_workload(workload), load_machine(machine)
    said = forecast(*described, {"P": ranks}, preset=preset)
    whole = workload != "seismic" or ranks & (ranks - 1) == 0  # a simulation takes no fraction of an iteration
    return said, simulate(*described, {"P": ranks}, preset=preset, effects="none") if whole else None


def assert_equal(said, seen) -> None:
    assert seen.makespan_s == pytest.approx(said.makespan_s, rel=ROUNDING)
    scale = said.makespan_s * ROUNDING
    for phase, times in said.phases.items():
        for part, time in times.items():
            assert seen.phases[phase][part] == pytest.approx(time, rel=ROUNDING, abs=scale), (phase, part)
    assert (seen.messages, seen.message_bytes) == pytest.approx((said.messages, said.message_bytes), rel=ROUNDING)
    assert seen.disk_bytes == pytest.approx(said.disk_bytes, rel=ROUNDING)


@pytest.mark.parametrize(("workload", "machine"), CASES)
def test_simulation_without_effects_is_the_forecast(workload: str, machine: str) -> None:
    compared = 0
    for ranks in RANKS:
        said, seen = both(workload, machine, ranks)
        if seen is not None:
            assert_equal(said, seen)
            compared += 1
    assert compared >= 3


@pytest.mark.parametrize("machine", available("topologies"))
@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_seismic_small(machine: str, ranks: int) -> None:
    said, seen = both("seismic", machine, ranks, "small")
    assert seen is not None
    assert_equal(said, seen)


@pytest.mark.parametrize("machine", ["torus-cluster", "fat-tree-cluster", "mesh-256"])
@pytest.mark.parametrize("workload", [name for name in available("workloads") if name != "seismic"])
def test_whole_machine(workload: str, machine: str) -> None:
    assert_equal(*both(workload, machine, load_machine(machine).processors))
