"""Links that messages pass, for closed forms, where they differ: of one pair of ranks, of neighbours along a dimension
of a process grid, and of anybody.

A message pays its startup, the latency of every hop, and its bytes at the bandwidth of the slowest link of its route
(with store-and-forward: at the first link, and again at every other one). The distance law says how many hops there
are; each takes

* for a message from one rank to another: the mean latency of its own route, so that with the hops of the route it is
  their sum. The forecast is exact;
* for the neighbours along a dimension of a halo exchange: the largest of that over all of them. It is exact where they
  are alike, as on a torus whose dimensions are those of the process grid, and a bound otherwise;
* for all other operations: the longest latency and the smallest bandwidth of any link, a bound for every message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts import Network

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


_FIELDS = ("latency_s", "per_byte_s", "again_s_per_byte")


@dataclass(frozen=True)
class RouteLinks:
    """``latency_s`` of a hop in the mean; ``per_byte_s`` of the slowest link, or with store-and-forward of the first
    one; ``again_s_per_byte`` of each further link that stores a message, in the mean."""

    latency_s: FloatOrArray
    per_byte_s: FloatOrArray
    again_s_per_byte: FloatOrArray


#: Of a message that passes none.
NO_LINKS = RouteLinks(0.0, 0.0, 0.0)


def slowest_links(network: Network) -> RouteLinks:
    """Those that no message exceeds; of a network whose links are alike, all of them."""
    link = network.link_occupancy_s_per_byte
    return RouteLinks(network.longest_hop_latency_s, link, link)


def links_of_pairs(network: Network, source: Ints, target: Ints) -> RouteLinks:
    """Of the routes from nodes to nodes (n,): (..., n) for constants of the network that are (...) or (..., 1). Within
    a node there are no links, and they take no time."""
    routes = network.topology.routes(source, target)
    hops, stored = np.diff(routes.start), network.switching == "store_and_forward"
    group = network.topology.group_of(routes.link)
    latency, link = (group_table(values)[..., group] for values in (network.link_latencies_s, network.links_s_per_byte))
    pair = np.repeat(np.arange(len(hops)), hops)
    is_first = np.zeros(len(group), bool)
    is_first[routes.start[:-1][hops > 0]] = True
    shape = (*latency.shape[:-1], len(hops))
    mean = _sums(latency, pair, shape) / np.maximum(hops, 1)
    if not stored:
        worst = np.zeros((len(hops), *link.shape[:-1]))
        np.maximum.at(worst, pair, np.moveaxis(link, -1, 0))
        per_byte = np.moveaxis(worst, 0, -1)
        return RouteLinks(mean, per_byte, per_byte)
    first = _sums(np.where(is_first, link, 0.0), pair, shape)
    later = _sums(np.where(is_first, 0.0, link), pair, shape) / np.maximum(hops - 1, 1)
    return RouteLinks(mean, first, np.where(hops > 1, later, first))


def links_of_peers(machine: Machine, peers: Ints) -> RouteLinks:
    """Of messages from every rank (P,) to its peer (..., P), one for each design point if there are several; to itself
    where it sends nothing."""
    node = machine.node_of(peers.shape[-1])
    if peers.ndim == 1:
        return links_of_pairs(machine.network, node, node[peers])
    flat = peers.reshape(-1, peers.shape[-1])
    rows = [links_of_pairs(machine.network, node, node[row]) for row in flat]
    shape = np.broadcast_shapes(peers.shape, np.shape(rows[0].latency_s))
    return RouteLinks(*(_rows([getattr(row, name) for row in rows], shape) for name in _FIELDS))


def links_of_neighbours(
    machine: Machine, grid: Sequence[FloatOrArray], periodic: bool, by_rank: bool
) -> tuple[RouteLinks, ...]:
    """Of the messages along each dimension of a process grid, extents numbers or arrays: the worst of all neighbours.

    ``by_rank``: whether arrays over design points have a last axis of length one, as those of the machine have then.
    """
    extents = np.stack([np.asarray(extent, dtype=np.float64) for extent in np.broadcast_arrays(*grid)], axis=-1)
    shapes, where = np.unique(extents.reshape(-1, len(grid)), axis=0, return_inverse=True)
    along = [_of_grid(machine, tuple(int(extent) for extent in shape), periodic, by_rank) for shape in shapes]
    if len(along) == 1:
        return along[0]
    where = where.reshape(extents.shape[:-1])
    return tuple(
        RouteLinks(
            *(
                np.select([where == number for number in range(len(along))], [getattr(it[dim], name) for it in along])
                for name in _FIELDS
            )
        )
        for dim in range(len(grid))
    )


def _of_grid(machine: Machine, grid: tuple[int, ...], periodic: bool, by_rank: bool) -> tuple[RouteLinks, ...]:
    """``links_of_neighbours`` for one grid."""
    place = np.arange(int(np.prod(grid)))
    node = machine.node_of(len(place)).reshape(grid)
    every = []
    for axis, extent in enumerate(grid):
        kept = range(extent if periodic and extent > 1 else extent - 1)
        low, high = (np.take(part, kept, axis).ravel() for part in (node, np.roll(node, -1, axis)))
        ways = [links_of_pairs(machine.network, *pair) for pair in ((low, high), (high, low))]
        every.append(RouteLinks(*(_most([getattr(way, name) for way in ways], by_rank) for name in _FIELDS)))
    return tuple(every)


def _most(values: Sequence[FloatOrArray], by_rank: bool) -> FloatOrArray:
    """The largest over the last axis; of no pair, 0."""
    every = np.concatenate([np.asarray(value) for value in values], axis=-1)
    most = np.max(every, axis=-1, initial=0.0, keepdims=by_rank and every.ndim > 1)
    return most if np.ndim(most) else float(most)


def group_table(values: Sequence[FloatOrArray]) -> Floats:
    """Constants of the groups of links as (..., G); a last axis of the ranks, of length one, gives way."""
    table = np.stack(np.broadcast_arrays(*values), axis=-1).astype(np.float64)
    return table[..., 0, :] if table.ndim > 1 and table.shape[-2] == 1 else table


def _sums(values: Floats, pair: Ints, shape: tuple[int, ...]) -> Floats:
    """Sums over the links of each pair."""
    total = np.zeros((shape[-1], *shape[:-1]))
    np.add.at(total, pair, np.moveaxis(values, -1, 0))
    return np.moveaxis(total, 0, -1)


def _rows(rows: Sequence[FloatOrArray], shape: tuple[int, ...]) -> Floats:
    """Row k is that of design point k: of rows of one point, or of all of them."""
    if np.ndim(rows[0]) == 1:
        return np.stack([np.asarray(row) for row in rows]).reshape(shape)
    every = [np.broadcast_to(row, shape).reshape(len(rows), shape[-1])[place] for place, row in enumerate(rows)]
    return np.stack(every).reshape(shape)
