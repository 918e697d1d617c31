"""The routes of messages through shared stations (``interfaces``, ``links``), and the stations that there are.

Columns that send between the same pairs of ranks share their routes, so that a repeated collective costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.core.errors import Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.generate.columns import Column
from simcodesign.generate.messages.cost_model import flight_s, held_s, inject_s, is_loggop, startup_s, tail_s
from simcodesign.generate.plan import (
    CONTROLLER,
    DISK,
    INTERFACE,
    LINK,
    MAILBOX,
    NONE,
    PROCESSOR,
    UNLIMITED,
    Discipline,
    Routes,
    Stations,
)

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
#: Pairs whose routes are looked up together.
PAIRS_AT_ONCE = 2**18
BYTES_PER_HOP, BYTES_PER_OPERATION = 8, 100
#: Rows of the table of costs that are looked for one by one, so that equal ones are one.
MOST_LOOKED_UP = 10_000
#: Up to so many stations, a table of all of them is quicker than sorting those that are used.
DENSE_STATIONS = 2**28
#: From so many of them to a hop on, stations that are used are sorted; measured, the table is as quick at 10 to 20.
SPARSE = 16


class RouteTable:
    """Notes the pairs of nodes between which messages travel, and their costs; then makes the Routes of them."""

    def __init__(self, machine: Machine, node: Int64s, effects: frozenset[str]) -> None:
        self._machine, self._node = machine, node
        self._links, self._interfaces = "links" in effects, "interfaces" in effects
        self._pairs: list[tuple[Int32s, Int32s]] = []
        self._count = 0
        self._known: dict[bytes, Int32s] = {}
        self._costs: dict[tuple[float, ...], int] = {}
        self._table: list[NDArray[np.float64]] = []  # (6, n) each
        self._rows = 0

    def routes_of(self, column: Column) -> Int32s:
        """Number of the route of every message of a column that sends; NONE between ranks of a node."""
        peer = np.asarray(column.peer)
        who = np.arange(len(self._node)) if column.who is None else column.who
        ends = [
            np.array([len(peer)]),
            peer,
            *([] if column.who is None else [column.who]),
        ]  # the length: or they collide
        key = blake2b(b"".join(part.astype(np.int32).tobytes() for part in ends)).digest()
        if key not in self._known:
            self._known[key] = self._number(self._node[who], self._node[peer])
        return self._known[key]

    def _number(self, source: Int64s, target: Int64s) -> Int32s:
        if len(source) <= 2 * len(self._node):
            return self._add(source, target)
        nodes = self._machine.nodes  # of so many messages, pairs come more than once
        pairs, index = np.unique(source * nodes + target, return_inverse=True)
        return self._add(pairs // nodes, pairs % nodes)[index]

    def _add(self, source: Int64s, target: Int64s) -> Int32s:
        far = source != target
        route = np.full(len(source), NONE, np.int32)
        count = int(np.count_nonzero(far))
        route[far] = np.arange(self._count, self._count + count)
        self._pairs.append((source[far].astype(np.int32), target[far].astype(np.int32)))
        self._count += count
        return route

    def cost_of(self, machine: Machine, hops: FloatOrArray, size_bytes: FloatOrArray, train: int = 1) -> Int32s | int:
        """Row of the table of costs for every message, or train of messages of ``size_bytes`` each."""
        network = machine.network
        depends_on_hops = not self._links or network.startup_per == "hop" or train > 1
        kinds = np.broadcast_arrays(hops if depends_on_hops else 0.0, size_bytes)
        if kinds[0].ndim == 0:
            return self._cost(machine, float(kinds[0]), float(kinds[1]), train)
        far, size = (kind.ravel() for kind in kinds)
        if not len(far):
            return np.zeros(0, np.int32)
        order = np.lexsort((size, far))
        changes = (np.diff(far[order]) != 0) | (np.diff(size[order]) != 0)
        group = np.concatenate([[0], np.cumsum(changes)])
        first = order[np.concatenate([[True], changes])]
        row = np.empty(len(order), np.int32)
        row[order] = self._rows_of(self._priced(machine, far[first], size[first], train))[group]
        return row

    def _cost(self, machine: Machine, hops: float, size_bytes: float, train: int) -> int:
        return self._row(self._priced(machine, hops, size_bytes, train).tolist())

    def _rows_of(self, times: NDArray[np.float64]) -> Int32s:
        """(n,) rows of the table for the columns of (6, n) times: looked up, unless there are too many to look for."""
        if times.shape[1] <= MOST_LOOKED_UP:
            return np.array([self._row(row) for row in times.T.tolist()], np.int32)
        self._table.append(times)
        self._rows += times.shape[1]
        return np.arange(self._rows - times.shape[1], self._rows, dtype=np.int32)

    def _row(self, times: list[float]) -> int:
        key = tuple(times)
        if key not in self._costs:
            self._costs[key] = self._rows
            self._table.append(np.array(times).reshape(6, 1))
            self._rows += 1
        return self._costs[key]

    def _priced(
        self, machine: Machine, hops: FloatOrArray, size_bytes: FloatOrArray, train: int
    ) -> NDArray[np.float64]:
        """(6, ...) the times of the table of costs."""
        network, again = machine.network, np.zeros(())
        if train > 1 and not is_loggop(machine):
            # With store-and-forward, the links repeat the bytes of a train themselves.
            again = np.asarray(startup_s(machine, hops) + held_s(machine, hops, 0.0 if self._links else size_bytes))
        times: list[FloatOrArray] = [
            inject_s(machine, hops, size_bytes),
            tail_s(machine, size_bytes, train, again),
            train * size_bytes * network.interface_occupancy_s_per_byte,
            train * size_bytes * network.link_occupancy_s_per_byte,
            0.0 if self._links else flight_s(machine, hops, size_bytes),
            network.hop_latency_s,
        ]
        return np.array(np.broadcast_arrays(*times), dtype=np.float64)

    def to_routes(self, before: int, route: Int32s, cost: Int32s) -> tuple[Routes | None, Int64s]:
        """The Routes, None if no message leaves its node, and what stands for the visited stations: the number of a
        node for its interface, of the nodes and the link for a link. ``before``: stations that come first."""
        if not self._count:
            return None, np.zeros(0, np.int64)
        start = np.concatenate([[0], np.cumsum(self._lengths())]).astype(np.int64)
        needed = BYTES_PER_HOP * float(start[-1]) + BYTES_PER_OPERATION * len(route)
        check_memory(f"{len(route):.3g} operations, with routes of {start[-1]:.3g} hops, take", needed, Place())
        way = np.empty(start[-1], np.int32 if self._most < 2**31 else np.int64)
        first = 0
        for source, target in self._chunks():
            last = first + len(source)
            way[start[first] : start[last]] = self._ways(source, target, start[first : last + 1] - start[first])
            first = last
        visited, station = _numbered(way, self._most, before)
        inject, tail, interface, link, after_interface, latency = np.concatenate(self._table, axis=1).copy()
        forward = self._machine.network.switching == "store_and_forward"
        return Routes(
            route, cost, start, station, inject, tail, interface, link, after_interface, latency, forward
        ), visited

    @property
    def _most(self) -> int:
        """Interfaces and links of the network."""
        return self._machine.nodes + self._machine.network.topology.link_count

    def _chunks(self) -> list[tuple[Int64s, Int64s]]:
        return [
            (source[low : low + PAIRS_AT_ONCE].astype(np.int64), target[low : low + PAIRS_AT_ONCE].astype(np.int64))
            for source, target in self._pairs
            for low in range(0, len(source), PAIRS_AT_ONCE)
        ]

    def _lengths(self) -> Int64s:
        """Stations on each route."""
        hops = [
            self._machine.network.topology.hops(source, target) if self._links else np.zeros(len(source), np.int64)
            for source, target in self._chunks()
        ]
        ends = 2 if self._interfaces else 0
        return np.concatenate(hops) + ends if hops else np.zeros(0, np.int64)

    def _ways(self, source: Int64s, target: Int64s, start: Int64s) -> Int64s:
        """Stations in travel order for every pair of nodes: interfaces are numbered by node, links after them."""
        nodes = self._machine.nodes
        if not self._interfaces:
            return self._machine.network.topology.routes(source, target).link + nodes
        # The sender's interface stands before and the receiver's after the links of each route.
        way = np.empty(start[-1], np.int64)
        inner = np.ones(len(way), bool)
        way[start[:-1]], way[start[1:] - 1] = source, target
        inner[start[:-1]] = inner[start[1:] - 1] = False
        if self._links:
            way[inner] = self._machine.network.topology.routes(source, target).link + nodes
        return way


def _numbered(way: NDArray[Any], most: int, before: int) -> tuple[Int64s, Int32s]:
    """The different numbers below ``most`` in ``way``, and for each its place among them, counted from ``before``."""
    if most > min(DENSE_STATIONS, SPARSE * len(way)):
        visited, index = np.unique(way, return_inverse=True)
        return visited, (index + before).astype(np.int32)
    used = np.zeros(most, bool)
    used[way] = True
    number = np.cumsum(used, dtype=np.int32) + np.int32(before - 1)
    for low in range(0, len(way), 2**22):  # in place, since there may be a billion hops
        way[low : low + 2**22] = number[way[low : low + 2**22]]
    return np.flatnonzero(used), way.astype(np.int32, copy=False)


def disks_of(machine: Machine, accessing: Int32s, node: Int64s) -> tuple[Int64s, Int32s]:
    """The disks that these ranks access, and for each access the number of its disk among them."""
    assert machine.disk is not None
    disks, index = np.unique(node[accessing] // machine.disk.shared_by, return_inverse=True)
    return disks, index.astype(np.int32)


def stations_of(
    machine: Machine,
    disks: Int64s,
    controllers: Int64s,
    processors: int,
    visited: Int64s,
    mailboxes: int,
    disk_discipline: Discipline = UNLIMITED,
) -> Stations:
    """All stations: disks (with this discipline), memory controllers, processors, interfaces and links,
    mailboxes."""
    links = visited >= machine.nodes
    spindles = machine.disk.spindles if machine.disk else 1
    groups: Sequence[tuple[ArrayLike, Int64s]] = (
        (DISK, disks),
        (CONTROLLER, controllers),
        (PROCESSOR, np.arange(processors)),
        (np.where(links, LINK, INTERFACE), visited - links * machine.nodes),
        (MAILBOX, np.arange(mailboxes)),
    )
    kind = np.concatenate([np.broadcast_to(np.asarray(kind, np.int8), len(unit)) for kind, unit in groups])
    unit = np.concatenate([unit for _, unit in groups])
    servers = np.where(kind == DISK, spindles, 1).astype(np.int32)
    if disk_discipline == UNLIMITED:
        return Stations(kind, unit, servers)
    return Stations(kind, unit, servers, (kind == DISK).astype(np.int8), (UNLIMITED, disk_discipline))
