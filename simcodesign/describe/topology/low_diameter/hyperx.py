"""HyperX: routers on a grid, each joined with all others of its lines. Flattened butterflies are regular ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.forms import Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items
from simcodesign.describe.topology.base import MAX_HOSTS, checked_whole, register_topology
from simcodesign.describe.topology.grid_shape import MAX_DIMS, similar_shape
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.describe.topology.low_diameter.hosts_on_routers import (
    MOST_COUNTED_LINKS,
    SPEEDS,
    RouterTopology,
    check_multiple,
    checked_speeds,
    largest_divisor,
)


class Dimension(NamedTuple):
    """One dimension of a HyperX: ``cables`` between any two of its ``extent`` coordinates."""

    extent: int
    stride: int  # distance in router numbers between neighbours
    cables: int
    first: int  # number of its first link between routers

    @property
    def links(self) -> int:
        """Directed links of one router along this dimension."""
        return (self.extent - 1) * self.cables


@register_topology
@dataclass(frozen=True)
class HyperXTopology(RouterTopology):
    """J.

    Ahn, N. Binkert, A. Davis, M. McLaren, R. Schreiber, "HyperX: topology, routing, and packaging of efficient
    large-scale networks", SC 2009.

    Routers are on a grid of ``shape`` S, numbered row by row (last coordinate fastest), with T = ``terminals`` hosts
    each. Any two that differ in one coordinate only, in dimension k, are joined by K_k = ``cables[k]`` cables.
    With T = S_k in all dimensions and K_k = 1 it is the flattened butterfly (J. Kim, W. Dally, D. Abts, "Flattened
    butterfly: a cost-efficient topology for high-radix networks", ISCA 2007): the k-ary n-flat has n - 1 dimensions of
    k routers.

    Routes take the dimensions in order, the lowest first, one hop in each in which routers differ, and of parallel
    cables number (target mod K_k).

    If all K_k are equal, the bisection width is exact: among all sets of as many routers, the first ones in the order
    of their numbers, dimensions with the largest extent running fastest, have the fewest cables to others (J. Lindsey,
    "Assignment of numbers to vertices", American Mathematical Monthly 71, 1964), and hosts that are not on the side of
    their router cost a cable each.
    """

    kind: ClassVar[str] = "hyperx"
    options: ClassVar[tuple[Key, ...]] = (
        Key(
            "shape",
            Items(Whole(1), "nodes or routers in one dimension", make=list),
            "routers in every dimension",
            required=True,
        ),
        Key("terminals", Whole(1), "hosts of a router", "the hosts divided by the routers"),
        Key("cables", Items(Whole(1), "of one dimension", make=list), "parallel cables in every dimension", "1"),
        *SPEEDS,
    )
    shape: tuple[int, ...]
    cables: tuple[int, ...]
    bandwidth: tuple[float, ...] | None = None
    latency: tuple[float, ...] | None = None

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> HyperXTopology:
        """Build it of a shape, with as many hosts on each router.

        Bandwidths (B/s) and latencies (s): of hosts, then of each dimension.
        """
        if "shape" not in options:
            raise InputError("hyperx needs a shape (routers in every dimension)", place, allowed="e.g. [4, 4]")
        shape = _wholes(options["shape"], "shape", place)
        cables = _wholes(options.get("cables", (1,) * len(shape)), "cables", place)
        if len(cables) != len(shape):
            what = "cables: one number for each dimension"
            raise InputError(what, place, value=list(cables), allowed=f"a list of {len(shape)}")
        routers = math.prod(shape)
        check_multiple(node_count, routers, "the routers, with the same number on each, a round", place)
        terminals = checked_whole(options.get("terminals", node_count // routers), "terminals", MAX_HOSTS, place)
        if terminals * routers != node_count:
            what = f"{routers} routers with {terminals} hosts each, but node_count is {node_count}"
            raise InputError(what, place, value=terminals, allowed=f"terminals: {node_count // routers}")
        bandwidth, latency = checked_speeds(options, len(shape), place)
        return cls(node_count, terminals, shape, cables, bandwidth, latency)

    def options_for(self, node_count: int) -> dict[str, Any]:
        """Return as many hosts on each router, or the largest smaller number that divides them.

        On a shape that is as near to this one as the number of routers allows.
        """
        terminals = largest_divisor(node_count, self.terminals)
        same = node_count == self.node_count
        shape = self.shape if same else similar_shape(self.shape, node_count // terminals)
        return {**super().options_for(node_count), "shape": shape, "terminals": terminals}

    @property
    def label(self) -> str:
        """Kind, extents and hosts of a router, e.g. ``hyperx 4x4, 4 hosts each``."""
        return f"{self.kind} {'x'.join(map(str, self.shape))}, {self.terminals} hosts each"

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Return the dimensions, with their strides and first cables."""
        found: list[Dimension] = []
        stride, first = self.router_count, 0
        for extent, cables in zip(self.shape, self.cables, strict=True):
            stride //= extent
            found.append(Dimension(extent, stride, cables, first))
            first += self.router_count * found[-1].links
        return tuple(found)

    @property
    def router_count(self) -> int:
        return math.prod(self.shape)

    @property
    def router_links(self) -> Mapping[str, int]:
        return {f"dimension {number}": self.router_count * it.links for number, it in enumerate(self.dimensions)}

    @property
    def router_diameter(self) -> int:
        return sum(extent > 1 for extent in self.shape)

    def router_hop_sum(self) -> int:
        return sum(self.router_count**2 // extent * (extent - 1) for extent in self.shape)

    @cached_property
    def bisection_width(self) -> int:
        """Width of the best set of the first routers, see the class.

        Half of the hosts' cables in very large networks.
        """
        half, routers = self.node_count // 2, self.router_count
        if routers * len(self.shape) > MOST_COUNTED_LINKS:
            return half
        fastest = sorted(zip(self.shape, self.cables, strict=True), key=lambda one: one[0] * one[1], reverse=True)
        number, leaving = np.arange(routers), np.zeros(routers, dtype=np.int64)
        for extent, cables in fastest:
            number, coordinate = np.divmod(number, extent)
            leaving += cables * (extent - 1 - 2 * coordinate)  # those to later routers, less those to earlier ones
        cut = np.concatenate([[0], np.cumsum(leaving)])
        hosts = self.terminals * np.arange(routers + 1)
        astray = np.minimum(np.abs(hosts - half), np.abs(hosts - (self.node_count - half)))
        return int((cut + astray).min())

    @property
    def bisection_exact(self) -> bool:
        return len(set(self.cables)) == 1 and self.router_count * len(self.shape) <= MOST_COUNTED_LINKS

    def router_hops(self, source: IntArray, target: IntArray) -> IntArray:
        hops = np.zeros(source.shape, dtype=np.int64)
        for extent, stride, *_ in self.dimensions:
            hops += source // stride % extent != target // stride % extent
        return hops

    def router_step(self, at: IntArray, target: IntArray, host: IntArray) -> tuple[IntArray, IntArray]:
        following, link = np.empty_like(at), np.empty_like(at)
        rest = np.arange(at.size)
        for it in self.dimensions:
            here, there = (router[rest] // it.stride % it.extent for router in (at, target))
            differs = here != there
            moving, here, there = rest[differs], here[differs], there[differs]
            following[moving] = at[moving] + (there - here) * it.stride
            neighbour = there - (there > here)
            link[moving] = it.first + at[moving] * it.links + neighbour * it.cables + host[moving] % it.cables
            rest = rest[~differs]
        return following, link

    def spread_router_step(self, at: IntArray, target: IntArray, draw: IntArray) -> tuple[IntArray, IntArray]:
        """Along one of the dimensions in which the coordinates differ, and over any of its parallel cables."""
        apart = np.stack([at // it.stride % it.extent != target // it.stride % it.extent for it in self.dimensions])
        wanted = draw % np.maximum(apart.sum(axis=0), 1)
        chosen = np.argmax((np.cumsum(apart, axis=0) == wanted + 1) & apart, axis=0)
        nearer = at.copy()
        for number, it in enumerate(self.dimensions):
            moving = chosen == number
            nearer[moving] += ((target // it.stride % it.extent - at // it.stride % it.extent) * it.stride)[moving]
        return self.router_step(at, nearer, draw // 64)

    def router_link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        tail, head = np.empty_like(link), np.empty_like(link)
        for it in self.dimensions:
            mine = (link >= it.first) & (link < it.first + self.router_count * it.links)
            tail[mine], place = np.divmod(link[mine] - it.first, max(1, it.links))
            here, neighbour = tail[mine] // it.stride % it.extent, place // it.cables
            head[mine] = tail[mine] + (neighbour + (neighbour >= here) - here) * it.stride
        return tail, head

    def parallel_of(self, link: int) -> int | None:
        it = next(one for one in self.dimensions if link < one.first + self.router_count * one.links)
        return (link - it.first) % it.cables if it.cables > 1 else None


def _wholes(values: object, what: str, place: Place | None) -> tuple[int, ...]:
    if isinstance(values, str) or not isinstance(values, list | tuple) or not 1 <= len(values) <= MAX_DIMS:
        raise InputError(what, place, value=values, allowed=f"1 to {MAX_DIMS} whole numbers")
    return tuple(checked_whole(one, f"{what}[{axis}]", MAX_HOSTS, place) for axis, one in enumerate(values))
