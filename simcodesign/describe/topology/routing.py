"""Routes other than the fixed route of a pair: any minimal one, or one through another host (Valiant).

* ``minimal``: the one route of a pair of hosts that the topology gives.
* ``ecmp``: of all minimal routes one, the same for all messages of a pair of hosts (equal-cost multipath; hashing the
  ends of a flow, as switches do: C. Hopps, RFC 2992, 2000).
* ``valiant``: each message goes first, minimally, to a random host or its router, and then, minimally, to its target
  (L. G. Valiant, SIAM J. Comput. 11, 1982). On a dragonfly it turns as soon as it is in a random group (J. Kim, W. J.
  Dally, S. Scott, D. Abts, ISCA 2008).
* ``ugal``: each message takes the minimal route or one of Valiant's, by the queues where the two part (universal
  globally-adaptive load-balancing, by local queues: UGAL-L of Kim et al.; A. Singh, PhD thesis, Stanford 2005).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.topology.base import Routes, Topology
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.describe.topology.low_diameter.dragonfly import DragonflyTopology
from simcodesign.describe.topology.low_diameter.hosts_on_routers import RouterTopology

#: Number of routes up to which a mean over all of them is exact; beyond, it is a mean over as many random ones.
MOST_COUNTED = 2**22
UInts = NDArray[np.uint64]
#: Hop by hop, the pairs still on their way and the link that each of them takes.
Steps = Iterator[tuple[IntArray, IntArray]]


def mixed(values: UInts) -> UInts:
    """64 bits that look random, of each value (the finaliser of SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    bits = values + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def spread_routes(topology: Topology, source: IntArray, target: IntArray, number: UInts) -> Routes:
    """For each pair of hosts the minimal route that its ``number`` picks; shapes (n,)."""
    return _collected(len(source), _spread(topology, source, target, number))


def routes_through(topology: Topology, source: IntArray, target: IntArray, through: IntArray) -> Routes:
    """For each pair of hosts the minimal route to a third one, or to its turning point, and from there; shapes (n,)."""
    return _collected(len(source), _through(topology, source, target, through))


def hops_through(topology: Topology, source: IntArray, target: IntArray, through: IntArray) -> IntArray:
    """Links of ``routes_through``."""
    hops = np.zeros(len(source), dtype=np.int64)
    for pair, _ in _through(topology, source, target, through):
        hops[pair] += 1
    return hops


def mean_hops_through(topology: Topology) -> float:
    """Mean hops between different hosts through a random one, any of all.

    A host is reached from a random one over mean_hops (n - 1) / n links, since it may be that one itself. Two such
    ways in a row, routes by routers lack the link to the host in the middle and back. Dragonflies, which turn
    earlier, are counted (``MOST_COUNTED``).
    """
    count = topology.node_count
    if count == 1:
        return 0.0
    if isinstance(topology, DragonflyTopology):
        return _counted_mean(topology)
    at_routers = isinstance(topology, RouterTopology)
    way = topology.mean_hops() * (count - 1) / count
    return 2 * way - (2 * (count - 1) / count * 2 - 2 if at_routers else 0.0)


def _counted_mean(topology: DragonflyTopology) -> float:
    """Over routers to start from, groups to go through, and routers to arrive at, each with one of its hosts."""
    routers, groups, hosts = topology.router_count, topology.groups, topology.terminals
    every, whole = routers * groups * routers, topology.routers * hosts
    chosen = np.arange(every) if every <= MOST_COUNTED else np.random.default_rng(0).integers(0, every, MOST_COUNTED)
    start, rest = np.divmod(chosen, groups * routers)
    group, end = np.divmod(rest, routers)
    other = end * hosts + (hosts > 1)  # another host of the router, if it has several
    hops = hops_through(topology, start * hosts, other, group * whole)
    weight = np.where(start == end, hosts - 1.0, float(hosts))
    return float(np.sum(hops * weight) / np.sum(weight))


def _spread(topology: Topology, source: IntArray, target: IntArray, number: UInts) -> Steps:
    """Each over one of the links that lead nearer."""
    pair = np.flatnonzero(source != target)
    at, goal, hop = source[pair], target[pair], 0
    while pair.size:
        draw = (mixed(number[pair] + np.uint64(hop)) >> np.uint64(1)).astype(np.int64)
        at, link = topology.spread_step(at, goal, draw)
        yield pair, link
        moving = at != goal
        pair, at, goal, hop = pair[moving], at[moving], goal[moving], hop + 1


def _through(topology: Topology, source: IntArray, target: IntArray, through: IntArray) -> Steps:
    """First to where routes through a host turn, then to the target."""
    pair = np.flatnonzero(source != target)
    at, goal, middle = source[pair], target[pair], through[pair]
    turned = topology.turns_at(at, middle)
    while pair.size:
        at, link = topology.step(at, np.where(turned, goal, middle))
        yield pair, link
        turned = turned | topology.turns_at(at, middle)
        moving = ~turned | (at != goal)
        pair, at, goal, middle, turned = (part[moving] for part in (pair, at, goal, middle, turned))


def _collected(count: int, steps: Steps) -> Routes:
    """Return the routes of ``count`` pairs from their links hop by hop."""
    every = list(steps)
    hops: NDArray[Any] = np.zeros(count, dtype=np.int64)
    for pair, _ in every:
        hops[pair] += 1
    start = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(hops, out=start[1:])
    links = np.empty(start[-1], dtype=np.int64)
    taken = start[:-1].copy()
    for pair, link in every:
        links[taken[pair]] = link
        taken[pair] += 1
    return Routes(start, links)
