"""The memory of nodes that messages within them load (``node.memory`` of a machine), as stations on their routes.

A message that passes through memory asks for it last, after the interface of the receiving host, so that its bytes are
on their way while it waits: alone it takes as long as before. Between the sockets of a node it loads the controllers of
both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import level_at

Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class MemoryStations:
    """The memory controllers of a machine: stations from the number ``first`` on.

    Where shares are ``fair`` and a node has several, a message visits the controller of its socket twice, and one
    between sockets each of the two once: each visit then has the bytes of one copy.
    """

    machine: Machine
    first: int
    fair: bool

    @property
    def controllers(self) -> int:
        """Memory controllers of a node."""
        return 1 if self.machine.memory is None else self.machine.memory.controllers

    @property
    def count(self) -> int:
        """Number of controllers of all nodes."""
        return self.machine.nodes * self.controllers

    def of_hosts(self, host: Int64s) -> Int64s:
        """Return the controllers of hosts inside nodes, by their numbers among all hosts of all levels."""
        controller, levels, count = np.zeros(len(host), np.int64), self.machine.numbered_levels, self.controllers
        place = level_at(levels, "first_host", host)
        for level in levels[1:]:
            here = place == level.number
            copy, within = level.split(host[here])
            if level.number == 1:
                controller[here] = copy * count + within * count // level.network.topology.node_count
            else:
                node, socket = np.divmod(copy, self.machine.sockets_per_node)
                controller[here] = node * count + (socket if count > 1 else 0)
        return controller

    def visits(self, source: Int64s, target: Int64s, loads: Flags) -> tuple[Int64s, Int64s, Int64s]:
        """Return how many stations each message visits here, between hosts.

        Also return the first and the last station of those that load the memory.
        """
        visits = np.zeros(len(source), np.int64)
        own, other = self.of_hosts(source[loads]), self.of_hosts(target[loads])
        visits[loads] = np.where((own != other) | (self.fair and self.controllers > 1), 2, 1)
        return visits, own, other

    def with_visits(self, way: Int64s, lengths: Int64s, source: Int64s, target: Int64s, loads: Flags) -> Int64s:
        """Return the routes of messages, with ``lengths`` stations each.

        Followed by the stations that they visit here.
        """
        visits, own, other = self.visits(source, target, loads)
        end = np.cumsum(lengths + visits)
        whole = np.empty(int(end[-1]) if len(end) else 0, np.int64)
        is_before = np.ones(len(whole), bool)
        last = end[loads] - 1
        whole[last] = self.first + other
        is_before[last] = False
        twice = visits[loads] == 2
        whole[last[twice] - 1] = self.first + own[twice]
        is_before[last[twice] - 1] = False
        whole[is_before] = way
        return whole

    def s_per_byte(self, machine: Machine, source: Int64s, target: Int64s, loads: Flags) -> NDArray[np.float64]:
        """Seconds for which a byte of each message between hosts occupies each station that it visits here.

        0 if it visits none. ``machine``: with the constants of the phase.
        """
        visits, _, _ = self.visits(source, target, loads)
        each: FloatOrArray = machine.message_memory_s_per_byte
        return np.where(visits > 0, each / np.maximum(visits, 1), 0.0)

    def capacity_per_s(self, machine: Machine) -> float:
        """Bytes of messages, as fair shares count them here, that a controller moves per second."""
        copies = 2.0 if self.controllers > 1 else 1.0
        with np.errstate(divide="ignore"):
            return float(np.divide(copies, machine.message_memory_s_per_byte))


def memory_stations(machine: Machine) -> MemoryStations:
    """Return the memory of a machine's nodes, numbered after the interfaces and links of all levels."""
    last = machine.numbered_levels[-1]
    first = last.first_interface + last.interfaces + last.first_link + last.links
    return MemoryStations(machine, first, machine.network.sharing.is_by_flows)
