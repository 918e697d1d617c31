"""Mesh and torus: hosts on a grid, routed dimension after dimension, the lowest first."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.keys.forms import Flag, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Items
from simcodesign.describe.topology.base import ROUTINGS, Routes, Topology, register_topology
from simcodesign.describe.topology.grid_shape import checked_shape, similar_shape
from simcodesign.describe.topology.hardware import Hardware, hosts_joined
from simcodesign.describe.topology.link_group import LinkGroup, checked_values, link_groups, values_of_links
from simcodesign.describe.topology.link_loads import BoolArray, IntArray


class Axis(NamedTuple):
    """One dimension of a grid. Cable ``low`` of a line joins the coordinates ``low`` and ``low + 1``."""

    extent: int
    stride: int  # distance in host numbers between neighbours
    cables: int  # cables along one line of hosts
    first: int  # number of the first cable of this dimension

    @property
    def is_ring(self) -> bool:
        """Return whether the last node has a cable to the first one."""
        return self.extent > 2 and self.cables == self.extent

    def coordinate(self, host: IntArray) -> IntArray:
        """Coordinate of hosts along this dimension."""
        return _rest(host // self.stride, self.extent)

    def cable(self, block: IntArray, low: IntArray | int, within: IntArray) -> IntArray:
        """Return the number of cable ``low`` of the line at the place ``within`` a block of this dimension."""
        return self.first + (block * self.cables + low) * self.stride + within


@dataclass(frozen=True)
class GridTopology(Topology):
    """Hosts numbered row by row (last coordinate fastest); cable c is the links 2c (upwards) and 2c + 1."""

    options: ClassVar[tuple[Key, ...]] = (
        Key(
            "shape",
            Items(Whole(1), "nodes or routers in one dimension", make=list),
            "hosts in every dimension",
            "the balanced one",
        ),
        Key("dims", Whole(1), "number of dimensions, instead of a shape: the balanced one, see ``balanced_shape``"),
        Key("bandwidth", values_of_links("bandwidth"), "of the links of each dimension", "as `network.link_bandwidth`"),
        Key("latency", values_of_links("latency"), "of the links of each dimension", "as `network.hop_latency`"),
    )
    shape: tuple[int, ...]
    bandwidth: tuple[float, ...] | None = None
    latency: tuple[float, ...] | None = None

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> GridTopology:
        """Build the grid of the given shape, or the balanced one of ``dims`` dimensions (2, unless given).

        With a bandwidth (B/s) and a latency (s) of the links of each dimension, or the values of the machine's network.
        """
        shape = checked_shape(node_count, options.get("shape"), options.get("dims"), place)
        speeds = {
            name: checked_values(options.get(name), name, len(shape), "dimension", place)
            for name in ("bandwidth", "latency")
        }
        return cls(node_count, shape, **speeds)

    @property
    @abstractmethod
    def closed(self) -> tuple[bool, ...]:
        """Whether lines are rings, for each dimension; of two hosts or one they never are."""

    def options_for(self, node_count: int) -> dict[str, Any]:
        """Return a shape that is as near to this one as the number of hosts allows."""
        same = node_count == self.node_count
        shape = self.shape if same else similar_shape(self.shape, node_count)
        return {**super().options_for(node_count), "shape": shape}

    @property
    def label(self) -> str:
        """Kind and extents, e.g. ``torus 4x4``."""
        return f"{self.kind} {'x'.join(map(str, self.shape))}"

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Return the dimensions, with their strides and first cables."""
        axes: list[Axis] = []
        stride, first = self.node_count, 0
        for extent, is_closed in zip(self.shape, self.closed, strict=True):
            stride //= extent
            cables = extent if is_closed and extent > 2 else extent - 1
            axes.append(Axis(extent, stride, cables, first))
            first += cables * (self.node_count // extent)
        return tuple(axes)

    @property
    def link_count(self) -> int:
        return sum(group.links for group in self.link_groups)

    @property
    def hardware(self) -> Hardware:
        return hosts_joined(self)

    @cached_property
    def link_groups(self) -> tuple[LinkGroup, ...]:
        """The links of each dimension."""
        names = [f"dimension {number}" for number in range(len(self.shape))]
        links = [2 * axis.cables * (self.node_count // axis.extent) for axis in self.axes]
        return link_groups(names, links, self.bandwidth, self.latency)

    def group_of(self, link: IntArray) -> IntArray:
        return np.searchsorted([axis.first for axis in self.axes], link // 2, side="right") - 1

    @property
    def directions(self) -> int:
        return 2 * len(self.shape)

    def direction_of(self, link: IntArray) -> IntArray:
        return 2 * self.group_of(link) + link % 2

    @property
    def diameter(self) -> int:
        return sum(axis.extent // 2 if axis.is_ring else axis.extent - 1 for axis in self.axes)

    @property
    def bisection_width(self) -> int:
        """Links of the best cut by planes, see ``plane_cut``."""
        return plane_cut(tuple((axis.extent, 2 if axis.is_ring else 1) for axis in self.axes))

    def mean_hops(self) -> float:
        if self.node_count == 1:
            return 0.0
        means = (_ring_mean(a.extent) if a.is_ring else _line_mean(a.extent) for a in self.axes)
        return sum(means) * self.node_count / (self.node_count - 1)

    def distance_hops(self, source: IntArray, target: IntArray) -> IntArray:
        total = np.zeros(np.broadcast_shapes(source.shape, target.shape), dtype=np.int64)
        for axis in self.axes:
            total += _hops_along(axis, axis.coordinate(source), axis.coordinate(target))
        return total

    def routes(self, sources: ArrayLike, targets: ArrayLike) -> Routes:
        """As of any topology; not hop after hop, but from the differences of numbers of links that follow one another.

        Along a dimension they differ by the same, except for one hop where a ring begins again.
        """
        source, target = self._pairs(sources, targets)
        hops, first, step, turn, jump = np.zeros((5, source.size, len(self.axes)), dtype=np.int64)
        for number, axis in enumerate(self.axes):
            here, there = axis.coordinate(source), axis.coordinate(target)
            hops[:, number] = _hops_along(axis, here, there)
            up = _goes_up(axis, here, there)
            # Coordinates in dimensions before this one equal the target's already.
            base = 2 * axis.cable(target // (axis.stride * axis.extent), 0, _rest(source, axis.stride)) + ~up
            low = np.where(up, here, here - 1)
            low[low < 0] += axis.extent
            first[:, number] = base + 2 * axis.stride * low
            step[:, number] = np.where(up, 2 * axis.stride, -2 * axis.stride)
            turn[:, number] = np.where(up, axis.extent - here, here)
            turns = (turn[:, number] > 0) & (turn[:, number] < hops[:, number])
            jump[:, number] = np.where(turns, -axis.extent * step[:, number], 0)
        start = np.zeros(source.size + 1, dtype=np.int64)
        np.cumsum(hops.sum(axis=1), out=start[1:])
        some = np.flatnonzero(hops)
        hops, first, step, turn, jump = (part.ravel()[some] for part in (hops, first, step, turn, jump))
        begin, link = np.cumsum(hops) - hops, np.repeat(step, hops)
        link[begin] = first
        link[begin[1:]] -= (first + step * (hops - 1) + jump)[:-1]
        jumps = np.flatnonzero(jump)
        link[begin[jumps] + turn[jumps]] += jump[jumps]
        return Routes(start, np.cumsum(link, out=link))

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        following, link = np.empty_like(at), np.empty_like(at)
        rest = np.arange(at.size)
        for axis in self.axes:
            here, there = axis.coordinate(at[rest]), axis.coordinate(target[rest])
            differs = here != there
            moving = rest[differs]
            following[moving], link[moving] = _move(axis, at[moving], here[differs], there[differs])
            rest = rest[~differs]
        return following, link

    def spread_step(self, at: IntArray, target: IntArray, draw: IntArray) -> tuple[IntArray, IntArray]:
        """Along one of the dimensions in which the coordinates differ; half way round a ring, either way."""
        following, link = np.empty_like(at), np.empty_like(at)
        apart = np.stack([at // axis.stride % axis.extent != target // axis.stride % axis.extent for axis in self.axes])
        wanted = draw % np.maximum(apart.sum(axis=0), 1)
        place = np.cumsum(apart, axis=0) - 1
        for number, axis in enumerate(self.axes):
            moving = np.flatnonzero(apart[number] & (place[number] == wanted))
            here, there = (host[moving] // axis.stride % axis.extent for host in (at, target))
            halfway = 2 * np.abs(there - here) == axis.extent if axis.is_ring else np.zeros(len(here), bool)
            up = np.where(halfway, draw[moving] // 64 % 2 == 0, _goes_up(axis, here, there))
            following[moving], link[moving] = _moved(axis, at[moving], here, up)
        return following, link

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        lower, upper = np.empty_like(link), np.empty_like(link)
        for axis in self.axes:
            lines = self.node_count // axis.extent
            mine = (link // 2 >= axis.first) & (link // 2 < axis.first + axis.cables * lines)
            cable = link[mine] // 2 - axis.first
            low, block = cable // axis.stride % axis.cables, cable // (axis.stride * axis.cables)
            base = block * axis.extent * axis.stride + cable % axis.stride
            lower[mine] = base + low * axis.stride
            upper[mine] = base + (low + 1) % axis.extent * axis.stride
        up = link % 2 == 0
        return np.where(up, lower, upper), np.where(up, upper, lower)

    def vertex_name(self, vertex: int) -> str:
        """Return the coordinates of the host, e.g. ``(0,2)``."""
        return f"({','.join(str(vertex // axis.stride % axis.extent) for axis in self.axes)})"

    def _arrow(self, tail: str, head: str) -> str:
        return f"{tail}->{head}"


@register_topology
@dataclass(frozen=True)
class MeshTopology(GridTopology):
    """A grid of 1 to 6 dimensions without wrap-around links.

    The bisection width is exact: M. C. Azizoglu and O. Egecioglu, "The bisection width and the isoperimetric
    number of arrays", Discrete Applied Mathematics 138 (2004).
    """

    kind: ClassVar[str] = "mesh"
    routings: ClassVar[tuple[str, ...]] = ROUTINGS

    @property
    def closed(self) -> tuple[bool, ...]:
        return (False,) * len(self.shape)


@register_topology
@dataclass(frozen=True)
class TorusTopology(GridTopology):
    """A grid of 1 to 6 dimensions whose lines are closed to rings; the shorter way is taken.

    ``wrap``: the dimensions that are rings; without it, all. So a mixture of mesh and torus is a torus, as the network
    of Tofu D: in six dimensions, some of them of 2 or 3 hosts (Y. Ajima et al., "The Tofu interconnect D", CLUSTER
    2018).

    On a tie (exactly half way round) even coordinates go in the positive direction, odd ones in the negative.
    When every host sends to every other, this loads all links of a dimension equally where its extent is odd or
    divisible by 4; on a ring of 6, 10, ... hosts, links alternate between half a pair above and below the mean
    of extent^2 / 8. An extent of 2 has no second (wrap) link, an extent of 1 no link at all.
    """

    kind: ClassVar[str] = "torus"
    routings: ClassVar[tuple[str, ...]] = ROUTINGS
    options: ClassVar[tuple[Key, ...]] = (
        *GridTopology.options,
        Key(
            "wrap",
            Items(Flag(), "whether this dimension is a ring", make=list),
            "whether each dimension is closed to rings",
            "all are",
        ),
    )
    wrap: tuple[bool, ...] | None = None

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> TorusTopology:
        """As any grid, and with ``wrap``: a list of truth values, one for each dimension."""
        grid, wrap = super().build(node_count, options, place), options.get("wrap")
        if wrap is None:
            return cls(node_count, grid.shape, grid.bandwidth, grid.latency)
        is_list = isinstance(wrap, list | tuple)
        if not is_list or len(wrap) != len(grid.shape) or not all(isinstance(one, bool) for one in wrap):
            raise InputError("wrap", place, value=wrap, allowed=f"a list of {len(grid.shape)} times true or false")
        return cls(node_count, grid.shape, grid.bandwidth, grid.latency, tuple(wrap))

    @property
    def closed(self) -> tuple[bool, ...]:
        return (True,) * len(self.shape) if self.wrap is None else self.wrap

    def facts(self) -> list[tuple[str, str]]:
        """Return the facts of a grid, with the dimensions that are rings in words."""
        others = [(name, text) for name, text in super().facts() if name != "wrap"]
        return others if self.wrap is None else [*others, ("wraps around", _dimensions(self.wrap))]

    @property
    def label(self) -> str:
        """Kind and extents; dimensions that are no rings are in brackets: ``torus 4x4x(3)``."""
        parts = (str(extent) if ring else f"({extent})" for extent, ring in zip(self.shape, self.closed, strict=True))
        return f"{self.kind} {'x'.join(parts)}"

    @property
    def bisection_exact(self) -> bool:
        """True where uniform traffic proves the plane-like cut best, otherwise that cut is an upper bound.

        When every host sends to every other by the shorter way, ties half and half, all links of a closed dimension
        carry equally many pairs, and the middle ones of an open dimension the most. All pairs that a cut separates must
        pass it, so it has at least (pairs from one half to the other) / (pairs over the busiest link) links.
        """
        half = self.node_count // 2
        crossing = half * (self.node_count - half)
        loads = [self._pairs_per_8_links(axis) for axis in self.axes if axis.extent > 1]
        return not loads or -(-8 * crossing // max(loads)) == self.bisection_width

    def _pairs_per_8_links(self, axis: Axis) -> int:
        """Eight times the ordered pairs over the busiest directed link along this dimension, which is an integer."""
        lines, half = self.node_count // axis.extent, axis.extent // 2
        return lines * (axis.extent**2 - axis.extent % 2 if axis.is_ring else 8 * half * (axis.extent - half))


def _dimensions(chosen: tuple[bool, ...]) -> str:
    """Return which dimensions are chosen: x, y and z of up to three, numbers from 1 of more."""
    names = "xyz" if len(chosen) <= len("xyz") else [str(number) for number in range(1, len(chosen) + 1)]
    own = [name for name, is_chosen in zip(names, chosen, strict=False) if is_chosen]
    if not own:
        return "in no dimension"
    listed = " and ".join(filter(None, (", ".join(own[:-1]), own[-1])))
    return f"in {listed}" if len(chosen) <= len("xyz") else f"in {listed} of {len(chosen)} dimensions"


def plane_cut(axes: tuple[tuple[int, int], ...]) -> int:
    """Links cut when a grid is halved by planes; ``axes``: (extent, links cut per line) of each dimension.

    An even extent is cut in the middle; next to the middle plane of an odd extent, and that plane is halved
    in the same way. The best order of the dimensions counts.
    """
    hosts = math.prod(extent for extent, _ in axes)
    cuts = []
    for chosen, (extent, per_line) in enumerate(axes):
        if extent > 1:
            middle = plane_cut(axes[:chosen] + axes[chosen + 1 :]) if extent % 2 else 0
            cuts.append(per_line * hosts // extent + middle)
    return min(cuts, default=0)


def _rest(number: IntArray, divisor: int) -> IntArray:
    """Return the remainder of numbers, from 0 to below ``divisor``; NumPy's own takes several times as long."""
    return number - number // divisor * divisor


def _hops_along(axis: Axis, here: IntArray, there: IntArray) -> IntArray:
    """Hops from one coordinate to another."""
    apart = np.abs(here - there)
    hops: IntArray = np.minimum(apart, axis.extent - apart) if axis.is_ring else apart
    return hops


def _goes_up(axis: Axis, here: IntArray, there: IntArray) -> BoolArray:
    """Whether the way from one coordinate to another, not the same, goes up; half way round, even ones do."""
    if not axis.is_ring:
        return there > here
    apart = there - here
    up: BoolArray = 2 * np.where(apart < 0, apart + axis.extent, apart) + (here & 1) <= axis.extent
    return up


def _move(axis: Axis, at: IntArray, here: IntArray, there: IntArray) -> tuple[IntArray, IntArray]:
    """Return the neighbour one step nearer along the axis, and the link to it; half way round, even ones go up."""
    return _moved(axis, at, here, _goes_up(axis, here, there))


def _moved(axis: Axis, at: IntArray, here: IntArray, up: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the neighbour along the axis in the positive direction, or in the other one, and the link to it."""
    reached = _rest(here + np.where(up, 1, -1), axis.extent)
    low = np.where(up, here, reached)
    cable = axis.cable(at // (axis.stride * axis.extent), low, _rest(at, axis.stride))
    return at + (reached - here) * axis.stride, 2 * cable + ~up


def _line_mean(extent: int) -> float:
    """Mean distance of two coordinates drawn independently from a line."""
    return (extent**2 - 1) / (3 * extent)


def _ring_mean(extent: int) -> float:
    """Mean distance of two coordinates drawn independently from a ring."""
    return (extent**2 - extent % 2) / (4 * extent)
