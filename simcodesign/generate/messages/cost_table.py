"""The table of what messages cost at the stations of their routes: many messages have a row in common."""

from __future__ import annotations

from collections.abc import Set
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.memory_limit import check_memory
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import Network
from simcodesign.generate.messages.levels import LevelWay
from simcodesign.generate.messages.message_models.base import simulated
from simcodesign.generate.messages.way import Way
from simcodesign.generate.plan import Int32s

#: Bytes of every time in the table: its key, its row, the whole table, and the table by groups of links.
BYTES_PER_COST = 4 * 8
#: Rows that are looked for one by one, so that equal ones are one.
MOST_LOOKED_UP = 10_000


@dataclass(frozen=True)
class SharedLevels:
    """Parts that messages share: links and interfaces between nodes, and all of the networks inside them."""

    links_of_network: bool
    interfaces_of_network: bool
    within_nodes: bool

    @classmethod
    def by(cls, on: Set[Mechanism]) -> SharedLevels:
        """As effects have it."""
        return cls(Mechanism.LINKS in on, Mechanism.INTERFACES in on, Mechanism.NODE_NETWORKS in on)

    @property
    def between_nodes(self) -> bool:
        """Whether they share anything between nodes."""
        return self.links_of_network or self.interfaces_of_network

    def links(self, level: int) -> bool:
        """Whether they share the links of a level."""
        return self.links_of_network if level == 0 else self.within_nodes

    def interfaces(self, level: int) -> bool:
        """Whether they share the interfaces of a level."""
        return self.interfaces_of_network if level == 0 else self.within_nodes


class CostTable:
    """Rows of times (``Routes``); a row has one of each group of links, as many as any level of the machine has."""

    def __init__(self, machine: Machine, shared: SharedLevels, has_memory: bool) -> None:
        self.shared, self.has_memory, self._place = shared, has_memory, machine.place
        self.groups = max(len(groups_of(level.network)) for level in machine.numbered_levels)
        self._costs: dict[bytes, int] = {}
        self._table: list[NDArray[np.float64]] = []  # (W, n) each
        self._rows = 0

    def copied(self) -> CostTable:
        """Return a table that may grow without this one."""
        table = copy(self)
        table._costs, table._table = self._costs.copy(), self._table.copy()
        return table

    def times(self) -> NDArray[np.float64]:
        """(W, K) all rows."""
        return np.concatenate(self._table, axis=1)

    def row_of(
        self,
        at: LevelWay,
        way: Way,
        size_bytes: FloatOrArray,
        train: int = 1,
        memory_s_per_byte: FloatOrArray = 0.0,
    ) -> Int32s | int:
        """Return the row of the table of costs for every message, or train of messages, on the level ``at``.

        Each has ``size_bytes`` and occupies a memory controller this long per byte.
        """
        network = at.network
        if self.shared.links(at.number) and not network.message_model.starts_at_every_hop and train == 1:
            # The links have the rest.
            way = Way.without_links(network.message_model, size_bytes)
        every = (*way.fields, np.asarray(memory_s_per_byte), np.asarray(size_bytes, dtype=np.float64))
        hops, *others, memory_s, size = np.broadcast_arrays(*every)
        if not hops.ndim:
            return self._row(self._priced(at, way, float(size_bytes), train, float(memory_s)))
        if not len(hops):
            return np.zeros(0, np.int32)
        keys = (
            size,
            hops,
            *(others if network.paths_differ else ()),
            *((memory_s,) if self.has_memory else ()),
        )
        order = np.lexsort(keys)
        changes = np.zeros(len(order) - 1, bool)
        for key in keys:
            changes |= np.diff(key[order]) != 0
        first = order[np.concatenate([[True], changes])]
        self._check_memory(len(first))
        row = np.empty(len(order), np.int32)
        kinds = Way(hops[first], *(field[first] for field in others))
        group = np.concatenate([[0], np.cumsum(changes)])
        row[order] = self._rows_of(self._priced(at, kinds, size[first], train, memory_s[first]))[group]
        return row

    def _check_memory(self, more: int) -> None:
        """CapacityError if the table of costs is too large with ``more`` rows."""
        groups, rows = self.groups, self._rows + more
        what = f"the costs of {rows:,} kinds of messages, each on {groups:,} kinds of links, take"
        check_memory(what, BYTES_PER_COST * (4.0 + 2 * groups) * rows, self._place)

    def _rows_of(self, times: NDArray[np.float64]) -> Int32s:
        """(n,) rows of the table for the columns of (W, n) times: looked up, unless there are too many to look for."""
        if times.shape[1] <= MOST_LOOKED_UP:
            return np.array([self._row(row) for row in times.T], np.int32)
        self._table.append(times)
        self._rows += times.shape[1]
        return np.arange(self._rows - times.shape[1], self._rows, dtype=np.int32)

    def _row(self, times: NDArray[np.float64]) -> int:
        key = times.tobytes()
        if key not in self._costs:
            self._costs[key] = self._rows
            self._table.append(np.array(times).reshape(len(times), 1))
            self._rows += 1
        return self._costs[key]

    def _priced(
        self, at: LevelWay, way: Way, size_bytes: FloatOrArray, train: int, memory_s_per_byte: FloatOrArray
    ) -> NDArray[np.float64]:
        """Return the times of the table of costs, (W, ...).

        The time of its way, then service and latency of each group of links, and of memory controllers.
        """
        network, again, has_links = at.network, np.zeros(()), self.shared.links(at.number)
        messages = simulated(network)
        if train > 1:
            # With store-and-forward, the links repeat the bytes of a train themselves.
            again = np.asarray(messages.again_s(network, way, 0.0 if has_links else size_bytes))
        groups = groups_of(network)
        nothing = [0.0] * (self.groups - len(groups))  # of groups that only other levels have
        times: list[FloatOrArray] = [
            messages.inject_s(network, way, size_bytes),
            messages.tail_s(network, way, size_bytes, train, again),
            train * size_bytes * network.interface_occupancy_s_per_byte,
            0.0 if has_links else messages.flight_s(network, way, size_bytes),
            *(train * size_bytes * per_byte_s for per_byte_s, _ in groups),
            *nothing,
            *([train * size_bytes * memory_s_per_byte] if self.has_memory else []),
            *(latency_s for _, latency_s in groups),
            *nothing,
            *([0.0] if self.has_memory else []),
        ]
        return np.array(np.broadcast_arrays(*times), dtype=np.float64)


def groups_of(network: Network) -> list[tuple[FloatOrArray, FloatOrArray]]:
    """Seconds per byte and latency of links, of each group if they differ."""
    if not network.links_differ:
        return [(network.link_occupancy_s_per_byte, network.longest_hop_latency_s)]
    return [*zip(network.links_s_per_byte, network.link_latencies_s, strict=True)]
