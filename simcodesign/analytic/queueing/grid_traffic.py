"""How messages of uniform traffic pass the links of meshes, tori and hypercubes, in closed form by dimensions.

With dimension-ordered routing, each line of a dimension is one line or ring, over which the same ways lead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Line:
    """Ways along a line or ring, one coordinate to another, by direction (rows) and coordinate (columns).

    ``over``: routes over the link that leaves the coordinate in that direction, of which ``begin`` begin there;
    ``end``: routes that reach the coordinate in that direction. ``weight``: number of coordinates that each column
    represents.
    """

    extent: int
    weight: Floats
    over: Floats
    begin: Floats
    end: Floats


def line_ways(extent: int, is_ring: bool) -> Line:
    """Return the routes along a line or ring of ``extent`` hosts."""
    if not is_ring:
        low = np.arange(extent, dtype=np.float64)
        high = low[::-1]
        return Line(
            extent,
            np.ones(extent),
            np.array([(low + 1) * high, (high + 1) * low]),
            np.array([high, low]),
            np.array([low, high]),
        )
    # From even coordinates the way to the opposite one is upward, from odd ones downward: two kinds of coordinates.
    here, apart = np.arange(2 if extent % 2 == 0 else 1), np.arange(extent)
    shortest, odd = (extent - 1) // 2, (extent % 2 == 0)
    reach = np.array([[shortest + odd, shortest], [shortest, shortest + odd]])  # by direction and parity
    parity = (here[:, None] + apart) % 2 if odd else np.zeros((1, extent), np.int64)
    rest = reach[:, parity] - apart  # how far beyond the ways from so far behind lead
    over, end = np.maximum(rest, 0).sum(axis=-1), (rest[..., 1:] >= 0).sum(axis=-1)
    weight = np.full(len(here), extent / len(here))
    return Line(extent, weight, over.astype(float), reach[:, here].astype(float), end.astype(float))


@dataclass(frozen=True)
class Kinds:
    """Kinds of links, as arrays of one length.

    Pairs of hosts over each link, how many such links there are, means of m and m^2, and their group.
    """

    pairs: Floats
    links: Floats
    merged: Floats
    square: Floats
    group: Ints

    @classmethod
    def alike(cls, pairs: float, links: float, merged: float) -> Kinds:
        """All links with the same load and the same m."""
        zero = np.zeros(1, np.int64)
        return cls(np.array([pairs]), np.array([links]), np.array([merged]), np.array([merged**2]), zero)

    def together(self, by_group: bool) -> tuple[Floats, Floats, Floats, Floats, Ints]:
        """Links of the same load as one kind; of the same load and group, if ``by_group``."""
        group = self.group if by_group else np.zeros_like(self.group)
        (pairs, groups), kind = np.unique([np.round(self.pairs), group], axis=1, return_inverse=True)
        kind = kind.reshape(-1)
        links = np.bincount(kind, weights=self.links)
        merged, square = (np.bincount(kind, weights=self.links * value) / links for value in (self.merged, self.square))
        return pairs, links.astype(np.float64), merged, square, groups.astype(np.int64)


def kinds_of_links(lines: list[Line], hosts: int, doors: bool) -> Kinds:
    """Links of a grid, dimension after dimension.

    Ways over a link of a dimension have any coordinates of the earlier ones when they begin, and any of the later ones
    when they end. They come over the link before it on the same line, begin at this host, or turn into the line: from
    an earlier dimension, in either direction, if they have not moved in those between.
    """
    parts: list[tuple[Floats, ...]] = []
    group: list[Ints] = []
    # Hosts in the earlier dimensions; the squares of what turns in from them, and through the door.
    before, mean, variance = 1.0, float(doors), 0.0
    for dimension, line in enumerate(lines):
        others, after = hosts / line.extent, hosts / line.extent / before
        pairs, straight = line.over * others, (line.over - line.begin) * others
        with np.errstate(all="ignore"):
            turns = (line.begin * after / pairs) ** 2
            merged = (straight / pairs) ** 2 + turns * mean
        links = np.broadcast_to(line.weight * others, pairs.shape)
        there = pairs > 0
        parts.append(tuple(part[there] for part in (pairs, links, merged, merged**2 + turns**2 * variance)))
        group.append(np.full(len(parts[-1][0]), dimension))
        turned = (line.end**2).sum(axis=0) * before**2
        share = line.weight / line.extent
        mean, variance = mean + share @ turned, variance + share @ (turned - share @ turned) ** 2
        before *= line.extent
    pairs, links, merged, square = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Kinds(pairs, links, merged, square, np.concatenate(group))


def arriving_at_hosts(lines: list[Line], hosts: int) -> float:
    """Mean over hosts of the squared shares of their messages by the link that they come over."""
    before, total = 1.0, 0.0
    for line in lines:
        total += float(line.weight / line.extent @ (line.end**2).sum(axis=0)) * before**2
        before *= line.extent
    return total / (hosts - 1) ** 2
