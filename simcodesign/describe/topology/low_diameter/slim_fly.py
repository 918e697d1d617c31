"""Slim Fly: routers on a graph of diameter 2 that has nearly as many vertices as any of its degree can have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.forms import Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.topology.base import checked_whole, register_topology
from simcodesign.describe.topology.grid_shape import prime_factors
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.describe.topology.low_diameter.finite_field import FiniteField
from simcodesign.describe.topology.low_diameter.hosts_on_routers import (
    SPEEDS,
    RouterTopology,
    check_multiple,
    checked_speeds,
)

MAX_Q = 1024


@register_topology
@dataclass(frozen=True)
class SlimFlyTopology(RouterTopology):
    """M.

    Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014, on the graphs of McKay,
    Miller and Siran (P. Hafner, "Geometric realisation of the graphs of McKay-Miller-Siran", Journal of
    Combinatorial Theory B 90, 2004).

    ``q`` is a power of a prime, q = 4 w + d with d = -1, 0 or 1. The 2 q^2 routers (s, x, y) are two sets, s = 0 and 1,
    of q groups x of q routers y, elements of the field of q elements; each has (3 q - d) / 2 cables. With two sets of
    differences X_0 and X_1, made of powers of a primitive element,

    * (s, x, y) and (s, x, y') are joined where y - y' is in X_s;
    * (0, x, y) and (1, m, c) are joined where y = m x + c.

    Router (2 x + s) q + y is (s, x, y): group x of both sets is in one rack, as in the publication. Routes are
    shortest. Between routers that are not joined there is one way of two hops if they are of different groups of a set;
    otherwise, of several ways number (target mod ways) is taken.

    The bisection width is the width between the first racks and the others, an upper bound.
    """

    kind: ClassVar[str] = "slim_fly"
    options: ClassVar[tuple[Key, ...]] = (
        Key("q", Whole(1), "a power of a prime: there are 2 q^2 routers", range="a power of a prime from 3 on"),
        *SPEEDS,
    )
    can_be_resized: ClassVar[bool] = False
    q: int
    bandwidth: tuple[float, ...] | None = None
    latency: tuple[float, ...] | None = None

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> SlimFlyTopology:
        """Build it with as many hosts on each of the 2 q^2 routers.

        Bandwidths (B/s) and latencies (s): of hosts, within groups and between groups.
        """
        if "q" not in options:
            raise InputError(
                "slim_fly needs q (there are 2 q^2 routers)", place, allowed="3, 4, 5, 7, 8, 9, 11, 13 ..."
            )
        q = checked_whole(options["q"], "q", MAX_Q, place, least=3)
        if len(set(prime_factors(q))) > 1 or q % 4 == 2:
            raise InputError("a slim_fly cannot have this q", place, value=q, allowed="a power of a prime, from 3 on")
        check_multiple(node_count, 2 * q * q, "the routers, with the same number on each, a round", place)
        bandwidth, latency = checked_speeds(options, 2, place)
        return cls(node_count, node_count // (2 * q * q), q, bandwidth, latency)

    @property
    def router_count(self) -> int:
        return 2 * self.q**2

    @property
    def _within(self) -> int:
        """Cables of a router to others of its group."""
        return (self.q - (self.q + 1) % 4 + 1) // 2

    @property
    def degree(self) -> int:
        """Cables of a router to others."""
        return self._within + self.q

    def facts(self) -> list[tuple[str, str]]:
        own = [("hosts of a router", str(self.terminals)), ("cables of a router to others", str(self.degree))]
        return [*super().facts(), *own]

    @property
    def router_links(self) -> Mapping[str, int]:
        return {"within groups": self.router_count * self._within, "between groups": self.router_count * self.q}

    @property
    def router_diameter(self) -> int:
        return 2

    def router_hop_sum(self) -> int:
        return self.router_count * (2 * (self.router_count - 1) - self.degree)

    @cached_property
    def field(self) -> FiniteField:
        """The field of q elements."""
        return FiniteField(self.q)

    @cached_property
    def differences(self) -> IntArray:
        """X_0 and X_1 in ascending order, shape (2, n): of routers that are joined within a group."""
        if self.q % 4 == 3:
            w = (self.q + 1) // 4
            exponents = np.concatenate([np.arange(0, 2 * w, 2), np.arange(2 * w - 1, 4 * w - 2, 2)])
        else:
            exponents = np.arange(0, self.q - 1, 2)
        both = exponents, exponents + 1
        return np.sort(np.stack([self.field.power[exponent % (self.q - 1)] for exponent in both]), axis=1)

    @cached_property
    def _place(self) -> IntArray:
        """(2, q): which of the differences of a set an element is; -1 if it is none."""
        place = np.full((2, self.q), -1, dtype=np.int64)
        for one, row in zip(self.differences, place, strict=True):
            row[one] = np.arange(len(one))
        return place

    @cached_property
    def _halfway(self) -> tuple[IntArray, IntArray]:
        """Differences that are the first of two that add up to an element, (2, q, most), and how many, (2, q)."""
        rest = self.field.difference[:, self.differences]  # (q, 2, n)
        works: NDArray[np.bool_] = self._place[np.arange(2)[:, None], rest] >= 0
        works = works.swapaxes(0, 1)
        first = np.argsort(~works, axis=-1, kind="stable")
        return self.differences[np.arange(2)[:, None, None], first], works.sum(axis=-1)

    def _parts(self, router: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Set, group and place in the group."""
        group, place = np.divmod(router, self.q)
        return group % 2, group // 2, place

    def _number(self, of_set: IntArray, group: IntArray, place: IntArray) -> IntArray:
        return (2 * group + of_set) * self.q + place

    def _joined(self, router: IntArray, group: IntArray) -> IntArray:
        """Return the place, in that group of the other set, of the router that this one is joined with."""
        of_set, own, place = self._parts(router)
        product = self.field.product[own, group]
        return np.where(of_set == 0, self.field.difference[place, product], self.field.sum[product, place])

    def router_hops(self, source: IntArray, target: IntArray) -> IntArray:
        return np.where(source == target, 0, np.where(self._are_joined(source, target), 1, 2))

    def _are_joined(self, one: IntArray, other: IntArray) -> NDArray[np.bool_]:
        (of_set, group, place), (other_set, other_group, other_place) = self._parts(one), self._parts(other)
        near = self._place[of_set, self.field.difference[place, other_place]] >= 0
        across = self._joined(one, other_group) == other_place
        joined: NDArray[np.bool_] = np.where(of_set == other_set, (group == other_group) & near, across)
        return joined

    def router_step(self, at: IntArray, target: IntArray, host: IntArray) -> tuple[IntArray, IntArray]:
        following = np.where(self._are_joined(at, target), target, self._between(at, target, host))
        of_set, _, place = self._parts(at)
        next_set, next_group, next_place = self._parts(following)
        within = at * self._within + self._place[of_set, self.field.difference[next_place, place]]
        across = self.router_links["within groups"] + at * self.q + next_group
        return following, np.where(of_set == next_set, within, across)

    def _between(self, at: IntArray, target: IntArray, host: IntArray) -> IntArray:
        """Return the router in the middle between routers that are not joined."""
        field = self.field
        (of_set, group, place), (other_set, other_group, other_place) = self._parts(at), self._parts(target)
        apart = field.difference[other_place, place]
        differences, ways = self._halfway
        step = differences[of_set, apart, host % np.maximum(ways[of_set, apart], 1)]
        same_group = self._number(of_set, group, field.sum[place, step])
        # Two groups of one set: the router of the other set on whose line both lie.
        slope = np.where(
            of_set == 0,
            field.quotient[apart, field.difference[other_group, group]],
            field.quotient[field.difference[place, other_place], field.difference[other_group, group]],
        )
        same_set = self._number(1 - of_set, slope, self._joined(at, slope))
        # The other set: first within the own group, or first across, to the group of the target.
        wanted = self._joined(target, group)
        inside_first = self._place[of_set, field.difference[wanted, place]] >= 0
        reached = self._joined(at, other_group)
        across_first = self._place[other_set, field.difference[other_place, reached]] >= 0
        inside = inside_first & (~across_first | (host % 2 == 0))
        other_ways = np.where(
            inside, self._number(of_set, group, wanted), self._number(other_set, other_group, reached)
        )
        return np.where(of_set != other_set, other_ways, np.where(group == other_group, same_group, same_set))

    def router_link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        inner = self.router_links["within groups"]
        is_inner = link < inner
        tail = np.where(is_inner, link // self._within, (link - inner) // self.q)
        of_set, group, place = self._parts(tail)
        step = self.differences[of_set, np.where(is_inner, link % self._within, 0)]
        other = (link - inner) % self.q
        near = self._number(of_set, group, self.field.sum[place, step])
        across = self._number(1 - of_set, other, self._joined(tail, other))
        return tail, np.where(is_inner, near, across)
