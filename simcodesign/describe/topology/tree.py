"""Binary tree: hosts are leaves, and routes go up to the nearest common ancestor and down again, as in a fat tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from simcodesign.describe.topology.base import Topology, register_topology
from simcodesign.describe.topology.hardware import Hardware, hosts_on_switches
from simcodesign.describe.topology.link_loads import IntArray


@dataclass(frozen=True)
class UpDownTopology(Topology):
    """Hosts below switches: those with equal number // arity^m have a common ancestor m levels above them."""

    arity: int

    @cached_property
    def levels(self) -> int:
        """Levels of switches: the smallest number with arity^levels >= node_count."""
        levels = 0
        while self.arity**levels < self.node_count:
            levels += 1
        return levels

    @property
    def hardware(self) -> Hardware:
        return hosts_on_switches(self)

    @property
    def diameter(self) -> int:
        return 2 * self.levels

    def mean_hops(self) -> float:
        if self.node_count == 1:
            return 0.0
        pairs = sum(self._pairs_above(self.arity**level) for level in range(self.levels))
        return 2 * pairs / (self.node_count * (self.node_count - 1))

    def _pairs_above(self, group: int) -> int:
        """Ordered pairs of hosts that are not in the same group of ``group`` neighbouring leaves."""
        full, rest = divmod(self.node_count, group)
        return self.node_count**2 - full * group**2 - rest**2

    def distance_hops(self, source: IntArray, target: IntArray) -> IntArray:
        total = np.zeros(np.broadcast_shapes(source.shape, target.shape), dtype=np.int64)
        for level in range(self.levels):
            group = self.arity**level
            total += source // group != target // group
        return 2 * total


@register_topology
@dataclass(frozen=True)
class TreeTopology(UpDownTopology):
    """A binary tree with the hosts at its leaves; switches without a host below them are left out.

    Vertices are numbered level by level from the leaves up. Vertex v other than the root has the links 2v
    (up) and 2v + 1 (down to it).
    """

    arity: int = 2
    kind: ClassVar[str] = "tree"

    def facts(self) -> list[tuple[str, str]]:
        """Return the arity, which cannot be chosen."""
        return [("arity", str(self.arity))]

    @cached_property
    def _first(self) -> IntArray:
        """Number of the first vertex of each level, shape (levels + 2,); the last is the vertex count."""
        widths = [-(-self.node_count // 2**level) for level in range(self.levels + 1)]
        return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)

    @property
    def vertex_count(self) -> int:
        return int(self._first[-1])

    @property
    def link_count(self) -> int:
        return 2 * (self.vertex_count - 1)

    @property
    def bisection_width(self) -> int:
        """1 if some subtree holds half of the hosts, otherwise the best cut between the first and last half."""
        half = self.node_count // 2
        if self.node_count == 1 or self._subtree_sizes() & {half, self.node_count - half}:
            return min(1, half)
        return min(self._prefix_cut(half), self._prefix_cut(self.node_count - half))

    @property
    def bisection_exact(self) -> bool:
        """A width of 2 is proven as well: one link cuts off one subtree, and none holds half of the hosts."""
        return self.bisection_width <= 2

    def _subtree_sizes(self) -> set[int]:
        """Hosts below each kind of vertex: the full subtrees, and the last one of each level."""
        full = {2**level for level in range(self.levels)}
        return full | {(self.node_count - 1) % size + 1 for size in full}

    def _prefix_cut(self, count: int) -> int:
        """Fewest links that separate the first ``count`` hosts from the others, 0 < count < node_count.

        ``inside`` and ``outside`` are the links cut below the ancestor that has hosts of both sides beneath
        it, with that ancestor on the side of the first hosts or on the other side.
        """
        level = ((count - 1) ^ count).bit_length()
        inside = outside = 1
        for below in range(level, self.levels):
            position = (count - 1) >> below
            inside, outside = min(inside, outside + 1), min(inside + 1, outside)
            if position % 2:
                outside += 1
            elif self._first[below] + position + 1 < self._first[below + 1]:
                inside += 1
        return min(inside, outside)

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        level = self._level(at)
        position = at - self._first[level]
        down = (target >> level) == position
        child = self._first[level - 1] + (target >> np.maximum(level - 1, 0))
        parent = self._first[level + 1] + (position >> 1)
        return np.where(down, child, parent), np.where(down, 2 * child + 1, 2 * at)

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        child = link // 2
        level = self._level(child)
        parent = self._first[level + 1] + (child - self._first[level]) // 2
        up = link % 2 == 0
        return np.where(up, child, parent), np.where(up, parent, child)

    def _level(self, vertex: IntArray) -> IntArray:
        return np.searchsorted(self._first, vertex, side="right") - 1
