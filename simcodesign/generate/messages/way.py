"""Routes of simulated messages: hops, the latency of all of them, and how fast bytes pass.

A route is its number of hops if all links are alike and messages within a node cost what others do. If links differ
(``Network.links_differ``), they are looked at: by the effect ``hops``, each message takes the latencies of its own
route, and its bytes pass as fast as the slowest link lets them. Without the effect, the distance law gives the hops.
A single message then takes for each of them the mean latency of its route; messages of an operation that are priced
alike take the largest of that over their pairs (those along one dimension of a halo exchange), or the longest latency
and the slowest link of all (collectives). Messages within a node or a socket have a route of their own if they have a
startup and a bandwidth of their own: each message takes the route of its own pair, also in a collective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.network import LocalMessages, Network
from simcodesign.generate.messages.constants_by_size import constant
from simcodesign.generate.messages.routing.route_choice import RouteChoice

#: Pairs whose routes are looked up together.
PAIRS_AT_ONCE = 2**18
Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Way:
    """Numbers, or one of each message.

    ``latency_s``: of all hops together; ``startup_s``: of the message; ``sent_s_per_byte``: how fast it is sent;
    ``per_byte_s``: the same, or of the slowest link if that is more, where links have bandwidths of their own (with
    store-and-forward, of the first link); ``stored_s_per_byte``: of a link after the first one, in the mean.
    """

    hops: FloatOrArray
    latency_s: FloatOrArray
    startup_s: FloatOrArray
    sent_s_per_byte: FloatOrArray
    per_byte_s: FloatOrArray
    stored_s_per_byte: FloatOrArray

    @classmethod
    def of_hops(cls, network: Network, hops: FloatOrArray, size_bytes: FloatOrArray) -> Way:
        """Route over ``hops`` of the slowest links, each with the longest latency: if all are alike, these are all."""
        link_s = network.link_occupancy_s_per_byte
        startup_s, sent = (constant(network.message_model, name, size_bytes) for name in ("startup_s", "per_byte_s"))
        slowest = np.maximum(sent, link_s) if network.has_own_links else sent
        return cls(hops, hops * network.longest_hop_latency_s, startup_s, sent, slowest, link_s)

    @classmethod
    def without_links(cls, part: MessageModel | LocalMessages, size_bytes: FloatOrArray) -> Way:
        """Over no link, sent as messages over the network, or within a node, are."""
        startup_s, sent = (constant(part, name, size_bytes) for name in ("startup_s", "per_byte_s"))
        return cls(0.0, 0.0, startup_s, sent, sent, 0.0)

    @property
    def fields(self) -> tuple[FloatOrArray, ...]:
        """All of it, in the order of the constructor."""
        return tuple(getattr(self, field.name) for field in fields(self))


class Ways:
    """The routes of messages between the ranks of a machine, whose constants may come from a phase."""

    def __init__(self, machine: Machine, ranks: int, choice: RouteChoice) -> None:
        self.node, self._choice = machine.node_of(ranks), choice
        self._socket = machine.socket_of(ranks) if machine.network.socket is not None else np.zeros(ranks, np.int64)
        self._ranks = ranks

    def counted(self, network: Network, source: Int64s, target: Int64s, size_bytes: FloatOrArray) -> Way:
        """Routes from ranks to ranks (n,), of ``size_bytes``, or (n,); without hops on the same node."""
        way = counted(network, self._choice, self.node[source], self.node[target], size_bytes)
        return way if network.node is None else self._within_nodes(network, way, source, target, size_bytes)

    def between_nodes(self, network: Network, source: Int64s, target: Int64s, size_bytes: FloatOrArray) -> Way:
        """From nodes to other nodes (n,) by their own routes."""
        return counted(network, self._choice, source, target, size_bytes)

    def by_law(self, network: Network, hops: float, source: Int64s, target: Int64s, size_bytes: FloatOrArray) -> Way:
        """Routes over ``hops`` hops by the distance law, each with the mean latency of the message's own route."""
        way = by_law(self.counted(network, source, target, size_bytes), hops)
        is_local = self.node[source] == self.node[target] if network.node is not None else np.zeros(len(source), bool)
        return replace(way, hops=np.where(is_local, 0.0, hops))

    def of_levels(self, network: Network, hops: float, source: Int64s, target: Int64s, size_bytes: FloatOrArray) -> Way:
        """Routes over ``hops`` of the slowest links between nodes.

        Within a node as messages of this pair cost there.
        """
        return self._within_nodes(network, Way.of_hops(network, hops, size_bytes), source, target, size_bytes)

    def _within_nodes(
        self, network: Network, way: Way, source: Int64s, target: Int64s, size_bytes: FloatOrArray
    ) -> Way:
        """Return the ways where messages within a node have a startup and a bandwidth of their own."""
        is_local = self.node[source] == self.node[target]
        between = is_local & (self._socket[source] != self._socket[target])
        every = [np.array(np.broadcast_to(field, is_local.shape), dtype=np.float64) for field in way.fields]
        for which, part in ((is_local, network.node), (between, network.socket)):
            if part is not None:
                for field, value in zip(every, Way.without_links(part, size_bytes).fields, strict=True):
                    field[which] = value if np.ndim(value) == 0 else np.broadcast_to(value, which.shape)[which]
        return Way(*every)


def by_law(way: Way, hops: float) -> Way:
    """Routes with ``hops`` hops, each with the mean latency of the message's own route."""
    some = np.asarray(way.hops) > 0
    latency_s = np.where(some, hops * (way.latency_s / np.where(some, way.hops, 1.0)), 0.0)
    return replace(way, hops=hops, latency_s=latency_s)


def slowest_of_messages(ways: Sequence[Way]) -> Way:
    """Return the longest times among several messages."""
    values = zip(*(way.fields for way in ways), strict=True)
    return Way(*(max(float(np.max(value)) for value in several if np.size(value)) for several in values))


def counted(network: Network, choice: RouteChoice, source: Int64s, target: Int64s, size_bytes: FloatOrArray) -> Way:
    """Return the ways from nodes to nodes (n,) over the network."""
    hops = choice.hops_of_pairs(source, target).astype(np.float64)
    way = Way.of_hops(network, hops, size_bytes)
    if not network.links_differ:
        if not network.has_own_links:
            return way
        return replace(way, per_byte_s=np.where(hops > 0, way.per_byte_s, way.sent_s_per_byte))
    sent = np.broadcast_to(way.sent_s_per_byte, hops.shape)
    several = [slice(low, low + PAIRS_AT_ONCE) for low in range(0, max(1, len(source)), PAIRS_AT_ONCE)]
    parts = [_along_routes(network, choice, source[some], target[some], sent[some]) for some in several]
    latency_s, per_byte_s, stored = (np.concatenate(values) for values in zip(*parts, strict=True))
    return replace(way, latency_s=latency_s, per_byte_s=per_byte_s, stored_s_per_byte=stored)


def _along_routes(
    network: Network, choice: RouteChoice, source: Int64s, target: Int64s, sent_s_per_byte: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Latency of all hops, time per byte, and time per byte of links after the first one, of every route."""
    routes = choice.routes_of_pairs(source, target)
    group = network.topology.group_of(routes.link)
    link_s = np.array(network.links_s_per_byte, dtype=np.float64)[group]
    latencies = np.array(network.link_latencies_s, dtype=np.float64)
    far = np.flatnonzero(np.diff(routes.start))
    start, hops = routes.start[far], np.diff(routes.start)[far]
    latency_s, stored = np.zeros(len(source)), np.zeros(len(source))
    per_byte_s = np.array(sent_s_per_byte, dtype=np.float64)
    if not len(far):
        return latency_s, per_byte_s, stored
    used = np.unique(latencies[group])
    # Equal latencies are multiplied, as when all links are alike.
    latency_s[far] = hops * used[0] if len(used) == 1 else np.add.reduceat(latencies[group], start)
    if network.is_stored:
        first = link_s[start]
        rest = np.add.reduceat(link_s, start) - first
        stored[far] = np.where(hops > 1, rest / np.maximum(hops - 1, 1), first)
        per_byte_s[far] = np.maximum(per_byte_s[far], first)
    else:
        per_byte_s[far] = np.maximum(per_byte_s[far], np.maximum.reduceat(link_s, start))
    return latency_s, per_byte_s, stored
