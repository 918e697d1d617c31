"""Bus and crossbar: every host reaches every other in one hop, over one shared link or a link per pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simcodesign.describe.topology.base import Topology, register_topology
from simcodesign.describe.topology.hardware import Hardware
from simcodesign.describe.topology.link_loads import IntArray


@dataclass(frozen=True)
class OneHopTopology(Topology):
    """Hosts that are all one hop apart."""

    @property
    def diameter(self) -> int:
        return min(1, self.node_count - 1)

    def mean_hops(self) -> float:
        return float(self.diameter)

    def distance_hops(self, source: IntArray, target: IntArray) -> IntArray:
        apart: IntArray = (source != target).astype(np.int64)
        return apart


@register_topology
@dataclass(frozen=True)
class BusTopology(OneHopTopology):
    """One link, number 0, that all hosts share in both directions."""

    kind: ClassVar[str] = "bus"

    @property
    def link_count(self) -> int:
        return 1

    @property
    def hardware(self) -> Hardware:
        """One cable, on which all hosts are."""
        return Hardware(0, 0, 1, 1)

    @property
    def bisection_width(self) -> int:
        """The bus itself, unless there is no host to cut off."""
        return self.diameter

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        return target.copy(), np.zeros_like(at)

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first and the last host: the two ends of the cable."""
        return np.zeros_like(link), np.full_like(link, self.node_count - 1)

    def link_name(self, link: int) -> str:
        """Return ``bus``. Raises InputError for what is not a link."""
        super().link_name(link)
        return "bus"

    def _edges(self) -> tuple[IntArray, IntArray, IntArray]:
        """Every ordered pair of hosts, all on link 0."""
        self._check_drawable(self.node_count * (self.node_count - 1))
        host = np.arange(self.node_count, dtype=np.int64)
        tail, head = np.nonzero(host[:, None] != host)
        return tail, head, np.zeros_like(tail)


@register_topology
@dataclass(frozen=True)
class CrossbarTopology(OneHopTopology):
    """A complete graph: link ``source * (node_count - 1) + target`` (one less where target > source)."""

    kind: ClassVar[str] = "crossbar"

    @property
    def link_count(self) -> int:
        return self.node_count * (self.node_count - 1)

    @property
    def hardware(self) -> Hardware:
        """One switch, with a port and a cable for each host: its links are what passes through it."""
        return Hardware(1, self.node_count, self.node_count, self.link_count)

    @property
    def bisection_width(self) -> int:
        """Every pair with a host in either half."""
        half = self.node_count // 2
        return half * (self.node_count - half)

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        return target.copy(), at * (self.node_count - 1) + target - (target > at)

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        tail, other = link // (self.node_count - 1), link % (self.node_count - 1)
        return tail, other + (other >= tail)
