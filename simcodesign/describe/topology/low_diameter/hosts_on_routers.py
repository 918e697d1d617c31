"""Base of networks of low diameter: hosts on routers, routes from router to router, and a cut through the middle."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.key import Key
from simcodesign.describe.topology.base import MAX_HOSTS, ROUTINGS, Topology, checked_whole
from simcodesign.describe.topology.hardware import Hardware, hosts_on_switches
from simcodesign.describe.topology.link_group import (
    DIMENSION_OF,
    LinkGroup,
    checked_values,
    link_groups,
    values_of_links,
)
from simcodesign.describe.topology.link_loads import BoolArray, IntArray

#: From routers to routers, with the hosts there or what else decides between equal ways: next routers and links.
RouterStep = Callable[[IntArray, IntArray, IntArray], tuple[IntArray, IntArray]]
#: Number of links up to which the cut of a network is counted link by link.
MOST_COUNTED_LINKS = 2**25
#: Options of all these networks: values of the links of hosts first, then of each kind of links between routers.
SPEEDS = tuple(
    Key(name, values_of_links(name), "of the links of hosts, and of each kind of others", default)
    for name, default in (("bandwidth", "as `network.link_bandwidth`"), ("latency", "as `network.hop_latency`"))
)


@dataclass(frozen=True)
class RouterTopology(Topology):
    """Routers, of which the first node_count / terminals have ``terminals`` hosts each, in the order of the hosts.

    Vertex ``node_count + r`` is router r. Links 2i and 2i + 1 lead from host i to its router and back; the others join
    routers. Hops count all links: a message to another host of the same router takes two, and what publications
    call the hops between routers is two fewer.

    A subclass has the abstract members: everything that happens between routers.
    """

    routings: ClassVar[tuple[str, ...]] = ROUTINGS
    terminals: int

    @property
    @abstractmethod
    def router_count(self) -> int:
        """Routers with and without hosts."""

    @property
    @abstractmethod
    def router_links(self) -> Mapping[str, int]:
        """Number of directed links of each kind between routers, in the order of their numbers."""

    @property
    @abstractmethod
    def router_diameter(self) -> int:
        """Most links on a route between two routers with hosts."""

    @abstractmethod
    def router_hop_sum(self) -> int:
        """Links between routers, summed over the routes of all ordered pairs of routers with hosts."""

    @abstractmethod
    def router_hops(self, source: IntArray, target: IntArray) -> IntArray:
        """Links on the route between routers with hosts, shapes (n,)."""

    @abstractmethod
    def router_step(self, at: IntArray, target: IntArray, host: IntArray) -> tuple[IntArray, IntArray]:
        """Return the next router, and the link to it, on the route from routers ``at`` to routers ``target``.

        The link is among links between routers, and ``host`` is at ``target``; shapes (n,), ``at != target``
        everywhere.
        """

    @abstractmethod
    def router_link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        """Return the routers at which links between routers, shape (n,), begin and end."""

    def parallel_of(self, link: int) -> int | None:
        """Which of several links between the same routers this one is; None if there is one alone.

        Links are those between routers.
        """
        return None

    @property
    def vertex_count(self) -> int:
        return self.node_count + self.router_count

    @property
    def edge_routers(self) -> int:
        """Routers with hosts."""
        return self.node_count // self.terminals

    @property
    def link_count(self) -> int:
        return 2 * self.node_count + sum(self.router_links.values())

    @property
    def hardware(self) -> Hardware:
        return hosts_on_switches(self)

    @cached_property
    def link_groups(self) -> tuple[LinkGroup, ...]:
        """The links of hosts, and links of each kind between routers."""
        kinds = {"hosts": 2 * self.node_count, **self.router_links}
        bandwidth, latency = getattr(self, "bandwidth", None), getattr(self, "latency", None)
        return link_groups(kinds, [*kinds.values()], bandwidth, latency)

    def group_of(self, link: IntArray) -> IntArray:
        return np.searchsorted(self._group_ends, link, side="right").astype(np.int64)

    @cached_property
    def _group_ends(self) -> IntArray:
        return np.cumsum([group.links for group in self.link_groups[:-1]], dtype=np.int64)

    def facts(self) -> list[tuple[str, str]]:
        return [*super().facts(), ("routers in all", f"{self.router_count:,}")]

    @property
    def diameter(self) -> int:
        return 0 if self.node_count == 1 else 2 + self.router_diameter

    def mean_hops(self) -> float:
        pairs = self.node_count * (self.node_count - 1)
        return 2 + self.terminals**2 * self.router_hop_sum() / pairs if pairs else 0.0

    @cached_property
    def bisection_width(self) -> int:
        """Return the smaller of two cuts.

        The links of half of the hosts, and those that join the first half of the hosts and their routers with the
        others (``cut_in_order``).
        """
        half = self.node_count // 2
        if self.node_count == 1 or self.link_count > MOST_COUNTED_LINKS:
            return half
        return min(half, cut_in_order(self))

    @property
    def bisection_exact(self) -> bool:
        return self.node_count <= 2

    def distance_hops(self, source: IntArray, target: IntArray) -> IntArray:
        source, target = np.broadcast_arrays(source, target)
        between = self.router_hops((source // self.terminals).ravel(), (target // self.terminals).ravel())
        hops: IntArray = 2 * (source != target) + between.reshape(source.shape)
        return hops

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        return self._step(at, target, self.router_step, target)

    def spread_step(self, at: IntArray, target: IntArray, draw: IntArray) -> tuple[IntArray, IntArray]:
        """Choose by ``draw`` among parallel cables, and among several routes of the same length between routers."""
        return self._step(at, target, self.spread_router_step, draw)

    def spread_router_step(self, at: IntArray, target: IntArray, draw: IntArray) -> tuple[IntArray, IntArray]:
        """Like ``router_step``, by the minimal route that ``draw`` picks, instead of the host."""
        return self.router_step(at, target, draw)

    def turns_at(self, at: IntArray, through: IntArray) -> BoolArray:
        """At the router of the host."""
        turns: BoolArray = at == through // self.terminals + self.node_count
        return turns

    def _step(self, at: IntArray, target: IntArray, between: RouterStep, by: IntArray) -> tuple[IntArray, IntArray]:
        """Return a step, that between routers by ``between``, which also looks at ``by``: a host, or a number."""
        following, link = at // self.terminals + self.node_count, 2 * at
        inner = np.flatnonzero(at >= self.node_count)
        router, host = at[inner] - self.node_count, target[inner]
        goal = host // self.terminals
        arrives = router == goal
        there = inner[arrives]
        following[there], link[there] = target[there], 2 * target[there] + 1
        on = ~arrives
        reached, taken = between(router[on], goal[on], by[inner[on]])
        following[inner[on]], link[inner[on]] = reached + self.node_count, taken + 2 * self.node_count
        return following, link

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        host = link // 2
        lower, upper, up = host.copy(), self.node_count + host // self.terminals, link % 2 == 0
        tail, head = np.where(up, lower, upper), np.where(up, upper, lower)
        inner = np.flatnonzero(link >= 2 * self.node_count)
        begin, end = self.router_link_ends(link[inner] - 2 * self.node_count)
        tail[inner], head[inner] = begin + self.node_count, end + self.node_count
        return tail, head

    def link_name(self, link: int) -> str:
        """Return the ends of the link, and which of several parallel ones it is."""
        name = super().link_name(link)
        place = self.parallel_of(link - 2 * self.node_count) if link >= 2 * self.node_count else None
        return name if place is None else f"{name} #{place}"


def cut_in_order(network: Topology) -> int:
    """Undirected links that are cut when the first half of the hosts is on one side and the others are on the other.

    Every router joins the side of most of its neighbours: routers with hosts first, then neighbours of routers with a
    side, and so on; if it makes no difference, the first half.
    """
    tail, head = network.link_ends(np.arange(network.link_count, dtype=np.int64))
    side = np.zeros(network.vertex_count, dtype=np.int8)
    side[: network.node_count] = np.where(np.arange(network.node_count) < network.node_count // 2, -1, 1)
    while not side.all():
        score = np.bincount(tail, weights=side[head], minlength=network.vertex_count)
        chosen: NDArray[np.bool_] = (side == 0) & (score != 0)
        if not chosen.any():
            chosen, score = side == 0, np.full(network.vertex_count, -1.0)
        side[chosen] = np.sign(score[chosen]).astype(np.int8)
    return int(np.count_nonzero(side[tail] != side[head])) // 2


def checked_speeds(
    options: Mapping[str, Any], kinds: int, place: Place | None
) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    """Return the options bandwidth (B/s) and latency (s).

    One value for the links of hosts and one for each other kind.
    """
    bandwidth, latency = (
        checked_values(options.get(name), name, kinds + 1, "kind of links", place) for name in DIMENSION_OF
    )
    return bandwidth, latency


def checked_numbers(kind: str, options: Mapping[str, Any], names: Mapping[str, str], place: Place | None) -> list[int]:
    """Options that a kind of network needs, whole numbers from 1 on; ``names``: what each is, for the InputError."""
    missing = [f"{name} ({about})" for name, about in names.items() if name not in options]
    if missing:
        raise InputError(f"{kind} needs {', '.join(missing)}", place, allowed="whole numbers from 1 on")
    return [checked_whole(options[name], name, MAX_HOSTS, place) for name in names]


def largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of a number that is at most so large."""
    return next(divisor for divisor in range(min(most, number), 0, -1) if number % divisor == 0)


def check_multiple(node_count: int, of: int, what: str, place: Place | None) -> None:
    """InputError unless the hosts fill whole routers or groups, ``what``, of ``of`` hosts."""
    if node_count % of:
        below = node_count // of * of
        allowed = f"a multiple of {of}, e.g. {below or of} or {below + of if below else 2 * of}"
        raise InputError(f"node_count does not fill {what} of {of} hosts", place, value=node_count, allowed=allowed)
