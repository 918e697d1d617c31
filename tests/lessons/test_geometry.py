"""Pictures of networks: nobody stands on anybody else, every link is drawn once, and none passes over a node."""

from __future__ import annotations

import numpy as np
import pytest

from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.lessons.geometry import CLEARANCE, geometry_of

NETWORKS = {
    "line": build_topology("mesh", 7, [7]),
    "mesh": build_topology("mesh", 20, [4, 5]),
    "box": build_topology("mesh", 48, [4, 3, 4]),
    "tofu": build_topology("torus", 96, [2, 2, 4, 2, 3]),
    "torus": build_topology("torus", 64, [8, 8]),
    "torus box": build_topology("torus", 64, [4, 4, 4]),
    "tree": build_topology("tree", 11),
    "fat tree": build_topology("fat_tree", 16, arity=4),
    "square": build_topology("hypercube", 4),
    "hypercube": build_topology("hypercube", 64),
    "crossbar": build_topology("crossbar", 9),
    "dragonfly": build_topology("dragonfly", 40, routers=4, terminals=2, global_links=1),
    "one node": build_topology("mesh", 1, [1]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_nodes_stand_apart_and_links_join_the_right_ones(name: str) -> None:
    topology = NETWORKS[name]
    picture = geometry_of(topology)
    assert picture.position.shape == (topology.vertex_count, 2)
    assert picture.hosts == topology.node_count
    first, second = np.triu_indices(len(picture.position), 1)
    apart = np.hypot(*(picture.position[first] - picture.position[second]).T)
    assert np.all(apart > 0.4)
    tail, head = topology.link_ends(np.arange(topology.link_count))
    assert picture.ends.tolist() == np.stack([tail, head], axis=1).tolist()
    assert len(picture.bend) == topology.link_count


@pytest.mark.parametrize("name", NETWORKS)
def test_no_link_lies_on_a_node(name: str) -> None:
    """By brute force, at 101 points of each link; a bend keeps clear of the nodes of a row."""
    picture = geometry_of(NETWORKS[name])
    for (tail, head), bend in zip(picture.ends.tolist(), picture.bend.tolist(), strict=True):
        a, b = picture.position[tail], picture.position[head]
        along = b - a
        part = np.linspace(0, 1, 101)[:, None]
        others = np.delete(picture.position, [tail, head], axis=0)
        straight = a + part * along
        nearest = np.min(np.hypot(*(straight[:, None] - others).T), initial=np.inf)
        assert (bend != 0) == (nearest < CLEARANCE), (tail, head)


def test_links_around_a_torus_are_bent_and_the_others_are_not() -> None:
    topology = NETWORKS["torus"]
    picture = geometry_of(topology)
    length = np.hypot(*(picture.position[picture.ends[:, 1]] - picture.position[picture.ends[:, 0]]).T)
    assert np.array_equal(picture.bend != 0, length > 1.5)
    assert np.count_nonzero(picture.bend) == 2 * 16  # both directions of one link in each of 8 rows and 8 columns
    by_pair = {tuple(pair): bend for pair, bend in zip(picture.ends.tolist(), picture.bend.tolist(), strict=True)}
    assert all(by_pair[head, tail] == -bend for (tail, head), bend in by_pair.items())  # to the same side


def test_a_bus_is_a_line_to_which_all_nodes_are_joined() -> None:
    picture = geometry_of(build_topology("bus", 5))
    assert picture.ends.tolist() == [[5, 6]]
    assert picture.stubs[:, 0].tolist() == [0, 1, 2, 3, 4]
    (left, y), (right, other) = picture.position[5:].tolist()
    assert y == other
    assert all(left < x < right and y_host != y for x, y_host in picture.position[:5].tolist())


def test_a_mesh_is_drawn_as_it_is() -> None:
    picture = geometry_of(build_topology("mesh", 6, [2, 3]))
    assert picture.position.tolist() == [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]


def test_layers_of_switches_above_the_nodes() -> None:
    topology: Topology = NETWORKS["tree"]
    picture = geometry_of(topology)
    tail, head = picture.ends[::2].T  # up
    assert np.all(picture.position[head, 1] < picture.position[tail, 1])
