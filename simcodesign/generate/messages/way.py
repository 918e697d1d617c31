"""The ways of simulated messages: hops, the latency of all of them, and how fast bytes pass.

Where all links are alike, a way is its number of hops. Where they differ (``Network.links_differ``), links are looked
at: by the effect ``hops``, each message takes the latencies of its own route, and its bytes pass as fast as the slowest
link lets them. Without the effect, hops are those of the distance law. A single message then takes for each of them the
mean latency of its route; messages of an operation that are priced alike take the largest of that over their pairs
(those along one dimension of a halo exchange), or the longest latency and the slowest link of all (collectives).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_parts import Network

#: Pairs whose routes are looked up together.
PAIRS_AT_ONCE = 2**18
Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Way:
    """Numbers, or one of each message. ``latency_s``: of all hops together; ``per_byte_s``: of the slowest link, where
    links have bandwidths of their own, and the network's time per byte at the least (with store-and-forward, of the
    first link); ``stored_s_per_byte``: of a link after the first one, in the mean."""

    hops: FloatOrArray
    latency_s: FloatOrArray
    per_byte_s: FloatOrArray
    stored_s_per_byte: FloatOrArray

    @classmethod
    def of_hops(cls, network: Network, hops: FloatOrArray) -> Way:
        """Over so many of the slowest links, each with the longest latency: where all are alike, these are all."""
        link_s = network.link_occupancy_s_per_byte
        slowest = np.maximum(network.per_byte_s, link_s) if network.has_own_links else network.per_byte_s
        return cls(hops, hops * network.longest_hop_latency_s, slowest, link_s)

    @property
    def fields(self) -> tuple[FloatOrArray, FloatOrArray, FloatOrArray, FloatOrArray]:
        """All of it."""
        return self.hops, self.latency_s, self.per_byte_s, self.stored_s_per_byte


def counted(network: Network, source: Int64s, target: Int64s) -> Way:
    """The ways from nodes to nodes (n,) by their own routes."""
    hops = network.topology.hops(source, target).astype(np.float64)
    if not network.links_differ:
        way = Way.of_hops(network, hops)
        if not network.has_own_links:
            return way
        return Way(hops, way.latency_s, np.where(hops > 0, way.per_byte_s, network.per_byte_s), way.stored_s_per_byte)
    parts = [
        _along_routes(network, source[low : low + PAIRS_AT_ONCE], target[low : low + PAIRS_AT_ONCE])
        for low in range(0, max(1, len(source)), PAIRS_AT_ONCE)
    ]
    return Way(hops, *(np.concatenate(values) for values in zip(*parts, strict=True)))


def by_law(network: Network, hops: float, route: Way) -> Way:
    """Over so many hops by the distance law, each with the mean latency of its own ``route``."""
    some = route.hops > 0
    latency_s = np.where(some, hops * (route.latency_s / np.where(some, route.hops, 1.0)), 0.0)
    return Way(np.full(len(latency_s), hops), latency_s, route.per_byte_s, route.stored_s_per_byte)


def slowest(ways: Sequence[Way]) -> Way:
    """Of several messages by the same number of hops: the longest latency, the longest time per byte."""
    fields = zip(*(way.fields for way in ways), strict=True)
    return Way(*(max(float(np.max(value)) for value in values if np.size(value)) for values in fields))


def _along_routes(network: Network, source: Int64s, target: Int64s) -> tuple[NDArray[np.float64], ...]:
    """Latency of all hops, time per byte, and that of links after the first one, of every route."""
    routes = network.topology.routes(source, target)
    group = network.topology.group_of(routes.link)
    link_s = np.array(network.links_s_per_byte, dtype=np.float64)[group]
    latencies = np.array(network.link_latencies_s, dtype=np.float64)
    far = np.flatnonzero(np.diff(routes.start))
    start, hops = routes.start[far], np.diff(routes.start)[far]
    latency_s, stored = np.zeros(len(source)), np.zeros(len(source))
    per_byte_s = np.full(len(source), float(network.per_byte_s))
    if not len(far):
        return latency_s, per_byte_s, stored
    used = np.unique(latencies[group])
    # Equal latencies are multiplied, as they are where all links are alike.
    latency_s[far] = hops * used[0] if len(used) == 1 else np.add.reduceat(latencies[group], start)
    if network.switching == "store_and_forward":
        first = link_s[start]
        rest = np.add.reduceat(link_s, start) - first
        stored[far] = np.where(hops > 1, rest / np.maximum(hops - 1, 1), first)
        per_byte_s[far] = np.maximum(per_byte_s[far], first)
    else:
        per_byte_s[far] = np.maximum(per_byte_s[far], np.maximum.reduceat(link_s, start))
    return latency_s, per_byte_s, stored
