"""Dragonfly: groups of routers, all joined with each other within a group, and all groups with each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from simcodesign.core.errors import Place
from simcodesign.describe.keys.forms import Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.topology.base import register_topology
from simcodesign.describe.topology.link_loads import BoolArray, IntArray
from simcodesign.describe.topology.low_diameter.global_links import (
    ARRANGEMENT,
    CONSECUTIVE,
    PALMTREE,
    GlobalLinks,
    check_global_links,
)
from simcodesign.describe.topology.low_diameter.hosts_on_routers import (
    SPEEDS,
    RouterTopology,
    check_multiple,
    checked_numbers,
    checked_speeds,
    largest_divisor,
)


@register_topology
@dataclass(frozen=True)
class DragonflyTopology(RouterTopology):
    """J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008.

    It has p = ``terminals`` hosts on each of a = ``routers`` routers of a group, with h = ``global_links`` ports for
    other groups on each. The hosts fill groups of a p, of which there are at most a h + 1; how they are joined, also if
    there are fewer, is defined by ``GlobalLinks``. Router x of group i is router a i + x.

    Routes are minimal as published: a link within the group to the router that has the global link, that link, and one
    within the other group. Among several global links between two groups, those on which this takes the fewest hops
    count, and of these the first one from number (target mod cables) on. A way over a third group may be shorter by one
    hop, if it needs no links within groups; no minimal route takes it.
    """

    kind: ClassVar[str] = "dragonfly"
    options: ClassVar[tuple[Key, ...]] = (
        Key("terminals", Whole(1), "hosts of a router"),
        Key("routers", Whole(1), "routers of a group"),
        Key("global_links", Whole(1), "ports of a router for links to other groups"),
        ARRANGEMENT,
        *SPEEDS,
    )
    detour_hops: ClassVar[int] = 1
    routers: int
    global_links: int
    arrangement: str = CONSECUTIVE
    bandwidth: tuple[float, ...] | None = None
    latency: tuple[float, ...] | None = None

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> DragonflyTopology:
        """Build it of whole groups; bandwidths (B/s) and latencies (s): of hosts, within groups and between groups."""
        about = {"terminals": "hosts of a router", "routers": "of a group", "global_links": "of a router"}
        terminals, routers, ports = checked_numbers(cls.kind, options, about, place)
        check_multiple(node_count, terminals * routers, "groups", place)
        arrangement = options.get("arrangement", CONSECUTIVE)
        check_global_links(node_count // (terminals * routers), routers * ports, arrangement, place)
        bandwidth, latency = checked_speeds(options, 2, place)
        return cls(node_count, terminals, routers, ports, arrangement, bandwidth, latency)

    def options_for(self, node_count: int) -> dict[str, Any]:
        """Return groups of the same kind, or the largest smaller ones that ``node_count`` hosts fill.

        With as many global links as reach all of them, if these are more.
        """
        terminals = largest_divisor(node_count, self.terminals)
        routers = largest_divisor(node_count // terminals, self.routers)
        ports = max(self.global_links, -(-(node_count // (terminals * routers) - 1) // routers))
        sizes = {"terminals": terminals, "routers": routers, "global_links": ports}
        return {**super().options_for(node_count), **sizes}

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return self.node_count // (self.terminals * self.routers)

    @cached_property
    def between_groups(self) -> GlobalLinks:
        """The global links."""
        return GlobalLinks(self.groups, self.routers * self.global_links, self.global_links, self.arrangement)

    def facts(self) -> list[tuple[str, str]]:
        own = [
            ("groups", f"{self.groups:,}"),
            ("cables between two groups", f"{self.between_groups.cables_per_pair:,}"),
        ]
        return [*super().facts(), *own]

    @property
    def router_count(self) -> int:
        return self.groups * self.routers

    @property
    def router_links(self) -> Mapping[str, int]:
        return {
            "within groups": self.router_count * (self.routers - 1),
            "between groups": self.between_groups.link_count,
        }

    @property
    def router_diameter(self) -> int:
        return self._hops_between_groups[1] if self.groups > 1 else min(1, self.routers - 1)

    def router_hop_sum(self) -> int:
        return self.router_count * (self.routers - 1) + self._hops_between_groups[0]

    @cached_property
    def _hops_between_groups(self) -> tuple[int, int]:
        """Sum and maximum of the hops over all ordered pairs of routers of different groups.

        Among the a^2 pairs of routers of two groups, both ends of a cable are one hop apart, pairs of which one
        is at the end of a cable two, all others three.
        """
        a, links, every, most = self.routers, self.between_groups, 0, 0
        if links.cables_per_pair == 1:
            return self.groups * (self.groups - 1) * (3 * a * a - 2 * a), 3 if a > 1 else 1
        cable = np.arange(links.cables_per_pair)[:, None]
        alike = self.groups if self.arrangement == PALMTREE else 1  # all groups see the same of each other
        for group in range(0, self.groups, alike):
            other = np.delete(np.arange(self.groups), group)
            here, there = np.broadcast_to(group, other.shape), other
            leave, enter = links.router(here, there, cable), links.router(there, here, cable)
            new_leave, new_enter = np.diff(leave, axis=0) != 0, np.diff(enter, axis=0) != 0
            leaving, entering, pairs = (1 + new.sum(axis=0) for new in (new_leave, new_enter, new_leave | new_enter))
            distant = (a - leaving) * (a - entering)
            every += alike * int((2 * a * a + distant - pairs).sum())
            most = max(most, 3 if distant.any() else 2 if (pairs < a * a).any() else 1)
        return every, most

    def router_hops(self, source: IntArray, target: IntArray) -> IntArray:
        (group, here), (other, there) = np.divmod(source, self.routers), np.divmod(target, self.routers)
        hops: IntArray = (here != there).astype(np.int64)
        far = np.flatnonzero(group != other)
        if far.size:
            group, here, other, there = (part[far] for part in (group, here, other, there))
            _, leave, enter = self._cable(group, here, other, there, np.zeros_like(group))
            hops[far] = 1 + (here != leave) + (there != enter)
        return hops

    def _cable(
        self, group: IntArray, here: IntArray, other: IntArray, there: IntArray, host: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return the cable to take to another group, the router at its begin, and the router at its end."""
        links, best = self.between_groups, np.full(group.shape, np.iinfo(np.int64).max)
        chosen, leave, enter = np.zeros_like(group), np.zeros_like(group), np.zeros_like(group)
        cables = links.cables_per_pair
        for cable in range(cables):
            begin, end = links.router(group, other, cable), links.router(other, group, cable)
            rank = ((here != begin).astype(np.int64) + (there != end)) * cables + (cable - host) % cables
            better = rank < best
            best[better], chosen[better] = rank[better], cable
            leave[better], enter[better] = begin[better], end[better]
        return chosen, leave, enter

    def router_step(self, at: IntArray, target: IntArray, host: IntArray) -> tuple[IntArray, IntArray]:
        (group, here), (other, there) = np.divmod(at, self.routers), np.divmod(target, self.routers)
        goal, link = there.copy(), np.empty_like(at)
        following = target.copy()
        far = np.flatnonzero(group != other)
        crosses = np.zeros(at.shape, dtype=bool)
        if far.size:
            ends = group[far], here[far], other[far], there[far]
            cable, leave, enter = self._cable(*ends, host[far])
            goal[far], crosses[far] = leave, leave == here[far]
            following[far] = np.where(
                crosses[far], other[far] * self.routers + enter, group[far] * self.routers + leave
            )
            link[far] = self.router_links["within groups"] + self.between_groups.link(group[far], other[far], cable)
        inside = ~crosses
        link[inside] = (at * (self.routers - 1) + goal - (goal > here))[inside]
        return following, link

    def turns_at(self, at: IntArray, through: IntArray) -> BoolArray:
        """As soon as they are in the group of the host (Kim et al., ISCA 2008)."""
        group = (at - self.node_count) // self.routers
        turns: BoolArray = (at >= self.node_count) & (group == through // (self.terminals * self.routers))
        return turns

    def router_link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        inner = self.router_links["within groups"]
        tail, place = np.divmod(link, max(1, self.routers - 1))
        group, here = np.divmod(tail, self.routers)
        head = group * self.routers + place + (place >= here)
        far = np.flatnonzero(link >= inner)
        begin, end, cable = self.between_groups.ends(link[far] - inner)
        tail[far] = begin * self.routers + self.between_groups.router(begin, end, cable)
        head[far] = end * self.routers + self.between_groups.router(end, begin, cable)
        return tail, head

    def parallel_of(self, link: int) -> int | None:
        inner, cables = self.router_links["within groups"], self.between_groups.cables_per_pair
        return (link - inner) % cables if link >= inner and cables > 1 else None
