"""Which level of a machine the messages of a row crossed: the network between nodes, of a node, or of a socket.

A row specifies it by the numbers of nodes and sockets on which its ranks were, printed by the benchmark or given by
the user. Ranks are taken to fill node after node: of a run with ``ranks_per_node`` ranks on each, P ranks were on the
first P / ``ranks_per_node`` nodes, so that the ping-pong of a run on full nodes stays within one. A file that specifies
nothing is an error, because messages of different levels never determine one constant together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from simcodesign.calibration.benchmarks.samples import NODES, is_ring
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import PATHS
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable

PER_NODE, SOCKETS, RANKS = "ranks_per_node", "sockets", "P"
#: The network between nodes, inside a node, inside a socket; and the short form of messages within a node.
OUTSIDE, NODE, SOCKET = PATHS
SHORT = "network.node"
#: Operations whose rows determine constants of messages.
MESSAGES = (
    "ping_pong",
    "window",
    "window_both_ways",
    "multi_pair_ping_pong",
    "multi_pair_window",
    "multi_pair_window_both_ways",
    "sendrecv",
)
#: Formats in which every pair of ranks has two nodes for itself.
BETWEEN_NODES = ("smpi",)


def placed(table: BenchmarkTable) -> BenchmarkTable:
    """Return the table with the number of nodes that the ranks of each row were on, as far as it is known.

    Raises InputError for more or fewer ranks than these nodes have, and for parts of a node.
    """
    return replace(table, rows=tuple(_placed(row, table) for row in table.rows))


def _placed(row: BenchmarkRow, table: BenchmarkTable) -> BenchmarkRow:
    for name in (NODES, PER_NODE, SOCKETS):
        if (value := row.parameters.get(name, 1.0)) < 1 or value != int(value):
            raise InputError(
                f"{name} of {row.operation}", Place(table.file, row.line), value=value, allowed="1, 2, ..."
            )
    nodes, per_node, ranks = (row.parameters.get(name) for name in (NODES, PER_NODE, RANKS))
    if nodes is None and table.format in BETWEEN_NODES:
        return _with(row, {NODES: 2.0})
    if ranks is None:
        known = {RANKS: nodes * per_node} if nodes and per_node else {}
        return _with(row, known)
    whole = ranks * row.parameters.get("groups", 1.0) + row.waiting
    if per_node is None and nodes is not None and row.waiting:
        per_node = math.ceil(whole / nodes)
    if per_node is None:
        return row
    if nodes is not None and not (nodes - 1) * per_node < whole <= nodes * per_node:
        what = f"{row.operation} of a run of {whole:g} ranks, on {nodes:g} nodes of {per_node:g} ranks"
        allowed = f"as many as fill these nodes; or, of this file alone, {NODES} or {PER_NODE} (--given FILE:{NODES}=2)"
        raise InputError(what, Place(table.file, row.line), allowed=allowed)
    return _with(row, {NODES: float(math.ceil(ranks / per_node)), PER_NODE: per_node})


def _with(row: BenchmarkRow, parameters: dict[str, float]) -> BenchmarkRow:
    return replace(row, parameters={**row.parameters, **parameters})


def check_levels_known(tables: Iterable[BenchmarkTable], machine: Machine) -> None:
    """Raise InputError for messages that may have crossed one of several levels of the machine."""
    if machine.processors_per_node < 2:
        return
    for table in tables:
        for row in table.rows:
            if row.operation not in MESSAGES and not is_ring(row):
                continue
            if NODES not in row.parameters:
                each = machine.processors_per_node
                what = f"{row.operation} within a node or between nodes: no line specifies it"
                ways = f"--given nodes=1, --given nodes=2, or --given nodes=2 --given {PER_NODE}={each}"
                raise InputError(what, Place(table.file, row.line), allowed=f"state it of the file: {ways}")
            if machine.socket_network is not None and row.parameters[NODES] == 1 and SOCKETS not in row.parameters:
                what = f"{row.operation} within a socket or between sockets of a node: no line specifies it"
                raise InputError(what, Place(table.file, row.line), allowed="--given sockets=1, or --given sockets=2")


def level_of(row: BenchmarkRow, machine: Machine) -> str:
    """Return the path of the network that the messages of a row crossed; ``SHORT`` of a machine without levels.

    Empty if some of its pairs are on one node and others are not.
    """
    nodes, per_node, ranks = (row.parameters.get(name) for name in (NODES, PER_NODE, RANKS))
    if nodes != 1:
        is_mixed = row.operation.startswith("multi_pair") and nodes and per_node and ranks != nodes * per_node
        return "" if is_mixed else OUTSIDE
    if not machine.has_levels:
        return SHORT
    return SOCKET if machine.socket_network is not None and row.parameters.get(SOCKETS) == 1 else NODE


def at_level(tables: Sequence[BenchmarkTable], level: str, machine: Machine) -> tuple[BenchmarkTable, ...]:
    """Return the tables with the rows of one level alone."""
    return tuple(
        replace(table, rows=tuple(row for row in table.rows if level_of(row, machine) == level)) for table in tables
    )


def notes_of_waiting(tables: Iterable[BenchmarkTable]) -> list[str]:
    """Describe the rows whose ranks were on fewer nodes than their run."""
    notes = []
    for table in tables:
        rows = [row for row in table.rows if row.waiting and row.operation in MESSAGES and PER_NODE in row.parameters]
        for one in rows[:1]:
            nodes, ranks = one.parameters[NODES], one.parameters[RANKS]
            notes.append(
                f"{table.file}: ranks are taken to fill node after node, so that {one.operation} of {ranks:g} of "
                f"{ranks + one.waiting:g} ranks was on {nodes:g} node{'s' if nodes != 1 else ''}."
            )
    return notes
