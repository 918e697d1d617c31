"""The routes of messages through stations that they share: interfaces, links, the memory of nodes.

Columns that send between the same pairs of ranks share their routes, so that a repeated collective costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import Place
from simcodesign.core.memory_limit import check_memory
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.effects import Mechanism
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import Level, level_at
from simcodesign.describe.network.network import Network
from simcodesign.describe.topology.base import Routes as TopologyRoutes
from simcodesign.generate.columns import Column
from simcodesign.generate.messages.cost_table import CostTable, SharedLevels
from simcodesign.generate.messages.levels import LevelWays
from simcodesign.generate.messages.memory_stations import MemoryStations, memory_stations
from simcodesign.generate.messages.routing.route_choice import RouteChoice
from simcodesign.generate.plan import NONE, Routes

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
BYTES_PER_HOP, BYTES_PER_OPERATION = 8, 100
#: Number of stations up to which a table of all of them is quicker than sorting the used ones.
DENSE_STATIONS = 2**28
#: Ratio of stations to hops from which used stations are sorted; measured, the table is as quick at 10 to 20.
SPARSE = 16
#: Pairs of nodes whose routes are made together: the arrays stay in the processor's cache.
PAIRS_AT_ONCE = 2**13


class RouteTable:
    """Notes the pairs of hosts between which messages travel; then makes the Routes of them and of their costs."""

    def __init__(
        self,
        machine: Machine,
        node: Int64s,
        on: frozenset[Mechanism],
        choice: RouteChoice,
        levels: LevelWays | None = None,
    ) -> None:
        self._machine, self._node, self._choice, self._inner = machine, node, choice, levels
        self._levels = machine.numbered_levels
        self.shared = SharedLevels.by(on)
        loads = self.shared.within_nodes and machine.node_memory is not None
        #: Where messages within nodes load their memory; None if they do not.
        self.memory: MemoryStations | None = memory_stations(machine) if loads else None
        self.costs = CostTable(machine, self.shared, self.memory is not None)
        self._pairs: list[tuple[Int32s, Int32s]] = []
        self._turns: list[tuple[Int64s, Int64s]] | None = None  # interface out and in of every pair
        self._through: list[Int64s | None] | None = None  # nodes that routes go through, of every pair
        self._count = 0
        self._known: dict[bytes, Int32s] = {}

    def copied(self) -> RouteTable:
        """Return a table that may grow without this one."""
        table = copy(self)
        table._pairs, table._known, table.costs = self._pairs.copy(), self._known.copy(), self.costs.copied()
        return table

    def routes_of(self, column: Column) -> Int32s:
        """Return the number of the route of every message of a column that sends; NONE between ranks of a node."""
        peer = np.asarray(column.peer)
        who = np.arange(len(self._node)) if column.who is None else column.who
        parts = [
            np.array([len(peer)]),
            peer,
            *([] if column.who is None else [column.who]),
            *([] if self.memory is None else [np.atleast_1d(column.in_memory)]),
        ]  # the length: or they collide
        key = blake2b(b"".join(part.astype(np.int32).tobytes() for part in parts)).digest()
        if key not in self._known:
            if self._inner is None:
                ends = self._node[who], self._node[peer]
            else:
                ends = self._inner.hosts_of(np.asarray(who, np.int64), peer.astype(np.int64))
                ends = ends[0], self._with_loads(*ends, column.in_memory)
            self._known[key] = self.number(*ends)
        return self._known[key]

    def number(self, source: Int64s, target: Int64s) -> Int32s:
        """Return the number of the route of every message between hosts of any levels; NONE on the same host."""
        if len(source) <= 2 * len(self._node):
            return self._add(source, target)
        nodes = 2 * self._hosts  # among this many messages, pairs come more than once
        pairs, index = np.unique(source * nodes + target, return_inverse=True)
        return self._add(pairs // nodes, pairs % nodes)[index]

    def _with_loads(self, source: Int64s, target: Int64s, in_memory: NDArray[np.bool_] | bool) -> Int64s:
        """Return the targets of messages between hosts.

        If a message loads the memory of its node, with a number after the numbers of all hosts.
        """
        if self.memory is None:
            return target
        return np.where(in_memory & (source >= self._machine.nodes), target + self._hosts, target)

    def memory_s_per_byte(
        self, machine: Machine, source: Int64s, target: Int64s, in_memory: NDArray[np.bool_] | bool
    ) -> FloatOrArray:
        """Seconds for which a byte of each message between ranks occupies each controller that it passes."""
        if self.memory is None or self._inner is None or not np.any(in_memory):
            return 0.0
        ends = self._inner.hosts_of(source, target)
        return self.memory.s_per_byte(machine, *ends, in_memory & (ends[0] >= self._machine.nodes))

    def loaded_controllers(self) -> Int64s:
        """Return the memory controllers that messages pass."""
        if self.memory is None or not self._count:
            return np.zeros(0, np.int64)
        source, target = (np.concatenate(ends).astype(np.int64) for ends in zip(*self._pairs, strict=True))
        target, loads = self._loads(target)
        _, own, other = self.memory.visits(source, target, loads)
        return np.unique(np.concatenate([own, other]))

    def _loads(self, target: Int64s) -> tuple[Int64s, NDArray[np.bool_]]:
        """Return the hosts of targets, and which messages load the memory of their node."""
        loads = target >= self._hosts
        return np.where(loads, target - self._hosts, target), loads

    def between_nodes(self, route: Int32s) -> Int32s:
        """Return the routes of messages that leave their nodes; NONE for others."""
        if self._inner is None or not self._count:
            return route
        source = np.concatenate([source for source, _ in self._pairs])
        return np.where((route != NONE) & (source[route] < self._machine.nodes), route, NONE).astype(np.int32)

    def _add(self, source: Int64s, target: Int64s) -> Int32s:
        far = source != target
        if self._inner is not None:
            is_inside = source >= self._machine.nodes
            far = far & np.where(is_inside, self.shared.within_nodes, self.shared.between_nodes)
        route = np.full(len(source), NONE, np.int32)
        count = int(np.count_nonzero(far))
        route[far] = np.arange(self._count, self._count + count)
        self._pairs.append((source[far].astype(np.int32), target[far].astype(np.int32)))
        self._count += count
        return route

    def to_routes(
        self, before: int, route: Int32s, cost: Int32s, turns: tuple[Int64s, Int64s] | None = None
    ) -> tuple[Routes | None, Int64s]:
        """Return the Routes, None if no message leaves its node, and numbers of the visited stations.

        The number of an interface, for a link its own after all interfaces. ``before``: stations that come first.
        ``turns``: by which interfaces of their nodes messages leave and arrive, if ranks have these, (N,) each.
        """
        if not self._count:
            return None, np.zeros(0, np.int64)
        source, target = (np.concatenate(ends) for ends in zip(*self._pairs, strict=True))
        self._pairs = [(source, target)]  # many short columns are routed together
        if turns is not None and (
            self.shared.interfaces_of_network or (self.shared.links_of_network and self._machine.network.rails > 1)
        ):
            route = self._by_interface(route, *turns)
        others = None
        if self.shared.links_of_network and self._choice.is_by_message:
            route, others = self._by_message(route)
        start = np.concatenate([[0], np.cumsum(self._lengths())]).astype(np.int64)
        needed = BYTES_PER_HOP * float(start[-1]) + BYTES_PER_OPERATION * len(route)
        check_memory(f"{len(route):.3g} operations, with routes of {start[-1]:.3g} hops, take", needed, Place())
        way = np.empty(start[-1], np.int32 if self._most < 2**31 else np.int64)
        is_dense = self._most <= min(DENSE_STATIONS, SPARSE * len(way))
        used = np.zeros(self._most if is_dense else 0, bool)
        first = 0
        for chunk in self._chunks():
            last = first + len(chunk[0])
            part = self._ways_through_memory(*chunk, start[first : last + 1] - start[first])
            way[start[first] : start[last]] = part
            if is_dense:
                used[part] = True
            first = last
        visited, station = _numbered(way, used if is_dense else None, before)
        inject, tail, interface, after_interface, *links = self.costs.times()
        groups = len(links) // 2
        link, latency = links if groups == 1 else (np.stack(part, axis=1) for part in (links[:groups], links[groups:]))
        forward = self._machine.network.is_stored
        group = self._group_of(visited, before) if groups > 1 else None
        adaptive = None
        if others is not None:
            adaptive = self._choice.alternatives(route, others, start, station, self.shared.interfaces_of_network)
        return Routes(
            route,
            cost,
            start,
            station,
            inject,
            tail,
            interface,
            link,
            after_interface,
            latency,
            forward,
            group,
            adaptive=adaptive,
        ), visited

    def _by_interface(self, route: Int32s, leaves: Int64s, comes: Int64s) -> Int32s:
        """Return the routes again, if using other interfaces makes another route."""
        network = self._machine.network
        count = network.interfaces.count
        if not self.shared.interfaces_of_network:  # then only the rail matters
            leaves = comes = leaves % network.rails
        sends = np.flatnonzero(route != NONE)
        key = (route[sends].astype(np.int64) * count + leaves[sends]) * count + comes[sends]
        different, number = np.unique(key, return_inverse=True)
        pair, which = np.divmod(different, count * count)
        source, target = self._pairs[0]
        self._pairs, self._turns = [(source[pair], target[pair])], [np.divmod(which, count)]
        self._count = len(different)
        numbered = np.full(len(route), NONE, np.int32)
        numbered[sends] = number
        return numbered

    def _by_message(self, route: Int32s) -> tuple[Int32s, Int32s | None]:
        """Return the routes again, of each message through a random node.

        Where messages may choose, return the routes of pairs, and these as others that messages may take.
        """
        sends = np.flatnonzero(route != NONE)
        pair = route[sends]
        source, target = self._pairs[0]
        ends = source[pair], target[pair]
        turns = None if self._turns is None else [(leaves[pair], comes[pair]) for leaves, comes in self._turns]
        through = self._choice.through(len(sends))
        own = np.full(len(route), NONE, np.int32)
        if not self._choice.has_alternatives:
            self._pairs, self._turns, self._through = [ends], turns, [through]
            own[sends] = np.arange(len(sends))
            return own, None
        self._pairs, self._through = [self._pairs[0], ends], [None, through]
        if turns is not None and self._turns is not None:
            self._turns += turns
        own[sends] = self._count + np.arange(len(sends))
        return route, own

    def _group_of(self, visited: Int64s, before: int) -> Int32s:
        """Return the group of links that each station is of, up to the last link and memory; 0 for other stations."""
        group = np.zeros(before + len(visited), np.int32)
        is_link = visited >= self._interfaces_of_all
        if self.memory is not None:
            is_memory = visited >= self.memory.first
            group[before + np.flatnonzero(is_memory)] = self.costs.groups
            is_link &= ~is_memory
        links = visited[is_link] - self._interfaces_of_all
        for level, here in self._by_level("first_link", links):
            if level.network.links_differ:
                group[before + np.flatnonzero(is_link)[here]] = level.network.link_group(links[here] - level.first_link)
        return group

    def _by_level(self, start: str, unit: Int64s) -> Iterator[tuple[Level, NDArray[np.bool_]]]:
        """Yield the levels of numbers of hosts, interfaces or links, and which are of each."""
        if self._inner is None:
            yield self._levels[0], np.ones(unit.shape, bool)
            return
        place = level_at(self._levels, start, unit)
        for level in self._levels:
            here = place == level.number
            if here.any():
                yield level, here

    @property
    def _hosts(self) -> int:
        """Hosts of all levels."""
        return self._levels[-1].first_host + self._levels[-1].hosts

    @property
    def _interfaces_of_all(self) -> int:
        """Stations that the interfaces of all levels are; links have the numbers after them."""
        return self._levels[-1].first_interface + self._levels[-1].interfaces

    @property
    def _most(self) -> int:
        """Interfaces and links of all levels, and memory controllers that messages may pass."""
        links = self._levels[-1].first_link + self._levels[-1].links
        return self._interfaces_of_all + links + (0 if self.memory is None else self.memory.count)

    def _chunks(self) -> Iterator[tuple[Int64s, Int64s, Int64s, Int64s, Int64s | None]]:
        """Yield sources and targets of many routes at a time.

        Also yield by which interfaces they leave and arrive, and through which nodes they go.
        """
        turns = [(np.zeros(1, np.int64),) * 2] * len(self._pairs) if self._turns is None else self._turns
        every = [None] * len(self._pairs) if self._through is None else self._through
        for (source, target), (leaves, comes), through in zip(self._pairs, turns, every, strict=True):
            for low in range(0, len(source), PAIRS_AT_ONCE):
                part = slice(low, low + PAIRS_AT_ONCE)
                which = (leaves, comes) if self._turns is None else (leaves[part], comes[part])
                by = None if through is None else through[part]
                yield source[part].astype(np.int64), target[part].astype(np.int64), *which, by

    def _lengths(self) -> Int64s:
        """Stations on each route."""
        lengths = [np.zeros(0, np.int64)]
        for source, target, _, _, through in self._chunks():
            stations = np.zeros(len(source), np.int64)
            if self.memory is not None:
                target, loads = self._loads(target)
                stations += self.memory.visits(source, target, loads)[0]
            for level, here in self._by_level("first_host", source):
                ends = 2 if self.shared.interfaces(level.number) else 0
                stations[here] += ends
                if self.shared.links(level.number):
                    choice, own, other, by = self._on_level(level, source[here], target[here], _some(through, here))
                    stations[here] += choice.hops(own, other, by)
            lengths.append(stations)
        return np.concatenate(lengths)

    def _on_level(
        self, level: Level, source: Int64s, target: Int64s, through: Int64s | None
    ) -> tuple[RouteChoice, Int64s, Int64s, Int64s | None]:
        """How routes of a level are chosen, between hosts by their numbers in its copy; no detours inside a node."""
        if level.number == 0 or self._inner is None:
            return self._choice, source, target, through
        return self._inner.choices[level.number], level.split(source)[1], level.split(target)[1], None

    def _ways_through_memory(
        self, source: Int64s, target: Int64s, leaves: Int64s, comes: Int64s, through: Int64s | None, start: Int64s
    ) -> Int64s:
        """Stations in travel order for every pair of hosts, which begin at ``start``."""
        if self.memory is None:
            return self._ways(source, target, leaves, comes, through, start)
        target, loads = self._loads(target)
        lengths = np.diff(start) - self.memory.visits(source, target, loads)[0]
        places = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        way = self._ways(source, target, leaves, comes, through, places)
        return self.memory.with_visits(way, lengths, source, target, loads)

    def _ways(
        self, source: Int64s, target: Int64s, leaves: Int64s, comes: Int64s, through: Int64s | None, start: Int64s
    ) -> Int64s:
        """Stations in travel order for every pair of hosts: interfaces in the order of ``Interfaces``, then links."""
        if self._inner is None:
            return self._ways_on(self._levels[0], source, target, leaves, comes, through, start)
        way, lengths = np.empty(start[-1], np.int64), np.diff(start)
        for level, here in self._by_level("first_host", source):
            own = np.concatenate([[0], np.cumsum(lengths[here])])
            out, back = (np.broadcast_to(turn, here.shape)[here] for turn in (leaves, comes))
            way[np.repeat(here, lengths)] = self._ways_on(
                level, source[here], target[here], out, back, _some(through, here), own
            )
        return way

    def _ways_on(
        self,
        level: Level,
        source: Int64s,
        target: Int64s,
        leaves: Int64s,
        comes: Int64s,
        through: Int64s | None,
        start: Int64s,
    ) -> Int64s:
        """Stations of the routes between hosts of one level."""
        network, before = level.network, self._interfaces_of_all
        has_links, has_interfaces = self.shared.links(level.number), self.shared.interfaces(level.number)
        choice, own, other, through = self._on_level(level, source, target, through)
        first_link: Int64s | int = before + level.first_link
        if level.number:
            copy_link = level.split(source)[0] * network.link_count
            first_link = first_link + np.repeat(copy_link, np.diff(start) - 2 * has_interfaces)
        if not has_interfaces:
            return self._on_rails(network, choice.routes(own, other, through), leaves) + first_link
        interfaces = network.interfaces
        by_direction = interfaces.count > 1 and network.interfaces_have_directions
        links = choice.routes(own, other, through) if has_links or by_direction else None
        if links is not None and by_direction:
            leaves = network.topology.direction_of(links.link[links.start[:-1]])
            comes = network.topology.direction_of(links.link[links.start[1:] - 1]) ^ 1
        # The sender's interface precedes and the receiver's follows the links of each route.
        way = np.empty(start[-1], np.int64)
        inner = np.ones(len(way), bool)
        here, there = source - level.first_host, target - level.first_host
        way[start[:-1]] = level.first_interface + interfaces.injection(here, leaves)
        way[start[1:] - 1] = level.first_interface + interfaces.ejection(there, level.hosts, comes)
        inner[start[:-1]] = inner[start[1:] - 1] = False
        if links is not None and has_links:
            way[inner] = self._on_rails(network, links, leaves) + first_link
        return way

    @staticmethod
    def _on_rails(network: Network, routes: TopologyRoutes, leaves: Int64s) -> Int64s:
        """Return the links of the routes, each on the rail of the interface by which its message leaves."""
        if network.rails == 1:
            return routes.link
        rail = np.broadcast_to(leaves % network.rails, len(routes.start) - 1)
        return routes.link + np.repeat(rail, np.diff(routes.start)) * network.topology.link_count


def _some(through: Int64s | None, here: NDArray[np.bool_]) -> Int64s | None:
    return None if through is None else through[here]


def _numbered(way: NDArray[Any], used: NDArray[np.bool_] | None, before: int) -> tuple[Int64s, Int32s]:
    """Return the different numbers in ``way``, and for each its place among them, counted from ``before``.

    ``used``: whether each number occurs, unless they are so numerous that sorting is quicker.
    """
    if used is None:
        visited, index = np.unique(way, return_inverse=True)
        return visited, (index + before).astype(np.int32)
    visited = np.flatnonzero(used)
    if len(visited) == visited[-1] - visited[0] + 1:  # all from one to another
        way += way.dtype.type(before - visited[0])
        return visited, way.astype(np.int32, copy=False)
    number = np.cumsum(used, dtype=np.int32) + np.int32(before - 1)
    for low in range(0, len(way), 2**22):  # in place, since there may be a billion hops
        way[low : low + 2**22] = number[way[low : low + 2**22]]
    return visited, way.astype(np.int32, copy=False)
