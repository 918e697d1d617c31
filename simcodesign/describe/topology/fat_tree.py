"""Fat tree: a tree of switches with as many cables between neighbouring levels as there are hosts below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.topology.base import register_topology
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.describe.topology.options import MAX_HOSTS, Option, checked_whole, whole
from simcodesign.describe.topology.tree import UpDownTopology


@register_topology
@dataclass(frozen=True)
class FatTreeTopology(UpDownTopology):
    """k-ary n-tree (F. Petrini and M. Vanneschi, IPPS 1997): n levels of k^(n-1) switches, up to k^n hosts.

    Switch w (n-1 digits) of level l is joined to the k switches of level l + 1 that differ in digit l at
    most; host p hangs on switch p // k of level 0. Above a host, digit l of the switches is digit l + 1 of
    the host. A route turns at the nearest common ancestor; on the way up, level l takes port (destination //
    k^l) mod k (d-mod-k: E. Zahavi, JPDC 72, 2012), so that shifts meet on no link. Cable c is the links 2c
    (up) and 2c + 1 (down); the cables of the hosts come first.
    """

    kind: ClassVar[str] = "fat_tree"
    options: ClassVar[tuple[Option, ...]] = (Option("arity", "ports up, and ports down, of a switch", whole(low=2)),)

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> FatTreeTopology:
        """Of switches with ``arity`` ports up and as many down, in as many levels as the hosts need."""
        if "arity" not in options:
            raise InputError("fat_tree needs an arity (ports up and down of a switch)", place, allowed="arity >= 2")
        return cls(node_count, checked_whole(options["arity"], "arity", MAX_HOSTS, place, least=2))

    @property
    def switches_per_level(self) -> int:
        return int(self.arity ** (self.levels - 1)) if self.levels else 0

    @property
    def vertex_count(self) -> int:
        return self.node_count + self.levels * self.switches_per_level

    @property
    def link_count(self) -> int:
        if not self.levels:
            return 0
        cables_above = (self.levels - 1) * self.switches_per_level * self.arity
        return 2 * (self.node_count + cables_above)

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
        following, link = at // self.arity + self.node_count, 2 * at
        inner = np.flatnonzero(at >= self.node_count)
        following[inner], link[inner] = self._step_from_switch(at[inner] - self.node_count, target[inner])
        return following, link

    def _step_from_switch(self, switch: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        level, word = np.divmod(switch, self.switches_per_level)
        power = self._power[level]
        is_down = target // (power * self.arity) == word // power
        arrives = is_down & (level == 0)
        low = np.where(is_down, np.maximum(level - 1, 0), level)  # lower end's level = digit to change
        unit = self._power[low]
        wanted = target // np.where(is_down, unit * self.arity, unit) % self.arity
        old = word // unit % self.arity
        other = word + (wanted - old) * unit
        cable = self._cable(low, np.where(is_down, other, word), np.where(is_down, old, wanted))
        other_level = np.where(is_down, low, low + 1)
        reached = self.node_count + other_level * self.switches_per_level + other
        return np.where(arrives, target, reached), np.where(arrives, 2 * target + 1, 2 * cable + is_down)

    def _cable(self, level: IntArray, lower: IntArray, port: IntArray) -> IntArray:
        """The cable from up port ``port`` of switch ``lower`` of a level."""
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
