"""Which routes messages take, by the routing of the network; what is random is drawn here.

Messages may have another route to choose, which parts from the first one somewhere."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.registry import Registry
from simcodesign.describe.network.network import Network
from simcodesign.describe.network.routing import ALONG_ROUTE, Ecmp, Minimal, Ugal, Valiant
from simcodesign.describe.topology.base import Routes
from simcodesign.describe.topology.routing import hops_through, mixed, routes_through, spread_routes
from simcodesign.generate.plan import NONE, AlternativeRoutes
from simcodesign.generate.randomness.random_streams import stream

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
#: Streams of random numbers: the key for pairs of nodes, and the nodes that messages go through.
PAIRS, MESSAGES = "routes of pairs", "routes of messages"


ENTRY_POINTS = "simcodesign.route_choices"


class RouteChoice:
    """The routes of a network in which every pair of nodes has its topology's route; the base of others."""

    #: Each message has a route of its own, or may take one, through a random node.
    is_by_message: ClassVar[bool] = False
    #: Messages take the route of their pair of nodes, or that through a random node.
    has_alternatives: ClassVar[bool] = False

    def __init__(self, network: Network, seed: int) -> None:
        self._network, self._topology, self._seed = network, network.topology, seed

    @cached_property
    def _key(self) -> np.uint64:
        return stream(self._seed, PAIRS).integers(0, 2**64, dtype=np.uint64)

    def through(self, messages: int) -> Int64s:
        """Return a random node for each of ``messages`` messages."""
        return stream(self._seed, MESSAGES).integers(0, self._topology.node_count, messages)

    def hops_of_pairs(self, source: Int64s, target: Int64s) -> Int64s:
        """Links between pairs of nodes, (n,), where messages are not looked at one by one."""
        return self.hops(source, target, self.through_of_pairs(source, target))

    def routes_of_pairs(self, source: Int64s, target: Int64s) -> Routes:
        """Return the routes of pairs, link by link."""
        return self.routes(source, target, self.through_of_pairs(source, target))

    def through_of_pairs(self, source: Int64s, target: Int64s) -> Int64s | None:
        """Return a random node for each pair, if its messages always go through some."""
        return None

    def hops(self, source: Int64s, target: Int64s, through: Int64s | None = None) -> Int64s:
        """Links of the routes of pairs of nodes, or of those through others; shapes (n,)."""
        if through is None:
            return self._topology.hops(source, target)
        return hops_through(self._topology, source, target, through)

    def routes(self, source: Int64s, target: Int64s, through: Int64s | None = None) -> Routes:
        """Return these routes, link by link."""
        if through is not None:
            return routes_through(self._topology, source, target, through)
        return self._topology.routes(source, target)

    def alternatives(
        self, route: Int32s, other: Int32s, start: Int64s, station: Int32s, has_ends: bool
    ) -> AlternativeRoutes | None:
        """Return the other route of every operation with a ``route``, and how messages choose, if they do."""
        return None

    def numbers(self, source: Int64s, target: Int64s) -> NDArray[np.uint64]:
        """Return a random number for each pair, the same whatever else is sent."""
        pair = source.astype(np.uint64) * np.uint64(self._topology.node_count) + target.astype(np.uint64)
        return mixed(pair ^ self._key)


class EcmpChoice(RouteChoice):
    """Any minimal route, the same one for each pair."""

    def routes(self, source: Int64s, target: Int64s, through: Int64s | None = None) -> Routes:
        return spread_routes(self._topology, source, target, self.numbers(source, target))


class ValiantChoice(RouteChoice):
    """A random node for each message."""

    is_by_message = True

    def through_of_pairs(self, source: Int64s, target: Int64s) -> Int64s:
        return (self.numbers(source, target) % np.uint64(self._topology.node_count)).astype(np.int64)


class UgalChoice(RouteChoice):
    """The route of the pair, or one through a random node."""

    is_by_message = has_alternatives = True

    def alternatives(
        self, route: Int32s, other: Int32s, start: Int64s, station: Int32s, has_ends: bool
    ) -> AlternativeRoutes:
        rule = self._network.routing
        assert isinstance(rule, Ugal)
        return alternatives(route, other, start, station, has_ends, rule)


#: Class of the description -> how routes are drawn.
ROUTE_CHOICES: Registry[Any, type[RouteChoice]] = Registry("route choice", __name__, ENTRY_POINTS)
for _routing, _choice in ((Minimal, RouteChoice), (Ecmp, EcmpChoice), (Valiant, ValiantChoice), (Ugal, UgalChoice)):
    ROUTE_CHOICES.add(_routing, _choice)


def route_choice(network: Network, seed: int) -> RouteChoice:
    """Return the routes of a network, by its ``routing`` and the seed."""
    return ROUTE_CHOICES.of(network.routing)(network, seed)


def alternatives(
    route: Int32s, other: Int32s, start: Int64s, station: Int32s, has_ends: bool, ugal: Ugal
) -> AlternativeRoutes:
    """Return the alternatives of all operations with a ``route``.

    The row ``other`` of the routes, unless it is the same way.

    ``start`` and ``station`` are as in ``Routes``; with ``has_ends`` the first and the last station of each are
    interfaces.
    """
    sends = np.flatnonzero(route != NONE)
    first, second = route[sends].astype(np.int64), other[sends].astype(np.int64)
    # A way that comes by the end of the other before its own is none to choose.
    length = np.minimum(start[first + 1] - start[first], start[second + 1] - start[second]) - has_ends
    fork = np.zeros(len(sends), np.int64)
    together = np.arange(len(sends))
    while len(together):
        together = together[fork[together] < length[together]]
        here = fork[together]
        alike = station[start[first[together]] + here] == station[start[second[together]] + here]
        together = together[alike]
        fork[together] += 1
    differs = fork < length
    chosen, place = np.full(len(route), NONE, np.int32), np.zeros(len(route), np.int32)
    chosen[sends[differs]] = second[differs]
    place[sends] = fork
    links = (np.diff(start) - 2 * has_ends).astype(np.int32)
    return AlternativeRoutes(chosen, place, links, ugal.threshold, ugal.queues == ALONG_ROUTE)
