"""Dragonfly+: groups of leaf and spine switches, joined by cables between spines."""

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
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.describe.topology.low_diameter.global_links import (
    ARRANGEMENT,
    CONSECUTIVE,
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
class DragonflyPlusTopology(RouterTopology):
    """A.

    Shpiner, Z. Haramaty, S. Eliad, V. Zdornov, B. Gafni, E. Zahavi, "Dragonfly+: Low cost topology for scaling
    datacenters", HiPINEB 2017.

    A group has ``leaves`` leaf switches with ``terminals`` hosts each, and ``spines`` spine switches with
    ``global_links`` ports for other groups each; every leaf is joined with every spine of its group. The hosts fill
    groups, of which there are at most spines x global_links + 1; ``GlobalLinks`` defines how they are joined; its
    routers are the spines. Switches are numbered group by group, all leaves before all spines.

    Routes go up to a spine, over one cable if the destination is in another group, and down: within a group over
    spine (target mod spines), otherwise over the cable (target mod cables) of those that join the two groups. No way is
    shorter.
    """

    kind: ClassVar[str] = "dragonfly_plus"
    options: ClassVar[tuple[Key, ...]] = (
        Key("terminals", Whole(1), "hosts of a leaf switch"),
        Key("leaves", Whole(1), "leaf switches of a group"),
        Key("spines", Whole(1), "spine switches of a group"),
        Key("global_links", Whole(1), "ports of a spine switch for links to other groups"),
        ARRANGEMENT,
        *SPEEDS,
    )
    leaves: int
    spines: int
    global_links: int
    arrangement: str = CONSECUTIVE
    bandwidth: tuple[float, ...] | None = None
    latency: tuple[float, ...] | None = None

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> DragonflyPlusTopology:
        """Build it of whole groups; bandwidths (B/s) and latencies (s): of hosts, within groups and between groups."""
        about = {
            "terminals": "hosts of a leaf",
            "leaves": "of a group",
            "spines": "of a group",
            "global_links": "of a spine",
        }
        terminals, leaves, spines, ports = checked_numbers(cls.kind, options, about, place)
        check_multiple(node_count, terminals * leaves, "groups", place)
        arrangement = options.get("arrangement", CONSECUTIVE)
        check_global_links(node_count // (terminals * leaves), spines * ports, arrangement, place)
        bandwidth, latency = checked_speeds(options, 2, place)
        return cls(node_count, terminals, leaves, spines, ports, arrangement, bandwidth, latency)

    def options_for(self, node_count: int) -> dict[str, Any]:
        """Return groups of the same kind, or the largest smaller ones that ``node_count`` hosts fill.

        With as many global links as reach all of them, if these are more.
        """
        terminals = largest_divisor(node_count, self.terminals)
        leaves = largest_divisor(node_count // terminals, self.leaves)
        ports = max(self.global_links, -(-(node_count // (terminals * leaves) - 1) // self.spines))
        sizes = {"terminals": terminals, "leaves": leaves, "global_links": ports}
        return {**super().options_for(node_count), **sizes}

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return self.node_count // (self.terminals * self.leaves)

    @cached_property
    def between_groups(self) -> GlobalLinks:
        """The cables between spines."""
        return GlobalLinks(self.groups, self.spines * self.global_links, self.global_links, self.arrangement)

    def facts(self) -> list[tuple[str, str]]:
        own = [
            ("groups", f"{self.groups:,}"),
            ("cables between two groups", f"{self.between_groups.cables_per_pair:,}"),
        ]
        return [*super().facts(), *own]

    @property
    def router_count(self) -> int:
        return self.groups * (self.leaves + self.spines)

    @property
    def router_links(self) -> Mapping[str, int]:
        return {"within groups": 2 * self.edge_routers * self.spines, "between groups": self.between_groups.link_count}

    @property
    def router_diameter(self) -> int:
        return 3 if self.groups > 1 else 2 if self.leaves > 1 else 0

    def router_hop_sum(self) -> int:
        inside = self.leaves * (self.leaves - 1)
        return self.groups * (2 * inside + 3 * (self.groups - 1) * self.leaves**2)

    def router_hops(self, source: IntArray, target: IntArray) -> IntArray:
        far = source // self.leaves != target // self.leaves
        return np.where(far, 3, 2 * (source != target))

    def router_step(self, at: IntArray, target: IntArray, host: IntArray) -> tuple[IntArray, IntArray]:
        is_leaf, links = at < self.edge_routers, self.between_groups
        group = np.where(is_leaf, at // self.leaves, (at - self.edge_routers) // self.spines)
        spine = (at - self.edge_routers) % self.spines
        other, far = target // self.leaves, group != target // self.leaves
        cable = host % max(1, links.cables_per_pair)
        # For a pair within a group nothing leads to the other one; any other group does for the arithmetic.
        away = np.where(far, other, (group + 1) % max(2, self.groups))
        up = np.where(far, links.router(group, away, cable), host % self.spines)
        enter = links.router(away, group, cable)
        first_down, first_far = self.edge_routers * self.spines, self.router_links["within groups"]
        ahead = self.edge_routers + np.where(is_leaf, group * self.spines + up, other * self.spines + enter)
        link = np.where(is_leaf, at * self.spines + up, first_far + links.link(group, away, cable))
        down = ~is_leaf & ~far
        following = np.where(down, target, ahead)
        return following, np.where(down, first_down + target * self.spines + spine, link)

    def router_link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        half = self.edge_routers * self.spines
        leaf, spine = np.divmod(link % half, self.spines)
        above = self.edge_routers + leaf // self.leaves * self.spines + spine
        tail, head = np.where(link < half, leaf, above), np.where(link < half, above, leaf)
        far = np.flatnonzero(link >= 2 * half)
        begin, end, cable = self.between_groups.ends(link[far] - 2 * half)
        tail[far] = self.edge_routers + begin * self.spines + self.between_groups.router(begin, end, cable)
        head[far] = self.edge_routers + end * self.spines + self.between_groups.router(end, begin, cable)
        return tail, head

    def parallel_of(self, link: int) -> int | None:
        inner, cables = self.router_links["within groups"], self.between_groups.cables_per_pair
        return (link - inner) % cables if link >= inner and cables > 1 else None
