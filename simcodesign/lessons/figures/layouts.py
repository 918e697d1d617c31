"""Layouts of networks: (vertices, 2) positions in steps between neighbours, x to the right and y downward."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: How steep the third dimension of a grid goes up to the right: one step.
_OBLIQUE = (0.8, -0.6)
#: Gap between the copies in which dimensions from the fourth on are drawn, in steps.
_GAP = 1.0
#: The first three bits of a hypercube, and by how much and how far (degrees) the next three are larger and turned.
_BITS = ((2.0, 0.0), (0.0, 2.0), (0.95, -0.9))
_BITS_GROW, _BITS_TURN = 3.3, 18.0


def grid(coordinates: Sequence[Ints]) -> Floats:
    """Place hosts by the coordinates of each dimension.

    The first to the right, the second down, the third obliquely up, as one draws a cube; the fourth and the fifth lay
    out copies of these, and so on.
    """
    position = np.zeros((len(coordinates[0]), 2))
    for first in range(0, len(coordinates), 3):
        position = _grid_of_three(position, coordinates[first : first + 3])
    return position


def _grid_of_three(inner: Floats, coordinates: Sequence[Ints]) -> Floats:
    """Place copies of the points ``inner``, along up to three more dimensions."""
    width, height = (np.ptp(inner, axis=0) if len(inner) else np.zeros(2)).tolist()
    gap = _GAP if width or height else 0.0
    extents = [int(one.max(initial=0)) + 1 for one in coordinates]
    deep = extents[2] if len(extents) > 2 else 1
    # Along the oblique dimension copies must not meet; nor may its last one meet the next of the others.
    long = max(width, height) + 1 + gap
    step_z = np.array(_OBLIQUE) * long
    step_x = max(width + 1 + gap, deep * step_z[0] + 0.6 * long if deep > 1 else 0.0)
    step_y = max(height + 1 + gap, -deep * step_z[1] + 0.6 * long if deep > 1 else 0.0)
    position = inner.copy()
    position[:, 0] += coordinates[0] * step_x
    if len(coordinates) > 1:
        position[:, 1] += coordinates[1] * step_y
    if len(coordinates) > 2:
        position += coordinates[2][:, None] * step_z
    return position


def bits(hosts: int) -> Floats:
    """Return a hypercube: three bits make a cube.

    Each three more bits a larger one, a little turned, of which every corner is such a cube.
    """
    host = np.arange(hosts)
    position = np.zeros((hosts, 2))
    for bit in range(max(hosts - 1, 0).bit_length()):
        level, place = divmod(bit, 3)
        angle = np.deg2rad(_BITS_TURN * level)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        position += ((host >> bit) & 1)[:, None] * (_BITS_GROW**level * turn @ np.array(_BITS[place]))
    return position


def around_bus(hosts: int) -> Floats:
    """Hosts alternately above and below a line; the last two points are the ends of the line."""
    host = np.arange(hosts)
    position = np.stack([host * 0.6, np.where(host % 2 == 0, -1.0, 1.0)], axis=1)
    return np.concatenate([position, [[-0.6, 0.0], [0.6 * hosts, 0.0]]])


def circles(rings: Sequence[Ints], around: Sequence[Floats] | None = None) -> Floats:
    """Rings of vertices, the innermost first, each wide enough; ``around``: the angles of each ring, in turns."""
    vertices = sum(len(ring) for ring in rings)
    position, radius = np.zeros((vertices, 2)), 0.0
    for place, ring in enumerate(rings):
        radius = max(len(ring) / (2 * np.pi), radius + 1.5 if place else 1.0)
        turns = np.arange(len(ring)) / max(len(ring), 1) if around is None else around[place]
        position[ring] = radius * np.stack([np.sin(2 * np.pi * turns), -np.cos(2 * np.pi * turns)], axis=1)
    return position


def layers(ends: Ints, hosts: int, vertices: int) -> Floats:
    """Hosts in a row, switches above them, by their distance from hosts.

    In circles, hosts outside, where switches of a layer are joined to one another.
    """
    graph = nx.Graph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from(ends.tolist())
    level = nx.multi_source_dijkstra_path_length(graph, set(range(hosts)))
    members = [[v for v in range(vertices) if level.get(v, 1) == one] for one in range(max(level.values()) + 1)]
    if any(level[a] == level[b] for a, b in graph.edges):
        return _in_circles(graph, members)
    position = np.zeros((vertices, 2))
    for layer, those in enumerate(members):
        step = max(hosts, max(map(len, members))) / max(len(those), 1)
        for place, vertex in enumerate(those):
            position[vertex] = (place + 0.5) * step, -max(1.5, hosts / 3 / max(len(members) - 1, 1) * 2) * layer
    return position


def _in_circles(graph: nx.Graph, members: list[list[int]]) -> Floats:
    """Return the last layer innermost; every layer in the order of those that it is joined to, and evenly spaced."""
    rings, turn = [np.array(members[-1])], {v: n / len(members[-1]) for n, v in enumerate(members[-1])}
    for those in reversed(members[:-1]):
        nearest = {v: min((turn[w] for w in graph[v] if w in turn), default=0.0) for v in those}
        order = sorted(those, key=lambda v: (nearest[v], v))
        turn |= {v: place / len(order) for place, v in enumerate(order)}
        rings.append(np.array(order))
    # Half the width of a group forward, so that each group is centred on its parent.
    around = [np.array([turn[int(v)] for v in ring]) - 0.5 * (1 / len(rings[0]) - 1 / len(ring)) for ring in rings]
    return circles(rings, around)
