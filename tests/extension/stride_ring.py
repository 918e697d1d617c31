"""A network that the package does not have: a one-way ring in which host i is linked to host i + stride."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.forms import Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.topology.base import Topology, register_topology
from simcodesign.describe.topology.link_loads import IntArray


@register_topology
@dataclass(frozen=True)
class StrideRing(Topology):
    """Host i has one link, number i, to host (i + stride) mod node_count; the stride reaches every host."""

    kind: ClassVar[str] = "stride_ring"
    options: ClassVar[tuple[Key, ...]] = (Key("stride", Whole(1), "how far each link leads"),)
    stride: int = 1

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> StrideRing:
        stride = options.get("stride", 1)
        if math.gcd(stride, node_count) != 1:
            raise InputError("stride does not reach every host", place, value=stride, allowed=f"prime to {node_count}")
        return cls(node_count, stride)

    @property
    def link_count(self) -> int:
        return self.node_count if self.node_count > 1 else 0

    @property
    def diameter(self) -> int:
        return self.node_count - 1

    @property
    def bisection_width(self) -> int:
        return min(2, self.node_count - 1)

    def mean_hops(self) -> float:
        return self.node_count / 2 if self.node_count > 1 else 0.0

    def distance_hops(self, source: IntArray, target: IntArray) -> IntArray:
        hops: IntArray = (target - source) * pow(self.stride, -1, self.node_count) % self.node_count
        return hops

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        return (at + self.stride) % self.node_count, at

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        return np.asarray(link), (link + self.stride) % self.node_count
