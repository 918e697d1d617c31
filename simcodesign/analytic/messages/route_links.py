"""Links that messages pass, for closed forms, if they differ.

Links of one pair of ranks, of neighbours along a dimension of a process grid, and of any pair. Messages within a node
may have a startup and a bandwidth of their own instead.

A message pays its startup, the latency of every hop, and its bytes at the bandwidth of the slowest link of its route
(with store-and-forward: at the first link, and again at every other one). The distance law gives the number of hops
are; each takes

* for a message from one rank to another: the mean latency of its own route, so that with the hops of the route it is
  their sum. The forecast is exact;
* for the neighbours along a dimension of a halo exchange: the largest of that over all of them. It is exact if they
are alike, as on a torus with the dimensions of the process grid, and a bound otherwise; * for all other operations: the
longest latency and the smallest bandwidth of any link, a bound for every message; of
  messages within nodes or sockets, if there are any, the largest startup and the smallest bandwidth count as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.costs_by_size import at_size, local_at_size
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import Level
from simcodesign.describe.network.network import LocalMessages, Network

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_FIELDS = ("latency_s", "per_byte_s", "again_s_per_byte", "startup_s", "sent_s_per_byte", "hops")


@dataclass(frozen=True)
class RouteLinks:
    """``latency_s`` of a hop in the mean.

    ``per_byte_s`` of the slowest link, or with store-and-forward of the first one; ``again_s_per_byte`` of each further
    link that stores a message, in the mean. ``startup_s`` and ``sent_s_per_byte``: what the message takes before
    any link; ``hops``: 1, or 0 where hops do not count, within a node whose messages have a cost of their own.
    ``by_size``: the links of messages of a size, if these differ by size. ``levels``: of a machine whose nodes have
    networks inside, the links on each level that messages use; a message takes the longest of these, and the rest
    is unused.
    """

    latency_s: FloatOrArray
    per_byte_s: FloatOrArray
    again_s_per_byte: FloatOrArray
    startup_s: FloatOrArray
    sent_s_per_byte: FloatOrArray
    hops: FloatOrArray = 1.0
    by_size: Callable[[FloatOrArray], RouteLinks] | None = None
    levels: tuple[LevelLinks, ...] = ()

    def at(self, size_bytes: FloatOrArray) -> RouteLinks:
        """Return the links of messages of one size."""
        return self if self.by_size is None else self.by_size(size_bytes)


@dataclass(frozen=True)
class LevelLinks:
    """The links of messages over the network of one level.

    ``here``: which messages (or at which design points any) pass them; ``hops``: by the distance law of the network, or
    another number that holds instead of any other; None: those that are asked for of the network between nodes.
    """

    network: Network
    links: RouteLinks
    here: NDArray[np.bool_] | bool
    hops: FloatOrArray | None


def _over_network(
    network: Network, latency_s: FloatOrArray, per_byte_s: FloatOrArray, again_s_per_byte: FloatOrArray
) -> RouteLinks:
    """Links of messages that follow the network's routing."""

    def sent(as_one: Network) -> RouteLinks:
        return RouteLinks(
            latency_s, per_byte_s, again_s_per_byte, as_one.message_model.startup_s, as_one.message_model.per_byte_s
        )

    if not network.message_model.segments:
        return sent(network)
    return replace(sent(network), by_size=lambda size: sent(at_size(network, size)))


def modelled_hops(network: Network, ranks: FloatOrArray) -> FloatOrArray:
    """Hops of every message by the distance law of the network: 0, 1, log2 P, sqrt P, or the topology's mean."""
    if network.distance == "none":
        return 0.0
    if network.distance == "one":
        return 1.0
    if network.distance == "mean":
        return network.mean_hops
    hops: FloatOrArray = np.log2(ranks) if network.distance == "log2" else np.sqrt(ranks)
    return hops


def slowest_links(network: Network) -> RouteLinks:
    """Upper bounds for messages over the network; if links are alike, exact for all."""
    link = network.link_occupancy_s_per_byte
    return _over_network(network, network.longest_hop_latency_s, link, link)


def worst_links(machine: Machine, ranks: FloatOrArray) -> RouteLinks:
    """Upper bounds for messages among ``ranks`` ranks: some are within a node or a socket, perhaps all."""
    network, far = machine.network, slowest_links(machine.network)
    if machine.has_levels:
        return replace(far, levels=_levels_of_anybody(machine, ranks))
    if network.node is None:
        return far
    return _larger(links_within_nodes(machine, ranks), far, np.asarray(ranks) > machine.placement.ranks_on_first_node)


def longest_links(machine: Machine, ranks: FloatOrArray) -> RouteLinks:
    """Worst links over as many hops as any route inside a node has."""
    links = worst_links(machine, ranks)
    levels = (
        one if one.hops is None else replace(one, hops=np.maximum(float(one.network.topology.diameter), one.hops))
        for one in links.levels
    )
    return replace(links, levels=tuple(levels))


def _levels_of_anybody(machine: Machine, ranks: FloatOrArray, outside: bool = True) -> tuple[LevelLinks, ...]:
    """Return the slowest links of every level that any of ``ranks`` ranks use."""
    if len(machine.node_kinds) > 1:
        used = _used_by_kinds(machine, ranks)
        used[0] = outside & used[0]
    else:
        together = np.asarray(machine.placement.most_on_a_node(ranks))
        per_socket = machine.processors_per_socket if machine.socket_network is not None else 1
        leaves = np.asarray(ranks) > machine.placement.ranks_on_first_node
        used = [outside & leaves, together > per_socket, np.minimum(together, per_socket) > 1]
    nobody = ~functools.reduce(np.logical_or, used[: len(machine.levels)])
    every = zip(machine.numbered_levels, used, strict=False)
    return tuple(_level_links(machine, level, here if level.number else here | nobody, ranks) for level, here in every)


def _used_by_kinds(machine: Machine, ranks: FloatOrArray) -> list[NDArray[np.bool_]]:
    """Whether any pair of ``ranks`` ranks is on each level, if nodes differ inside: at every number of ranks."""
    several, where = np.unique(np.asarray(ranks, dtype=np.int64), return_inverse=True)
    found = []
    for count in several.tolist():
        sharing = [np.unique(row, return_counts=True)[1] for row in machine.units_of(count)]
        pairs = [count * (count - 1), *(int((each * (each - 1)).sum()) for each in sharing), 0]
        found.append(np.diff(pairs) < 0)
    return [one[where.reshape(np.shape(ranks))] for one in np.array(found).T]


def _level_links(machine: Machine, level: Level, here: NDArray[np.bool_] | bool, ranks: FloatOrArray) -> LevelLinks:
    """Return the slowest links of a level."""
    network = machine.levels[level.number]
    hops = modelled_hops(network, level.law_ranks(ranks)) if level.number else None
    return LevelLinks(network, slowest_links(network), here, hops)


def shared_parts(machine: Machine, ranks: int) -> Ints:
    """Return what every rank is in, (D, P), from nodes inwards, as far as messages in it have a cost of their own.

    Ranks that share the first k of these, and no more, are on level k with each other.
    """
    network = machine.network
    if machine.has_levels:
        return machine.units_of(ranks)
    if network.node is None:
        return np.zeros((0, ranks), np.int64)
    node = machine.node_of(ranks)
    if network.socket is None:
        return node[None, :]
    return np.stack([node, node * machine.sockets_per_node + machine.socket_of(ranks)])


def links_of_levels(machine: Machine, levels: Sequence[int], ranks: FloatOrArray) -> RouteLinks:
    """Upper bounds for messages between ranks on these levels, on a machine that runs ``ranks`` ranks."""
    network = machine.network
    if machine.has_levels:
        every = (machine.numbered_levels[level] for level in levels)
        return replace(slowest_links(network), levels=tuple(_level_links(machine, one, True, ranks) for one in every))
    parts = [part for part in (network.socket, network.node) if part is not None]  # of the levels from 1 on
    return functools.reduce(
        _larger, (_within(parts[level - 1]) if level else slowest_links(network) for level in sorted(levels))
    )


def links_within_nodes(machine: Machine, ranks: FloatOrArray) -> RouteLinks:
    """Upper bounds for messages within a node: as over the network unless the machine has others."""
    node = machine.network.node
    if machine.has_levels:
        return replace(slowest_links(machine.network), levels=_levels_of_anybody(machine, ranks, outside=False))
    if node is None:
        return slowest_links(machine.network)
    within, socket = _within(node), machine.network.socket
    if socket is None:
        return within
    of_socket = min(kind.processors // kind.sockets for kind in machine.node_kinds)
    together = np.asarray(machine.placement.most_on_a_node(ranks))
    return _larger(within, _within(socket), together > of_socket)


def _within(part: LocalMessages) -> RouteLinks:
    links = RouteLinks(0.0, 0.0, 0.0, part.startup_s, part.per_byte_s, 0.0)
    if not part.segments:
        return links
    return replace(links, by_size=lambda size: _within(local_at_size(part, size)))


def _combined(combine: Callable[[Sequence[RouteLinks]], RouteLinks], every: Sequence[RouteLinks]) -> RouteLinks:
    """Combine several links, at each size if any of these differ by size."""
    links = combine(every)
    if all(one.by_size is None for one in every):
        return links
    return replace(links, by_size=lambda size: combine([one.at(size) for one in every]))


def _larger(links: RouteLinks, others: RouteLinks, where: NDArray[np.bool_] | bool = True) -> RouteLinks:
    """Return the larger of each, where others count."""

    def larger(both: Sequence[RouteLinks]) -> RouteLinks:
        pairs = {name: [getattr(one, name) for one in both] for name in _FIELDS}
        most = {name: np.where(where, np.maximum(one, other), one) for name, (one, other) in pairs.items()}
        values: dict[str, Any] = {name: value if value.ndim else float(value) for name, value in most.items()}
        return RouteLinks(**values)

    return _combined(larger, (links, others))


def without_links(machine: Machine, ranks: int, source: Ints, target: Ints) -> RouteLinks:
    """Return times of messages between ranks before any link of the network."""
    if machine.has_levels:
        level = machine.level_of(ranks, source, target)
        levels = [
            LevelLinks(network, _over_network(network, 0.0, 0.0, 0.0), level == number, 0.0)
            for number, network in enumerate(machine.levels)
        ]
        return replace(levels[0].links, levels=tuple(one for one in levels if np.any(one.here)))
    links = _over_network(machine.network, 0.0, 0.0, 0.0)
    return _with_local(machine, links, _kinds(machine, ranks, source, target))


def links_of_pairs(machine: Machine, ranks: int, source: Ints, target: Ints) -> RouteLinks:
    """Upper bounds on the same level, for messages between ranks (n,)."""
    links = slowest_links(machine.network)
    if machine.has_levels:
        level = machine.level_of(ranks, source, target)
        every = (_level_links(machine, one, level == one.number, float(ranks)) for one in machine.numbered_levels)
        return replace(links, levels=tuple(one for one in every if np.any(one.here)))
    return _with_local(machine, links, _kinds(machine, ranks, source, target))


def links_of_messages(machine: Machine, ranks: int, source: Ints, target: Ints) -> RouteLinks:
    """Return the links of messages from ranks to ranks (n,), among ``ranks``.

    (..., n) for constants of the network that are (..., 1).
    """
    if machine.has_levels:
        return replace(slowest_links(machine.network), levels=_levels_of_messages(machine, ranks, source, target))
    node = machine.node_of(ranks)
    links = _links_of_routes(machine.network, node[source], node[target])
    return _with_local(machine, links, _kinds(machine, ranks, source, target))


def _levels_of_messages(machine: Machine, ranks: int, source: Ints, target: Ints) -> tuple[LevelLinks, ...]:
    """Return the links of every level on the routes of messages (n,), of those that use it.

    Messages that do not use a level have links there that no message passes.
    """
    of_message, found = machine.level_of(ranks, source, target), list[LevelLinks]()
    for level, network in zip(machine.numbered_levels, machine.levels, strict=True):
        here = of_message == level.number
        if not here.any():
            continue
        hosts = level.split(machine.hosts_on(level, ranks))[1]
        ends = (np.where(here, hosts[side], 0) for side in np.broadcast_arrays(source, target))
        hops = modelled_hops(network, level.law_ranks(float(ranks))) if level.number else None
        found.append(LevelLinks(network, _links_of_routes(network, *ends), here, hops))
    return tuple(found)


def _kinds(machine: Machine, ranks: int, source: Ints, target: Ints) -> NDArray[np.int8]:
    """Return the kinds of messages between ranks.

    1 within a node whose messages have a cost of their own, 2 between its sockets, otherwise 0.
    """
    network = machine.network
    if network.node is None:
        return np.zeros(np.broadcast_shapes(source.shape, target.shape), np.int8)
    node = machine.node_of(ranks)
    kinds: NDArray[np.int8] = (node[source] == node[target]).astype(np.int8)
    if network.socket is not None:
        socket = machine.socket_of(ranks)
        kinds += kinds * (socket[source] != socket[target])
    return kinds


def _with_local(machine: Machine, links: RouteLinks, kinds: NDArray[np.int8]) -> RouteLinks:
    """Return the links, with what messages within a node cost."""
    for kind, part in enumerate((machine.network.node, machine.network.socket), start=1):
        if part is not None:
            links = _combined(functools.partial(_replaced, kinds == kind), (links, _within(part)))
    return links


def _replaced(is_local: NDArray[np.bool_], both: Sequence[RouteLinks]) -> RouteLinks:
    """Links with replacements for local messages; all have the latencies of the former."""
    links, local = both
    startup_s = np.where(is_local, local.startup_s, links.startup_s)
    sent = np.where(is_local, local.sent_s_per_byte, links.sent_s_per_byte)
    hops = np.where(is_local, local.hops, links.hops)
    return replace(links, startup_s=startup_s, sent_s_per_byte=sent, hops=hops)


def _links_of_routes(network: Network, source: Ints, target: Ints) -> RouteLinks:
    """Return the links of the routes from nodes to nodes (n,).

    (..., n) for constants of the network that are (...) or (..., 1). Within a node there are no links, and they take no
    time.
    """
    routes = network.topology.routes(source, target)
    hops, stored = np.diff(routes.start), network.is_stored
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
        return _over_network(network, mean, per_byte, per_byte)
    first = _sums(np.where(is_first, link, 0.0), pair, shape)
    later = _sums(np.where(is_first, 0.0, link), pair, shape) / np.maximum(hops - 1, 1)
    again = np.where(hops > 1, later, first)
    return _over_network(network, mean, first, again)


def links_of_peers(machine: Machine, peers: Ints) -> RouteLinks:
    """Links of messages from every rank (P,) to its peer (..., P), one for each design point if there are several.

    To itself if it sends nothing.
    """
    ranks = peers.shape[-1]
    every = np.arange(ranks)
    if peers.ndim == 1:
        return links_of_messages(machine, ranks, every, peers)
    if machine.has_levels:
        return _levels_of_rows(machine, peers)
    node = machine.node_of(ranks)
    rows = [_links_of_routes(machine.network, node, node[row]) for row in peers.reshape(-1, ranks)]
    shape = np.broadcast_shapes(peers.shape, np.shape(rows[0].latency_s))
    values = {name: _rows([getattr(row, name) for row in rows], shape) for name in _FIELDS[:3]}
    links = _over_network(machine.network, **values)
    return _with_local(machine, links, _kinds(machine, ranks, every, peers))


def _levels_of_rows(machine: Machine, peers: Ints) -> RouteLinks:
    """``links_of_peers`` of several design points (..., P) on a machine with levels."""
    ranks = peers.shape[-1]
    several, which = np.unique(peers.reshape(-1, ranks), axis=0, return_inverse=True)
    points = which.reshape(peers.shape[:-1])[..., None]
    levels = list[LevelLinks]()
    for number, row in enumerate(several):
        every = _levels_of_messages(machine, ranks, np.arange(ranks), row)
        levels += [replace(one, here=(points == number) & one.here) for one in every]
    return replace(slowest_links(machine.network), levels=tuple(levels))


def links_of_neighbours(
    machine: Machine, grid: Sequence[FloatOrArray], periodic: bool, by_rank: bool
) -> tuple[RouteLinks, ...]:
    """Return the links of the messages along each dimension of a process grid: the worst of all neighbours.

    Extents are numbers or arrays.

    ``by_rank``: whether arrays over design points have a last axis of length one, as the machine's have then.
    """
    extents = np.stack([np.asarray(extent, dtype=np.float64) for extent in np.broadcast_arrays(*grid)], axis=-1)
    shapes, where = np.unique(extents.reshape(-1, len(grid)), axis=0, return_inverse=True)
    along = [_of_grid(machine, tuple(int(extent) for extent in shape), periodic, by_rank) for shape in shapes]
    if len(along) == 1:
        return along[0]
    if machine.has_levels:
        return tuple(
            _at_points([one[dim] for one in along], where.reshape(extents.shape[:-1])) for dim in range(len(grid))
        )
    here = [where.reshape(extents.shape[:-1]) == number for number in range(len(along))]

    def selected(every: Sequence[RouteLinks]) -> RouteLinks:
        return RouteLinks(*(np.select(here, [getattr(one, name) for one in every]) for name in _FIELDS))

    return tuple(_combined(selected, [one[dim] for one in along]) for dim in range(len(grid)))


def _at_points(along: Sequence[RouteLinks], where: Ints) -> RouteLinks:
    """Return the links of levels of several grids, each at its design points."""
    levels = [
        replace(level, here=(where == number) & level.here) for number, one in enumerate(along) for level in one.levels
    ]
    return replace(along[0], levels=tuple(levels))


def _of_grid(machine: Machine, grid: tuple[int, ...], periodic: bool, by_rank: bool) -> tuple[RouteLinks, ...]:
    """``links_of_neighbours`` for one grid."""
    ranks = int(np.prod(grid))
    place, every = np.arange(ranks).reshape(grid), []
    for axis, extent in enumerate(grid):
        kept = range(extent if periodic and extent > 1 else extent - 1)
        low, high = (np.take(part, kept, axis).ravel() for part in (place, np.roll(place, -1, axis)))
        source, target = np.concatenate([low, high]), np.concatenate([high, low])
        every.append(links_of_alike(machine, ranks, source, target, by_rank))
    return tuple(every)


def links_of_alike(machine: Machine, ranks: int, source: Ints, target: Ints, by_rank: bool = False) -> RouteLinks:
    """Upper bounds for messages between ranks (n,)."""
    if machine.has_levels:
        levels = _levels_of_messages(machine, ranks, source, target)
        worst = tuple(replace(one, links=_worst(one, by_rank), here=True) for one in levels)
        return replace(slowest_links(machine.network), levels=worst)
    node, kinds = machine.node_of(ranks), _kinds(machine, ranks, source, target)
    parts = [part for kind, part in enumerate((machine.network.node, machine.network.socket), 1) if kind in kinds]
    present = [_within(part) for part in parts if part is not None]
    far = kinds == 0
    if far.any() or not present:
        links = _links_of_routes(machine.network, node[source[far]], node[target[far]])
        values = {name: _most(getattr(links, name), by_rank) for name in _FIELDS[:3]}
        present.append(_over_network(machine.network, **values))
    return functools.reduce(_larger, present)


def _worst(one: LevelLinks, by_rank: bool) -> RouteLinks:
    """Upper bounds of the links of several messages."""
    values = {name: _most(np.where(one.here, getattr(one.links, name), 0.0), by_rank) for name in _FIELDS[:3]}
    return _over_network(one.network, **values)


def _most(values: FloatOrArray, by_rank: bool) -> FloatOrArray:
    """Return the largest over the last axis; of no pair, 0."""
    most = np.max(values, axis=-1, initial=0.0, keepdims=by_rank and np.ndim(values) > 1)
    return most if np.ndim(most) else float(most)


def group_table(values: Sequence[FloatOrArray]) -> Floats:
    """Constants of the groups of links as (..., G); a last axis of the ranks, of length one, gives way."""
    table = np.stack(np.broadcast_arrays(*values), axis=-1).astype(np.float64)
    return table[..., 0, :] if table.ndim > 1 and table.shape[-2] == 1 else table


def _sums(values: Floats, pair: Ints, shape: tuple[int, ...]) -> Floats:
    """Return sums over the links of each pair."""
    total = np.zeros((shape[-1], *shape[:-1]))
    np.add.at(total, pair, np.moveaxis(values, -1, 0))
    return np.moveaxis(total, 0, -1)


def _rows(rows: Sequence[FloatOrArray], shape: tuple[int, ...]) -> Floats:
    """Row k belongs to design point k: rows of one point, or of all of them."""
    if np.ndim(rows[0]) == 1:
        return np.stack([np.asarray(row) for row in rows]).reshape(shape)
    every = [np.broadcast_to(row, shape).reshape(len(rows), shape[-1])[place] for place, row in enumerate(rows)]
    return np.stack(every).reshape(shape)
