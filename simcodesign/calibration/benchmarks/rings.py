"""Messages of rings: what a step of the collectives of NCCL costs, as a ping-pong of the size of its block.

Among P ranks a ring takes P - 1 steps in allgather and reduce_scatter, 2 (P - 1) in allreduce, and each rank sends a
block in every step: n / P bytes of a vector of n bytes. On one node, or with one rank on each, a step is ``startup +
block x per byte`` (alpha and beta); others are in ``rings_across_nodes``. Source: NVIDIA/nccl-tests,
doc/PERFORMANCE.md; bus bandwidth is block / step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simcodesign.calibration.benchmarks.levels import NODE, SOCKET, level_of
from simcodesign.calibration.benchmarks.samples import NODES, PLACEMENT, RINGS, is_ring
from simcodesign.describe.machine import Machine
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable

PING_PONG = "ping_pong"


def as_messages(
    tables: Sequence[BenchmarkTable], machine: Machine
) -> tuple[tuple[BenchmarkTable, ...], tuple[str, ...]]:
    """Return the tables with the rings of NCCL as ping-pongs, and a note, unless there are ping-pongs.

    Rings whose steps have messages of two levels stay as they are.
    """
    rows = [row for table in tables for row in table.rows]
    rings = [row for row in rows if is_ring(row) and not is_on_both_levels(row, machine)]
    if not rings or any(row.operation == PING_PONG for row in rows):
        return (*tables,), ()
    changed = tuple(replace(table, rows=tuple(_step(row, machine) for row in table.rows)) for table in tables)
    names = ", ".join(sorted({row.operation for row in rings}))
    channels = "all channels of a ring together"
    note = f"{names} of nccl-tests are taken to be by rings (NCCL_ALGO=Ring): startup and bandwidth are of {channels}."
    return changed, (note,)


def is_on_both_levels(row: BenchmarkRow, machine: Machine) -> bool:
    """Return whether a row is of a ring among several nodes, with more than one rank on some of them."""
    nodes = row.parameters.get(NODES, 1)
    return is_ring(row) and machine.processors_per_node > 1 and 1 < nodes < row.parameters["P"]


def is_of_rings(table: BenchmarkTable) -> bool:
    """Return whether the ping-pongs of a table are steps of rings."""
    return any(row.operation == PING_PONG and PLACEMENT in row.labels for row in table.rows)


def _step(row: BenchmarkRow, machine: Machine) -> BenchmarkRow:
    """Return a step of a ring as a ping-pong one way, less the operator on its block; other rows as they are.

    A step of messages that hold both ends is two messages: every rank sends and receives.
    """
    if not is_ring(row) or is_on_both_levels(row, machine):
        return row
    network = {NODE: machine.node_network, SOCKET: machine.socket_network}.get(level_of(row, machine))
    ends = 2.0 if network is not None and network.message_model.holds_both_ends else 1.0
    factor, is_vector = RINGS[row.operation]
    ranks, size = row.parameters["P"], row.parameters["bytes"]
    block = size / ranks if is_vector else size
    operator = machine.network.reduction_per_byte_s if is_vector else None
    of_operator = 0.0 if operator is None else float(np.max(operator)) * block / factor
    seconds = row.value / (factor * (ranks - 1)) - of_operator
    return replace(
        row, operation=PING_PONG, value=seconds / ends, low=None, high=None, parameters=_of_block(row, block)
    )


def _of_block(row: BenchmarkRow, block: float) -> dict[str, float]:
    """Parameters of a step: the ring's, without its ranks, which are no other message."""
    return {name: value for name, value in row.parameters.items() if name != "P"} | {"bytes": block}
