"""Constants of messages within a node, from ping-pongs between two ranks of one node or of one socket.

They belong to ``node.network`` or ``socket.network`` if the machine has networks inside nodes, or to its short form
``network.node``: ``startup + bytes x per byte`` and the receive overhead, without hops. A full node adds whether a
message holds its receiver and what it takes of the node's memory (``full_node``): these need ``node.network``, which is
a crossbar if the machine states nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simcodesign.analytic.messages.route_links import modelled_hops
from simcodesign.calibration.benchmarks.levels import MESSAGES, NODE, OUTSIDE, SHORT, SOCKET, at_level, level_of
from simcodesign.calibration.benchmarks.nodes.full_node import has_full_node
from simcodesign.calibration.benchmarks.point_to_point import (
    HOPS,
    LATENCY,
    RECEIVE,
    PointToPoint,
    Segment,
    point_to_point,
)
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import Network
from simcodesign.describe.yaml.files import load_machine
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable

PING_PONG = "ping_pong"
#: The topology of a network inside nodes that a calibration makes: messages share no link that their ends do not.
TOPOLOGY = "crossbar"


@dataclass(frozen=True, eq=False)
class WithinNode:
    """Constants of the messages of one level inside nodes: ``path`` is their path in a machine file."""

    path: str
    messages: PointToPoint

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Segments of sizes, with constants under the path."""
        return self.messages.segments


def with_levels(name: str | Path, machine: Machine, tables: Sequence[BenchmarkTable]) -> tuple[Machine, bool, str]:
    """Return the machine with a network inside nodes if rows of a full node need one.

    Also return whether it was added, and a note if they cannot have one.
    """
    if machine.has_levels or not has_full_node(tables, machine):
        return machine, False, ""
    unused = "Messages of a full node are not used"
    if not machine.network.message_model.has_local_costs:
        return machine, False, f"{unused}: the network model is {machine.network.message_model.name}."
    if machine.network.node is not None:
        now = f"node: {{network: {{topology: {{kind: {TOPOLOGY}}}, startup: ..., bandwidth: ...}}}}"
        return (
            machine,
            False,
            f"{unused}: {machine.name} states {SHORT}, in which nothing is shared. Write {now} there.",
        )
    near = [
        row for table in tables for row in table.rows if row.operation == PING_PONG and level_of(row, machine) == SHORT
    ]
    if len({row.parameters.get("bytes") for row in near}) < 3:
        return machine, False, f"{unused}: it also needs ping-pongs within a node of three sizes or more."
    model = machine.network.message_model
    placeholder = {"startup": float(np.max(model.startup_s)), "per_byte": float(np.max(model.per_byte_s))}
    changes = {f"{NODE}.topology.kind": TOPOLOGY, **{f"{NODE}.{key}": value for key, value in placeholder.items()}}
    return load_machine(name, changes), True, ""


def within_node(
    tables: Sequence[BenchmarkTable],
    machine: Machine,
    receive_overhead_s: float,
    segments: int | None = None,
    level: float = 0.9,
    robust: bool = False,
) -> tuple[WithinNode, ...]:
    """Return the constants of messages of each level inside nodes that has ping-pongs of enough sizes.

    Raises InputError if there are ping-pongs and the machine's model of messages has none within a node.
    """
    found = []
    for path in (SHORT, NODE, SOCKET):
        alone = tuple(replace(table, rows=_ping_pongs(table)) for table in at_level(tables, path, machine))
        files = [table.file for table in alone if table.rows]
        if files and not machine.network.message_model.has_local_costs:
            model = machine.network.message_model.name
            what = f"ping-pongs within a node: {machine.name} has the network model {model}, without {path}"
            allowed = "a machine with 'model: hockney', or no such rows"
            raise InputError(what, Place(files[0]), value="nodes=1", allowed=allowed)
        inner = {NODE: machine.node_network, SOCKET: machine.socket_network}.get(path)
        known, hops = _known(inner, receive_overhead_s)
        messages = point_to_point(alone, machine, known, hops, segments, level, robust)
        if messages is None:
            continue
        if any(one.per_byte.value <= 0 for one in messages.segments):
            what = "ping-pongs within a node whose times do not grow with their sizes"
            raise InputError(what, Place(files[0]), value=path, allowed="sizes that show a bandwidth; or --segments 1")
        of_path = tuple(_of_path(one, path) for one in messages.segments)
        found.append(WithinNode(path, replace(messages, segments=of_path, constants=())))
    return tuple(found)


def _known(inner: Network | None, receive_overhead_s: float) -> tuple[dict[str, float], float]:
    """Return the time of messages within a node without startup and bytes, and their hops.

    From the network inside, or the receive overhead of all messages.
    """
    if inner is None:
        return {LATENCY: 0.0, RECEIVE: receive_overhead_s}, 0.0
    overhead_s = getattr(inner.message_model, "receive_overhead_s", 0.0)
    known = {LATENCY: float(np.max(inner.hop_latency_s)), RECEIVE: float(np.max(overhead_s))}
    return known, float(np.max(modelled_hops(inner, 2.0)))


def _ping_pongs(table: BenchmarkTable) -> tuple[BenchmarkRow, ...]:
    """Return the ping-pongs of a table, without hops, which belong to the network between nodes."""
    return tuple(
        replace(row, parameters={name: value for name, value in row.parameters.items() if name != HOPS})
        for row in table.rows
        if row.operation == PING_PONG
    )


def _of_path(segment: Segment, path: str) -> Segment:
    """Return the segment with its constants under the path of its level."""
    where = "socket" if path == SOCKET else "node"
    startup, per_byte = (
        replace(part, path=f"{path}.{key}", how=f"{part.how} within a {where}")
        for key, part in (("startup", segment.startup), ("per_byte", segment.per_byte))
    )
    return replace(segment, startup=startup, per_byte=per_byte)


def level_changes(found: WithinNode) -> dict[str, object]:
    """Return what a machine file states of a level, by paths, in SI units."""
    parts = [{"startup": one.startup.value, "bandwidth": 1 / one.per_byte.value} for one in found.segments]
    ends = [{"up_to": one.up_to} if np.isfinite(one.up_to) else {} for one in found.segments]
    several = {"segments": [part | end for part, end in zip(parts, ends, strict=True)]}
    stated: dict[str, object] = {**parts[0]} if len(parts) == 1 else {**several}
    return {SHORT: stated} if found.path == SHORT else {f"{found.path}.{key}": value for key, value in stated.items()}


def notes_within_node(tables: Sequence[BenchmarkTable], machine: Machine, found: Sequence[WithinNode]) -> list[str]:
    """Return the notes on the rows of one node."""
    paths = {level_of(row, machine) for table in tables for row in table.rows if row.operation == PING_PONG}
    notes = []
    if found and machine.processors_per_node < 2:
        notes.append(f"{machine.name} has one processor in each node: {SHORT} acts on none of its messages.")
    kept = sorted(paths - {OUTSIDE, ""} - {one.path for one in found})
    notes += [f"Ping-pongs within a node of fewer than three sizes: {path} is kept." for path in kept]
    return notes + [f"Within a node: {note}" for one in found for note in one.messages.notes]


def unused_within_node(
    tables: Sequence[BenchmarkTable], machine: Machine, files_used: set[tuple[str, int]]
) -> list[str]:
    """Return a note on the operations of one node of which no row was used; ``files_used``: files and lines."""
    inside = [
        (row.operation, (table.file, row.line) in files_used)
        for table in tables
        for row in table.rows
        if level_of(row, machine) not in (OUTSIDE, "") and row.operation in (*MESSAGES, "isend", "late_receive")
    ]
    unused = sorted({name for name, _ in inside} - {name for name, used in inside if used} - {PING_PONG})
    return [f"Not used are {', '.join(unused)} within a node: they tell no constant of the network."] if unused else []
