"""Fat tree: a tree of switches with as many cables between neighbouring levels as there are hosts below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.forms import OneOf, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.topology.base import ECMP, MAX_HOSTS, MINIMAL, checked_whole, register_topology
from simcodesign.describe.topology.link_group import LinkGroup, LinkValue, checked_values, link_groups, values_of_links
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.describe.topology.tree import UpDownTopology


@register_topology
@dataclass(frozen=True)
class FatTreeTopology(UpDownTopology):
    """k-ary n-tree (F. Petrini and M. Vanneschi, IPPS 1997): n levels of k^(n-1) switches, up to k^n hosts.

    Switch w (n-1 digits) of level l is joined to the k switches of level l + 1 that differ in digit l at
    most; host p hangs on switch p // k of level 0. Above a host, digit l of the switches is digit l + 1 of
    the host. A route turns at the nearest common ancestor; upwards, level l takes port (destination //
    k^l) mod k (d-mod-k: E. Zahavi, JPDC 72, 2012), so that shifts meet on no link. Cable c is the links 2c
    (up) and 2c + 1 (down); the cables of the hosts come first.

    Links of level 0 join hosts and switches of level 0; links of level l join switches of level l - 1 and l. All of a
    level are alike, up and down: each has the ``bandwidth`` and ``latency`` of the level, or the bandwidth of the
    machine's links divided by its ``taper``. The numbers of switches and links stay the same.
    """

    kind: ClassVar[str] = "fat_tree"
    routings: ClassVar[tuple[str, ...]] = (MINIMAL, ECMP)
    options: ClassVar[tuple[Key, ...]] = (
        Key("arity", Whole(2), "ports up, and ports down, of a switch"),
        Key("bandwidth", values_of_links("bandwidth"), "of the links of each level", "as `network.link_bandwidth`"),
        Key("latency", values_of_links("latency"), "of the links of each level", "as `network.hop_latency`"),
        Key(
            "taper",
            OneOf(LinkValue("taper"), values_of_links("taper")),
            "by what bandwidths of each level are divided; a number: of all levels above the hosts' own links",
            "1",
        ),
    )
    bandwidth: tuple[float, ...] | None = None
    latency: tuple[float, ...] | None = None
    taper: tuple[float, ...] | None = None

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> FatTreeTopology:
        """Build it from switches with ``arity`` ports up and as many down, in as many levels as the hosts need.

        Links of each level have the bandwidth (B/s) and latency (s) given, or a fraction of the bandwidth of the
        machine's network.
        """
        if "arity" not in options:
            raise InputError("fat_tree needs an arity (ports up and down of a switch)", place, allowed="arity >= 2")
        if options.get("bandwidth") is not None and options.get("taper") is not None:
            what = "bandwidth and taper both say how fast the links of a level are"
            raise InputError(what, place, value=options["taper"], allowed="one of them")
        tree = cls(node_count, checked_whole(options["arity"], "arity", MAX_HOSTS, place, least=2))
        given = dict(options)
        if isinstance(options.get("taper"), int | float):
            given["taper"] = [1.0, *[options["taper"]] * (tree.levels - 1)][: tree.levels]
        bandwidth, latency, taper = (
            checked_values(given.get(name), name, tree.levels, "level", place)
            for name in ("bandwidth", "latency", "taper")
        )
        return replace(tree, bandwidth=bandwidth, latency=latency, taper=taper)

    def options_for(self, node_count: int) -> dict[str, Any]:
        """With more levels, those added on top are like the highest one; with fewer, the highest ones are left out."""
        levels, options = FatTreeTopology(node_count, self.arity).levels, super().options_for(node_count)
        return {
            name: (value + value[-1:] * levels)[:levels] if isinstance(value, tuple) else value
            for name, value in options.items()
        }

    def facts(self) -> list[tuple[str, str]]:
        """Also levels, and the number of places without a host; their switches and links exist all the same."""
        places, levels = int(self.arity**self.levels), f"{self.levels}, of {self.switches_per_level:,} switches each"
        empty = f"{self.node_count:,} of {places:,} taken; switches and links are counted for the whole tree"
        return [*super().facts(), ("levels", levels), *([("places", empty)] if self.node_count < places else [])]

    @property
    def switches_per_level(self) -> int:
        """Return the number of switches of each level."""
        return int(self.arity ** (self.levels - 1)) if self.levels else 0

    @property
    def vertex_count(self) -> int:
        return self.node_count + self.levels * self.switches_per_level

    @property
    def link_count(self) -> int:
        return sum(group.links for group in self.link_groups)

    @cached_property
    def link_groups(self) -> tuple[LinkGroup, ...]:
        """The links of each tier, a word of its own since machines have levels too."""
        names = [f"tier {level}" for level in range(self.levels)]
        links = [
            2 * (self.switches_per_level * self.arity if level else self.node_count) for level in range(self.levels)
        ]
        return link_groups(names, links, self.bandwidth, self.latency, self.taper)

    def group_of(self, link: IntArray) -> IntArray:
        above = link // 2 - self.node_count
        return np.where(above < 0, 0, above // max(1, self.switches_per_level * self.arity) + 1)

    @property
    def bisection_width(self) -> int:
        """Half of the hosts, rounded down, and exact.

        Cutting the cables of the smaller half does it. Fewer cannot: k-ary n-trees are rearrangeable (Petrini
        and Vanneschi 1997), so every host of the smaller half has its own path to a host of the other.
        """
        return self.node_count // 2

    @cached_property
    def _power(self) -> IntArray:
        return np.array([self.arity**level for level in range(self.levels + 1)], dtype=np.int64)

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        return self._step(at, target, None)

    def spread_step(self, at: IntArray, target: IntArray, draw: IntArray) -> tuple[IntArray, IntArray]:
        """Up to any switch of the next level, down on the only way that there is."""
        return self._step(at, target, draw)

    def _step(self, at: IntArray, target: IntArray, draw: IntArray | None) -> tuple[IntArray, IntArray]:
        following, link = at // self.arity + self.node_count, 2 * at
        inner = np.flatnonzero(at >= self.node_count)
        port = None if draw is None else draw[inner] % self.arity
        following[inner], link[inner] = self._step_from_switch(at[inner] - self.node_count, target[inner], port)
        return following, link

    def _step_from_switch(self, switch: IntArray, target: IntArray, port: IntArray | None) -> tuple[IntArray, IntArray]:
        """Route by the target's digits; upwards, through ``port`` if there is one."""
        level, word = np.divmod(switch, self.switches_per_level)
        power = self._power[level]
        is_down = target // (power * self.arity) == word // power
        arrives = is_down & (level == 0)
        low = np.where(is_down, np.maximum(level - 1, 0), level)  # lower end's level = digit to change
        unit = self._power[low]
        wanted = target // np.where(is_down, unit * self.arity, unit) % self.arity
        if port is not None:
            wanted = np.where(is_down, wanted, port)
        old = word // unit % self.arity
        other = word + (wanted - old) * unit
        cable = self._cable(low, np.where(is_down, other, word), np.where(is_down, old, wanted))
        other_level = np.where(is_down, low, low + 1)
        reached = self.node_count + other_level * self.switches_per_level + other
        return np.where(arrives, target, reached), np.where(arrives, 2 * target + 1, 2 * cable + is_down)

    def _cable(self, level: IntArray, lower: IntArray, port: IntArray) -> IntArray:
        """Return the cable from up port ``port`` of switch ``lower`` of a level."""
        return self.node_count + (level * self.switches_per_level + lower) * self.arity + port

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        cable = link // 2
        is_host = cable < self.node_count
        switch, port = np.divmod(np.maximum(cable - self.node_count, 0), self.arity)
        level, word = np.divmod(switch, self.switches_per_level)
        unit = self._power[level]
        above = switch + self.switches_per_level + (port - word // unit % self.arity) * unit
        lower = np.where(is_host, cable, self.node_count + switch)
        upper = self.node_count + np.where(is_host, cable // self.arity, above)
        up = link % 2 == 0
        return np.where(up, lower, upper), np.where(up, upper, lower)
