"""Constants of messages within a node, ``network.node``, from ping-pongs between two ranks of one node.

A file shows them by its rows' parameter ``nodes``, which it prints or ``--given nodes=1`` states. A message within a
node takes ``startup + bytes x per byte`` and the receive overhead, and passes no hop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simcodesign.calibration.benchmarks.point_to_point import (
    HOPS,
    LATENCY,
    RECEIVE,
    PointToPoint,
    Segment,
    point_to_point,
)
from simcodesign.calibration.benchmarks.samples import is_of_one_node
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.fitting.readers.benchmarks.table import BenchmarkRow, BenchmarkTable

PATH = "network.node"
PING_PONG = "ping_pong"
#: Operations of messages: of rows of one node, only ping-pongs are used.
MESSAGES = ("isend", "late_receive", "window", "window_both_ways", "multi_pair_window", "multi_pair_ping_pong")


def within_node(
    tables: Sequence[BenchmarkTable],
    machine: Machine,
    receive_overhead_s: float,
    segments: int | None = None,
    level: float = 0.9,
    robust: bool = False,
) -> PointToPoint | None:
    """Return the constants of messages within a node, from rows of one node alone; None if there are too few sizes.

    Raises InputError if there are ping-pongs and the machine's model of messages has none within a node.
    """
    alone = tuple(replace(table, rows=_ping_pongs(table)) for table in tables)
    files = [table.file for table in alone if table.rows]
    if files and not machine.network.message_model.has_local_costs:
        model = machine.network.message_model.name
        what = f"ping-pongs within a node: {machine.name} has the network model {model}, without {PATH}"
        allowed = "a machine with 'model: hockney', or no such rows"
        raise InputError(what, Place(files[0]), value="nodes=1", allowed=allowed)
    found = point_to_point(alone, machine, {LATENCY: 0.0, RECEIVE: receive_overhead_s}, 0.0, segments, level, robust)
    if found is None:
        return None
    if any(one.per_byte.value <= 0 for one in found.segments):
        what = "ping-pongs within a node whose times do not grow with their sizes"
        raise InputError(what, Place(files[0]), value=PATH, allowed="sizes that show a bandwidth; or --segments 1")
    return replace(found, segments=tuple(map(_of_node, found.segments)), constants=())


def _ping_pongs(table: BenchmarkTable) -> tuple[BenchmarkRow, ...]:
    """Return the ping-pongs of a table, without hops, which none within a node has."""
    return tuple(
        replace(row, parameters={name: value for name, value in row.parameters.items() if name != HOPS})
        for row in table.rows
        if row.operation == PING_PONG
    )


def _of_node(segment: Segment) -> Segment:
    """The segment with its constants under ``network.node``."""
    startup, per_byte = (
        replace(part, path=f"{PATH}.{key}", how=f"{part.how} within a node")
        for key, part in (("startup", segment.startup), ("per_byte", segment.per_byte))
    )
    return replace(segment, startup=startup, per_byte=per_byte)


def node_change(found: PointToPoint) -> dict[str, object]:
    """Return ``network.node`` of a machine file, in SI units."""
    parts = [{"startup": one.startup.value, "bandwidth": 1 / one.per_byte.value} for one in found.segments]
    ends = [{"up_to": one.up_to} if np.isfinite(one.up_to) else {} for one in found.segments]
    if len(parts) == 1:
        return {**parts[0]}
    return {"segments": [part | end for part, end in zip(parts, ends, strict=True)]}


def notes_of_one_node(tables: Sequence[BenchmarkTable], machine: Machine, found: PointToPoint | None) -> list[str]:
    """Return the notes on the rows of one node."""
    rows = [row for table in tables for row in table.rows if is_of_one_node(row)]
    notes = []
    if found is not None and machine.processors_per_node < 2:
        notes.append(f"{machine.name} has one processor in each node: {PATH} acts on none of its messages.")
    if found is None and any(row.operation == PING_PONG for row in rows):
        notes.append(f"Ping-pongs within a node of fewer than three sizes: {PATH} is kept.")
    unused = sorted({row.operation for row in rows} & {*MESSAGES})
    if unused:
        notes.append(f"Not used are {', '.join(unused)} within a node: they tell no constant of the network.")
    return notes
