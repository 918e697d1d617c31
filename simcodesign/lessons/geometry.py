"""Where the nodes of a network stand in a picture, and how the links that join them run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.grid import GridTopology
from simcodesign.describe.topology.hypercube import HypercubeTopology
from simcodesign.describe.topology.one_hop import BusTopology
from simcodesign.lessons.figures.layouts import around_bus, bits, circles, grid, layers

#: A link that passes a node nearer than this (in steps between neighbours) is bent, and so is drawn beside it.
CLEARANCE = 0.25
#: How far a bent link stands off in its middle: this fraction of its length, at most so many steps.
_BEND, _MOST_BEND = 0.12, 0.42


@dataclass(frozen=True, eq=False)
class Geometry:
    """``position``: (vertices, 2), hosts first, then switches, in steps between neighbours, y downward.

    ``ends``: (links, 2) vertices at which every directed link begins and ends. ``bend``: (links,) how far the middle of
    a link stands off the straight line, to its left. ``stubs``: (n, 2) hosts and the bus that they are joined to;
    the ends of a bus are points behind the switches.
    """

    position: NDArray[np.float64]
    ends: NDArray[np.int64]
    bend: NDArray[np.float64]
    stubs: NDArray[np.int64]
    hosts: int


def geometry_of(topology: Topology) -> Geometry:
    """Return a picture of a network.

    Grids and hypercubes as they are, a bus as a line, others by layers of switches, or in circles if switches of a
    layer are joined to one another.
    """
    hosts = topology.node_count
    links = np.arange(topology.link_count)
    ends = np.stack(topology.link_ends(links), axis=1).astype(np.int64)
    stubs = np.zeros((0, 2), np.int64)
    if isinstance(topology, BusTopology):
        position = around_bus(hosts)
        ends = np.array([[hosts, hosts + 1]])
        stubs = np.stack([np.arange(hosts), np.zeros(hosts, np.int64)], axis=1)
    elif isinstance(topology, GridTopology):
        position = grid([axis.coordinate(np.arange(hosts)) for axis in topology.axes][::-1])
    elif isinstance(topology, HypercubeTopology):
        position = bits(hosts)
    elif topology.vertex_count == hosts:
        position = circles([np.arange(hosts)])
    else:
        position = layers(ends, hosts, topology.vertex_count)
    bend = _bends(position, ends) if len(stubs) == 0 else np.zeros(len(ends))
    return Geometry(position, ends, bend, stubs, hosts)


def _bends(position: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of links that would pass over a node, or lie on another link between other nodes: both directions to one side."""
    bend = np.zeros(len(ends))
    known: dict[tuple[int, int], float] = {}
    for number, (tail, head) in enumerate(ends.tolist()):
        pair = (min(tail, head), max(tail, head))
        if pair not in known:
            known[pair] = _bend(position, *pair)
        bend[number] = known[pair] if tail < head else -known[pair]
    return bend


def _bend(position: NDArray[np.float64], tail: int, head: int) -> float:
    way = position[head] - position[tail]
    length = float(np.hypot(*way))
    if length == 0:
        return 0.0
    others = np.delete(position, [tail, head], axis=0) - position[tail]
    along = others @ way / length
    aside = np.abs(others @ np.array([-way[1], way[0]])) / length
    passes = (along > 0) & (along < length) & (aside < CLEARANCE)
    return min(_BEND * length, _MOST_BEND) if passes.any() else 0.0
