"""The longest path of operations of several ranks, message by message: the simulation without effects to rounding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.analytic.failures import checkpointed_s
from simcodesign.analytic.longest_path.program_path import path_of_program
from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import LocalMessages
from simcodesign.describe.scenario import Scenario, WorkloadSource
from tests.builders import machine, network, network_with, workload

ROUNDING = 1e-12


def compared(load: WorkloadSource, on: Machine | str, ranks: int) -> tuple[float, float]:
    """The longest path and the simulated time."""
    point = Scenario.of(load, on, {"P": ranks}).bind()
    path = path_of_program(point)
    assert path.time_s is not None, path.reason
    assert path.left_out == ()
    whole_s = float(checkpointed_s(path.time_s, point))
    return whole_s, float(sc.simulate(load, on, {"P": ranks}, effects="none").makespan_s)


@pytest.mark.parametrize("ranks", [4, 16])
@pytest.mark.parametrize("on", ["xeon-cluster", "ice-lake-cluster", "power-challenge-mesh"])
@pytest.mark.parametrize(
    "name",
    [
        "cg-2d",
        "cannon",
        "fft-binary-exchange",
        "jacobi",
        "seismic",
        "summa",
        "pencil-fft",
        "npb-lu",
        "npb-cg",
        "stencil",
    ],
)
def test_shipped(name: str, on: str, ranks: int) -> None:
    """Sends of their own, collectives of rows and columns, halos, pipelines; on some machines on several levels."""
    try:
        sc.simulate(name, on, {"P": ranks}, effects="none")
    except InputError as error:  # not run there at all, as for want of a memory
        pytest.skip(str(error))
    path_s, simulated_s = compared(name, on, ranks)
    assert path_s == pytest.approx(simulated_s, rel=ROUNDING)


@pytest.mark.thorough
@pytest.mark.parametrize("on", ["xeon-cluster", "a100-cluster", "failing-torus", "forwarding-mesh", "two-partitions"])
@pytest.mark.parametrize(
    "name",
    [
        "checkpointed",
        "collectives",
        "collective-costs",
        "hpl",
        "sweep3d",
        "milc",
        "kripke",
        "npb-mg",
        "npb-sp",
        "lulesh",
        "homme",
    ],
)
def test_shipped_thoroughly(name: str, on: str) -> None:
    test_shipped(name, on, 16)


GRID = "groups: {row: rank // 4, column: rank % 4}\n"
SWEEP = "wavefront: {grid: [3, 4], planes: 3, bytes: [BYTES, 8], compute: {seconds: 2e-6}, corners: [[0, 0], [1, 0], [1, 1]]}"
OPERATIONS = {
    "sweeps": f"- {SWEEP}",
    "sweeps of rows": "- wavefront: {group: row, grid: [2, 2], planes: 2, bytes: [BYTES, BYTES], corners: [[0, 1]]}",
    "halos of columns": "- exchange: {group: column, pattern: halo1d, bytes: BYTES, periodic: false, messages: 2}",
    "segments": "- broadcast: {bytes: 4*BYTES, algorithm: chain, segment: BYTES}",
    "reduced segments": "- reduce: {bytes: 4*BYTES, algorithm: chain, segment: BYTES}",
    "roots of rows": "- broadcast: {bytes: BYTES, algorithm: binomial, group: row, root: 2}",
    "leaders of nodes": "- allreduce: {bytes: BYTES, algorithm: two_level}",
    "bytes by rank": "- allgather: {bytes: BYTES*(1 + rank % 3), algorithm: ring}",
}


@pytest.mark.parametrize("limit_bytes", [None, 500.0])
@pytest.mark.parametrize("size_bytes", [0, 1000])
@pytest.mark.parametrize("name", OPERATIONS)
def test_late_ranks(name: str, size_bytes: int, limit_bytes: float | None) -> None:
    """Ranks come to the operation at different times, twice."""
    step = OPERATIONS[name].replace("BYTES", str(max(size_bytes, 8) if "segment" in name else size_bytes))
    late = "- compute: {seconds: 1e-6*(rank % 5)}"
    load = workload("\n".join([late, step, late, step]), GRID)
    own: dict[str, Any] = {
        "startup_s": 1e-6,
        "receive_overhead_s": 3e-7,
        "per_byte_s": 1e-9,
        "reduction_per_byte_s": 2e-9,
    }
    own |= {"packing_s": 4e-7, "packing_per_byte_s": 2e-10, "node": LocalMessages(4e-7, 3e-10)}
    on = machine(network(16, **own), processors_per_node=2)
    on = replace(on, network=network_with(on.network, rendezvous_above_bytes=limit_bytes))
    path_s, simulated_s = compared(load, on, 12)
    assert path_s == pytest.approx(simulated_s, rel=ROUNDING)


def test_one_rank_after_another() -> None:
    """A pipeline of P ranks over n blocks, by hand: (P - 1 + n) blocks of work, and a message between any two."""
    ranks, blocks, work_s, startup_s = 6, 5, 3e-6, 1e-6
    text = "\n".join(
        [
            f"- repeat: {blocks}",
            "  do:",
            "    - receive: {from: rank - 1, bytes: 0, when: rank > 0}",
            f"    - compute: {{seconds: {work_s}}}",
            "    - send: {to: rank + 1, bytes: 0, when: rank < P - 1}",
        ]
    )
    path_s, simulated_s = compared(workload(text), machine(network(8, startup_s=startup_s)), ranks)
    expected_s = (ranks - 1 + blocks) * work_s + (ranks - 2 + blocks) * startup_s
    assert path_s == pytest.approx(expected_s, rel=ROUNDING)
    assert simulated_s == pytest.approx(expected_s, rel=ROUNDING)


def test_thousands_of_ranks() -> None:
    """Recursive doubling of 4,096 ranks, one of them late: log2 P messages after the last one."""
    late_s, startup_s = 1e-3, 1e-6
    load = workload(
        f"- compute: {{seconds: {late_s}, when: rank == 77}}\n- allreduce: {{bytes: 0, algorithm: recursive_doubling}}"
    )
    path = path_of_program(Scenario.of(load, machine(network(4096, startup_s=startup_s)), {"P": 4096}).bind())
    assert path.time_s == pytest.approx(late_s + np.log2(4096) * startup_s, rel=ROUNDING)
