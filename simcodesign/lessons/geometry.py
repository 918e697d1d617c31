"""Where the nodes of a network stand in a picture, and which links join them."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.grid import GridTopology
from simcodesign.describe.topology.hypercube import HypercubeTopology

#: How far a grid's third dimension is drawn apart from the first two, in steps between neighbours.
_BETWEEN_LAYERS = 1.0


@dataclass(frozen=True, eq=False)
class Geometry:
    """``position``: (vertices, 2), hosts first, in steps between neighbours, y downward. ``ends``: (links, 2) vertices
    at which every directed link begins and ends."""

    position: NDArray[np.float64]
    ends: NDArray[np.int64]
    hosts: int


def geometry_of(topology: Topology) -> Geometry:
    """A picture of a network: grids as they are, hypercubes as grids of bits, others by layers of switches."""
    links = np.arange(topology.link_count)
    ends = np.stack(topology.link_ends(links), axis=1).astype(np.int64)
    if isinstance(topology, GridTopology):
        position = _grid(np.arange(topology.node_count), [axis.extent for axis in topology.axes], topology)
    elif isinstance(topology, HypercubeTopology):
        position = _bits(np.arange(topology.node_count))
    else:
        position = _layers(topology, ends)
    return Geometry(position, ends, topology.node_count)


def _grid(host: NDArray[np.int64], extents: list[int], topology: GridTopology) -> NDArray[np.float64]:
    """The last dimension to the right, the one before downward; those before them as tiles, in turn."""
    coordinates = [axis.coordinate(host) for axis in topology.axes][::-1]
    sizes = extents[::-1]
    x, y = np.zeros(len(host)), np.zeros(len(host))
    width, height = 1.0, 1.0
    for number, (coordinate, extent) in enumerate(zip(coordinates, sizes, strict=True)):
        if number % 2 == 0:
            x += coordinate * width
            width = width * extent + (_BETWEEN_LAYERS if extent > 1 else 0.0)
        else:
            y += coordinate * height
            height = height * extent + (_BETWEEN_LAYERS if extent > 1 else 0.0)
    return np.stack([x, y], axis=1)


def _bits(host: NDArray[np.int64]) -> NDArray[np.float64]:
    """Even bits to the right, odd ones downward."""
    x, y = np.zeros(len(host)), np.zeros(len(host))
    for bit in range(int(host.max(initial=0)).bit_length()):
        step = 1.3 ** (bit // 2) * 2.0 ** (bit // 2)
        (x if bit % 2 == 0 else y)[(host >> bit) & 1 == 1] += step
    return np.stack([x, y], axis=1)


def _layers(topology: Topology, ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Hosts in a row (in a circle, where there are no switches), switches above them, by their distance from hosts."""
    hosts, every = topology.node_count, topology.vertex_count
    if every == hosts:
        angle = 2 * np.pi * np.arange(hosts) / max(hosts, 1)
        radius = max(hosts / (2 * np.pi), 1.0)
        return np.stack([radius * np.sin(angle), -radius * np.cos(angle)], axis=1)
    graph = nx.Graph()
    graph.add_nodes_from(range(every))
    graph.add_edges_from(ends.tolist())
    level = nx.multi_source_dijkstra_path_length(graph, set(range(hosts)))
    position = np.zeros((every, 2))
    for layer in range(max(level.values()) + 1):
        members = sorted(vertex for vertex in range(every) if level.get(vertex, 1) == layer)
        step = hosts / max(len(members), 1)
        for place, vertex in enumerate(members):
            position[vertex] = (place + 0.5) * step, -1.5 * layer
    return position
