"""Hypercube: hosts whose numbers differ in one bit are linked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.topology.base import ROUTINGS, Topology, register_topology
from simcodesign.describe.topology.hardware import Hardware, hosts_joined
from simcodesign.describe.topology.link_loads import IntArray


@register_topology
@dataclass(frozen=True)
class HypercubeTopology(Topology):
    """2^d hosts, linked where their numbers differ in one bit; e-cube routing, lowest bit first.

    Link ``host * d + bit`` leaves ``host``. The bisection width, half the hosts, is exact (F. T. Leighton,
    "Introduction to Parallel Algorithms and Architectures", 1992, Sec. 3.1).
    """

    kind: ClassVar[str] = "hypercube"
    routings: ClassVar[tuple[str, ...]] = ROUTINGS

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> HypercubeTopology:
        """Build it for a power of two of hosts."""
        if node_count & (node_count - 1):
            below = 1 << (node_count.bit_length() - 1)
            allowed = f"a power of two, e.g. {below} or {2 * below}"
            raise InputError("a hypercube cannot have this number of nodes", place, value=node_count, allowed=allowed)
        return cls(node_count)

    @property
    def dimension(self) -> int:
        """Return log2 of the number of hosts."""
        return self.node_count.bit_length() - 1

    @property
    def link_count(self) -> int:
        return self.node_count * self.dimension

    @property
    def hardware(self) -> Hardware:
        return hosts_joined(self)

    @property
    def diameter(self) -> int:
        return self.dimension

    @property
    def bisection_width(self) -> int:
        return self.node_count // 2

    def mean_hops(self) -> float:
        return self.dimension * self.node_count / 2 / max(1, self.node_count - 1)

    def distance_hops(self, source: IntArray, target: IntArray) -> IntArray:
        differing: IntArray = np.bitwise_count(source ^ target).astype(np.int64)
        return differing

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        differing = at ^ target
        lowest = differing & -differing
        return at ^ lowest, at * self.dimension + np.bitwise_count(lowest - 1)

    def spread_step(self, at: IntArray, target: IntArray, draw: IntArray) -> tuple[IntArray, IntArray]:
        """Along one of the dimensions in which the numbers differ."""
        bits = (at ^ target)[None, :] >> np.arange(self.dimension)[:, None] & 1
        wanted = draw % np.maximum(bits.sum(axis=0), 1)
        bit = np.argmax((np.cumsum(bits, axis=0) == wanted + 1) & (bits == 1), axis=0)
        return at ^ (1 << bit), at * self.dimension + bit

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        tail = link // self.dimension
        return tail, tail ^ (1 << link % self.dimension)
