"""Network topologies against NetworkX shortest paths, brute-force cuts and dictionaries of loads."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.topology import base as topology_base
from simcodesign.describe.topology import graph as graph_module
from simcodesign.describe.topology import graph_files, link_loads
from simcodesign.describe.topology.base import TOPOLOGIES, Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.fat_tree import FatTreeTopology
from simcodesign.describe.topology.graph_files import load_graph
from simcodesign.describe.topology.grid_shape import balanced_shape
from simcodesign.describe.topology.low_diameter.dragonfly import DragonflyTopology


def star_of_rings() -> nx.Graph:
    """Two switches, listed first, with four hosts each, and a direct cable between two hosts."""
    graph = nx.Graph()
    graph.add_nodes_from(["left", "right"], host=False)
    for side in ("left", "right"):
        graph.add_edges_from((side, f"{side}{number}") for number in range(4))
    graph.add_edges_from([("left", "right"), ("left3", "right3")])
    return graph


def leaf_spine(leaves: int, spines: int, per_leaf: int) -> nx.Graph:
    """Every leaf switch linked to every spine switch; the hosts of a leaf follow one another."""
    graph = nx.Graph()
    graph.add_nodes_from(range(leaves * per_leaf))
    graph.add_nodes_from([f"leaf{leaf}" for leaf in range(leaves)], host=False)
    graph.add_nodes_from([f"spine{spine}" for spine in range(spines)], host=False)
    graph.add_edges_from((host, f"leaf{host // per_leaf}") for host in range(leaves * per_leaf))
    graph.add_edges_from((f"leaf{leaf}", f"spine{spine}") for leaf in range(leaves) for spine in range(spines))
    return graph


def chorded_ring() -> nx.DiGraph:
    graph = nx.DiGraph((host, (host + 1) % 9) for host in range(9))
    graph.add_edges_from([(0, 4), (3, 1), (7, 2)])
    return graph


def dragonfly(p: int, a: int, h: int, groups: int, arrangement: str = "consecutive") -> Topology:
    sizes = {"terminals": p, "routers": a, "global_links": h}
    return build_topology("dragonfly", p * a * groups, **sizes, arrangement=arrangement)


def dragonfly_plus(p: int, leaves: int, spines: int, h: int, groups: int, arrangement: str = "consecutive") -> Topology:
    sizes = {"terminals": p, "leaves": leaves, "spines": spines, "global_links": h}
    return build_topology("dragonfly_plus", p * leaves * groups, **sizes, arrangement=arrangement)


SMALL: dict[str, Topology] = {
    "mesh 1": build_topology("mesh", 1),
    "mesh 7": build_topology("mesh", 7, [7]),
    "mesh 4x3": build_topology("mesh", 12, (4, 3)),
    "mesh 2x1x5": build_topology("mesh", 10, [2, 1, 5]),
    "mesh 3x2x2x3": build_topology("mesh", 36, [3, 2, 2, 3]),
    "torus 6": build_topology("torus", 6, [6]),
    "torus 2x2": build_topology("torus", 4, [2, 2]),
    "torus 4x5": build_topology("torus", 20, [4, 5]),
    "torus 3x1x2x4": build_topology("torus", 24, [3, 1, 2, 4]),
    "mesh 2x3x1x2x2x2": build_topology("mesh", 48, [2, 3, 1, 2, 2, 2]),
    "torus 2x1x3x2x1x4": build_topology("torus", 48, [2, 1, 3, 2, 1, 4]),
    "torus 3x(4)x(3)": build_topology("torus", 36, [3, 4, 3], wrap=[True, False, False]),
    "tree 1": build_topology("tree", 1),
    "tree 2": build_topology("tree", 2),
    "tree 8": build_topology("tree", 8),
    "tree 11": build_topology("tree", 11),
    "fat tree 1": build_topology("fat_tree", 1, arity=2),
    "fat tree 5 of 8": build_topology("fat_tree", 5, arity=8),
    "fat tree 2^3": build_topology("fat_tree", 8, arity=2),
    "fat tree 3^3": build_topology("fat_tree", 27, arity=3),
    "fat tree 11 of 2^4": build_topology("fat_tree", 11, arity=2),
    "fat tree 20 of 3^3": build_topology("fat_tree", 20, arity=3),
    "hypercube 1": build_topology("hypercube", 1),
    "hypercube 16": build_topology("hypercube", 16),
    "bus 1": build_topology("bus", 1),
    "bus 5": build_topology("bus", 5),
    "crossbar 1": build_topology("crossbar", 1),
    "crossbar 6": build_topology("crossbar", 6),
    "graph petersen": build_topology("graph", 10, graph=nx.petersen_graph()),
    "graph with switches": build_topology("graph", 8, graph=star_of_rings()),
    "graph leaf and spine": build_topology("graph", 12, graph=leaf_spine(3, 3, 4)),
    "graph directed": build_topology("graph", 9, graph=chorded_ring()),
    "graph of one": build_topology("graph", 1, graph=nx.empty_graph(1)),
    "dragonfly 1": dragonfly(1, 1, 1, 1),
    "dragonfly 1 group": dragonfly(2, 3, 1, 1),
    "dragonfly 72": dragonfly(2, 4, 2, 9),
    "dragonfly 72 palmtree": dragonfly(2, 4, 2, 9, "palmtree"),
    "dragonfly 5 of 7 groups": dragonfly(1, 3, 2, 5, "palmtree"),
    "dragonfly 4 of 10 groups": dragonfly(2, 3, 3, 4),
    "dragonfly 2 of 9 groups": dragonfly(1, 4, 2, 2, "palmtree"),
    "dragonfly of single routers": dragonfly(3, 1, 4, 5),
    "dragonfly+ 1": dragonfly_plus(1, 1, 1, 1, 1),
    "dragonfly+ 1 group": dragonfly_plus(2, 3, 2, 1, 1),
    "dragonfly+ 5 groups": dragonfly_plus(2, 3, 2, 2, 5, "palmtree"),
    "dragonfly+ 3 of 7 groups": dragonfly_plus(1, 2, 3, 2, 3),
    "hyperx 1": build_topology("hyperx", 1, (1,)),
    "hyperx 4x3": build_topology("hyperx", 24, (4, 3)),
    "hyperx 2x1x3x2 cables 1,2,3,2": build_topology("hyperx", 36, (2, 1, 3, 2), terminals=3, cables=(1, 2, 3, 2)),
    "slim fly 3": build_topology("slim_fly", 36, q=3),
    "slim fly 4": build_topology("slim_fly", 32, q=4),
    "slim fly 5": build_topology("slim_fly", 50, q=5),
}
each = pytest.mark.parametrize("topology", SMALL.values(), ids=SMALL.keys())
ACYCLIC = ("mesh", "tree", "fat tree", "hypercube", "crossbar", "hyperx", "dragonfly+")
acyclic = pytest.mark.parametrize("name", [name for name in SMALL if name.startswith(ACYCLIC)])


def host_pairs(topology: Topology) -> list[tuple[int, int]]:
    hosts = range(topology.node_count)
    return [(a, b) for a in hosts for b in hosts]


def cables(topology: Topology) -> set[frozenset[int]]:
    return {frozenset(edge) for edge in topology.to_networkx().edges}


def all_to_all(topology: Topology) -> dict[tuple[int, int], float]:
    """What each link, as a pair of vertices, carries when every host sends one byte to every other."""
    links, loads = topology.traffic_loads(np.ones((topology.node_count, topology.node_count)))
    carried = dict.fromkeys(range(topology.link_count), 0.0) | dict(zip(links.tolist(), loads.tolist(), strict=True))
    return {(a, b): carried[link] for a, b, link in topology.to_networkx().edges(data="link")}


def by_digits(number: int, base: int, count: int) -> tuple[int, ...]:
    return tuple(number // base**place % base for place in range(count))


# --- what holds for every topology -------------------------------------------------------------------------


def test_every_kind_is_covered() -> None:
    assert {topology.kind for topology in SMALL.values()} == set(TOPOLOGIES)


@each
def test_hops_are_shortest_paths(topology: Topology) -> None:
    lengths = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    host = np.arange(topology.node_count)
    hops = topology.hops(host[:, None], host)
    assert hops.dtype == np.int64
    detour = hops - [[lengths[a][b] for b in host.tolist()] for a in host.tolist()]
    assert detour.min() == 0
    assert detour.max() <= topology.detour_hops
    assert topology.diameter == hops.max()
    assert topology.mean_hops() == pytest.approx(hops.sum() / max(1, len(host) * (len(host) - 1)), rel=1e-13)


@pytest.mark.parametrize("name", [name for name in SMALL if name.startswith("dragonfly ")])
def test_minimal_routes_of_a_dragonfly_stay_in_two_groups(name: str) -> None:
    """Among those, no path is shorter. One over a third group may be, as in the dragonfly of 72 hosts."""
    network = SMALL[name]
    assert isinstance(network, DragonflyTopology)
    graph, host = network.to_networkx(), np.arange(network.node_count)
    hops = network.hops(host[:, None], host)
    assert network.detour_hops == 1
    group = [v // (network.terminals * network.routers) for v in host.tolist()]
    group += [router // network.routers for router in range(network.router_count)]
    for one, other in itertools.combinations_with_replacement(range(network.groups), 2):
        lengths = nx.all_pairs_shortest_path_length(graph.subgraph(v for v in graph if group[v] in (one, other)))
        for source, distances in lengths:
            for target, length in distances.items():
                if {group[source], group[target]} == {one, other} and max(source, target) < network.node_count:
                    assert hops[source, target] == length


@each
def test_routes_are_connected_paths(topology: Topology) -> None:
    graph = topology.to_networkx()
    pairs = np.array(host_pairs(topology))
    routes = topology.routes(pairs[:, 0], pairs[:, 1])
    ends: dict[int, set[tuple[int, int]]] = {}
    for a, b, link in graph.edges(data="link"):
        ends.setdefault(link, set()).add((a, b))
    assert routes.start[0] == 0
    assert routes.start[-1] == routes.link.size
    for k, (source, target) in enumerate(pairs.tolist()):
        at = source
        links = routes.link[routes.start[k] : routes.start[k + 1]].tolist()
        for link in links:
            following = {b for a, b in ends[link] if a == at}
            at = target if topology.kind == "bus" else following.pop()
        assert at == target
        assert len(links) == topology.hops(source, target)
        assert topology.route(source, target).tolist() == links


@given(st.sampled_from(["mesh", "torus"]), st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_routes_of_grids_go_step_by_step(kind: str, shape: list[int]) -> None:
    """Those written a dimension at a time are those of hop after hop."""
    grid = build_topology(kind, math.prod(shape), tuple(shape))
    pairs = np.random.default_rng(1).integers(0, grid.node_count, (2, 50))
    routes, walked = grid.routes(*pairs), Topology.routes(grid, *pairs)
    assert routes.start.tolist() == walked.start.tolist()
    assert routes.link.tolist() == walked.link.tolist()


@each
def test_links_are_numbered_without_gaps(topology: Topology) -> None:
    links = [link for _, _, link in topology.to_networkx().edges(data="link")]
    if topology.kind == "bus":
        assert set(links) <= {0}
    else:
        assert sorted(links) == list(range(topology.link_count))


@each
def test_link_loads_equal_a_slow_count(topology: Topology) -> None:
    random = np.random.default_rng(7)
    source, target = random.integers(0, topology.node_count, (2, 200))
    size = random.integers(0, 1000, 200)
    slow: Counter[int] = Counter()
    for a, b, count in zip(source.tolist(), target.tolist(), size.tolist(), strict=True):
        slow.update(dict.fromkeys(topology.route(a, b).tolist(), count))
    expected = sorted((link, load) for link, load in slow.items() if load)
    links, loads = topology.link_loads(source, target, size)
    assert list(zip(links.tolist(), loads.tolist(), strict=True)) == expected
    assert loads.sum() == (size * topology.hops(source, target)).sum()


@each
def test_loads_do_not_depend_on_chunks_and_counters(topology: Topology, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(3).integers(0, 5, (topology.node_count, topology.node_count))
    links, loads = topology.traffic_loads(matrix)
    monkeypatch.setattr(topology_base, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(topology_base, "DENSE_LINKS", 0)
    monkeypatch.setattr(link_loads, "PENDING_LINKS", 20)
    sparse_links, sparse_loads = topology.traffic_loads(matrix)
    assert links.tolist() == sparse_links.tolist()
    assert loads.tolist() == sparse_loads.tolist()
    source, target = np.array(host_pairs(topology)).T
    assert loads.sum() == (matrix[source, target] * topology.hops(source, target)).sum()


@acyclic
def test_routes_cannot_deadlock(name: str) -> None:
    """Dally and Seitz (1987): no cycle among the channels that follow one another on a route."""
    topology = SMALL[name]
    waits = nx.DiGraph()
    for a, b in host_pairs(topology):
        waits.add_edges_from(itertools.pairwise(topology.route(a, b).tolist()))
    assert nx.is_directed_acyclic_graph(waits)


@each
def test_link_names_are_distinct(topology: Topology) -> None:
    if topology.node_count > 1:
        names = {topology.link_name(link) for link in range(topology.link_count)}
        assert len(names) == topology.link_count


# --- structure of each kind --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("mesh", (4, 3)),
        ("mesh", (2, 3, 4)),
        ("torus", (3, 4)),
        ("torus", (5, 3, 4)),
        ("mesh", (2, 3, 2, 2, 2, 3)),
        ("torus", (3, 4, 3, 3, 4, 3)),
    ],
)
def test_grids_are_networkx_grids(kind: str, shape: tuple[int, ...]) -> None:
    grid = nx.grid_graph(dim=shape[::-1], periodic=kind == "torus")
    number = {place: int(np.ravel_multi_index(place, shape)) for place in grid}
    expected = {frozenset((number[a], number[b])) for a, b in grid.edges}
    assert cables(build_topology(kind, math.prod(shape), shape)) == expected


def test_a_torus_may_be_open_in_some_dimensions() -> None:
    """The network of Tofu D: six dimensions, of which X, Y, Z and B are rings and A and C, of two hosts, are not."""
    shape, wrap = (3, 4, 3, 2, 3, 2), (True, True, False, False, True, False)
    grid = nx.grid_graph(dim=shape[::-1], periodic=wrap[::-1])
    number = {place: int(np.ravel_multi_index(place, shape)) for place in grid}
    torus = build_topology("torus", math.prod(shape), shape, wrap=wrap)
    assert cables(torus) == {frozenset((number[a], number[b])) for a, b in grid.edges}
    assert torus.label == "torus 3x4x(3)x(2)x3x(2)"
    assert torus.diameter == 1 + 2 + 2 + 1 + 1 + 1
    assert build_topology("torus", 12, (4, 3), wrap=[True, True]).link_count == build_topology("torus", 12).link_count
    assert cables(build_topology("torus", 12, (4, 3), wrap=[False, False])) == cables(SMALL["mesh 4x3"])


@pytest.mark.parametrize("wrap", list(itertools.product((True, False), repeat=2)), ids=str)
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 5), (4, 4), (6, 2)], ids=str)
def test_bisection_of_mixed_tori(shape: tuple[int, int], wrap: tuple[bool, bool]) -> None:
    torus = build_topology("torus", math.prod(shape), shape, wrap=wrap)
    least = brute_force_bisection(torus)
    assert torus.bisection_width >= least
    assert not torus.bisection_exact or torus.bisection_width == least
    assert torus.bisection_exact or shape in ((4, 3), (3, 3))


def test_a_torus_of_extent_two_has_no_second_cable() -> None:
    torus = build_topology("torus", 4, [2, 2])
    assert torus.link_count == 8
    assert cables(torus) == cables(build_topology("mesh", 4, [2, 2]))
    assert build_topology("torus", 3, [3, 1]).link_count == 6


def test_hypercube_links_differ_in_one_bit() -> None:
    expected = {frozenset((a, b)) for a, b in itertools.combinations(range(16), 2) if (a ^ b).bit_count() == 1}
    assert cables(SMALL["hypercube 16"]) == expected


def test_full_binary_tree() -> None:
    tree = SMALL["tree 8"]
    graph = tree.to_networkx().to_undirected()
    assert nx.is_isomorphic(graph, nx.balanced_tree(2, 3))
    assert sorted(v for v in graph if graph.degree(v) == 1) == list(range(8))
    assert [tree.hops(0, b) for b in range(8)] == [0, 2, 4, 4, 6, 6, 6, 6]


@given(st.integers(2, 40))
def test_trees_have_the_levels_they_need(node_count: int) -> None:
    tree = build_topology("tree", node_count)
    graph = tree.to_networkx().to_undirected()
    assert nx.is_tree(graph)
    assert tree.diameter == 2 * math.ceil(math.log2(node_count))
    switches = [v for v in graph if v >= node_count]
    assert all(graph.degree(v) >= 2 or v == max(switches) for v in switches)


@pytest.mark.parametrize(("arity", "levels", "node_count"), [(2, 3, 8), (2, 4, 13), (3, 3, 27), (4, 2, 9)])
def test_fat_tree_is_the_k_ary_n_tree(arity: int, levels: int, node_count: int) -> None:
    """Petrini and Vanneschi's definition: switches of neighbouring levels agree in all digits but one."""
    per_level = arity ** (levels - 1)
    expected = {frozenset((host, node_count + host // arity)) for host in range(node_count)}
    words = [by_digits(word, arity, levels - 1) for word in range(per_level)]
    for level, low, high in itertools.product(range(levels - 1), range(per_level), range(per_level)):
        if all(words[low][d] == words[high][d] for d in range(levels - 1) if d != level):
            ends = (level * per_level + low, (level + 1) * per_level + high)
            expected.add(frozenset(node_count + end for end in ends))
    tree = build_topology("fat_tree", node_count, arity=arity)
    assert tree.vertex_count == node_count + levels * per_level
    assert cables(tree) == expected


@pytest.mark.parametrize(("arity", "levels"), [(2, 1), (2, 4), (3, 3), (4, 2), (5, 2)])
def test_shift_permutations_share_no_link_of_a_full_fat_tree(arity: int, levels: int) -> None:
    """Zahavi, JPDC 72 (2012): d-mod-k routes every shift of a full k-ary n-tree without contention."""
    count = arity**levels
    tree, host = build_topology("fat_tree", count, arity=arity), np.arange(count)
    for shift in range(1, count):
        links = tree.routes(host, (host + shift) % count).link
        assert np.unique(links).size == links.size


def test_fat_tree_goes_up_by_the_digits_of_the_destination() -> None:
    tree, target = build_topology("fat_tree", 27, arity=3), 14  # digits 2, 1, 1, the lowest first
    ends = {link: (a, b) for a, b, link in tree.to_networkx().edges(data="link")}
    visited = [ends[link][1] - 27 for link in tree.route(0, target).tolist()]
    # host 0 -> level 0 word 00; port 2 to level 1 word (2,0); port 1 to level 2 word (2,1); then down to host 14
    assert visited[:3] == [0, 9 + 2, 18 + 2 + 3 * 1]
    assert visited[-1] + 27 == target


@pytest.mark.parametrize("name", ["mesh 3x2x2x3", "torus 3x1x2x4", "hypercube 16"])
def test_dimension_order(name: str) -> None:
    topology = SMALL[name]
    shape = (2, 2, 2, 2) if name == "hypercube 16" else topology.shape  # type: ignore[attr-defined]
    ends = {link: (a, b) for a, b, link in topology.to_networkx().edges(data="link")}
    for source, target in host_pairs(topology):
        path = [source, *(ends[link][1] for link in topology.route(source, target).tolist())]
        places = [np.array(np.unravel_index(vertex, shape)) for vertex in path]
        changed = [int(np.flatnonzero(a != b)[0]) for a, b in itertools.pairwise(places)]
        assert changed == sorted(changed, reverse=name == "hypercube 16")  # bit 0 is the last coordinate


def test_ties_on_a_ring_go_up_from_even_and_down_from_odd_coordinates() -> None:
    ring = build_topology("torus", 6, [6])
    names = [[ring.link_name(link) for link in ring.route(source, (source + 3) % 6)] for source in (0, 4, 3, 1)]
    assert names[0] == ["(0)->(1)", "(1)->(2)", "(2)->(3)"]
    assert names[1] == ["(4)->(5)", "(5)->(0)", "(0)->(1)"]
    assert names[2] == ["(3)->(2)", "(2)->(1)", "(1)->(0)"]
    assert names[3] == ["(1)->(0)", "(0)->(5)", "(5)->(4)"]
    assert [ring.link_name(link) for link in ring.route(1, 5)] == ["(1)->(0)", "(0)->(5)"]


@pytest.mark.parametrize(
    "shape", [(4,), (6,), (8,), (10,), (12,), (8, 4), (6, 4), (6, 10), (4, 4, 4), (4, 6, 8)], ids=str
)
def test_even_tori_are_balanced(shape: tuple[int, ...]) -> None:
    """All to all, pairs take extent / 4 hops per dimension on average, over 2 links per host: hosts * extent / 8.

    On a ring of 6, 10, ... the mean of extent^2 / 8 is no whole number: its links are half a pair off.
    """
    hosts = math.prod(shape)
    loads: dict[tuple[int, bool], list[float]] = {}
    for (tail, head), load in all_to_all(build_topology("torus", hosts, shape)).items():
        a, b = np.array(np.unravel_index([tail, head], shape)).T
        dimension = int(np.flatnonzero(a != b)[0])
        is_up = bool((b - a)[dimension] % shape[dimension] == 1)
        loads.setdefault((dimension, is_up), []).append(load)
    assert len(loads) == 2 * len(shape)
    for (dimension, _), values in loads.items():
        mean, rings = hosts * shape[dimension] / 8, hosts // shape[dimension]
        assert sum(values) == mean * hosts  # the same in both directions
        assert {abs(value - mean) for value in values} == {rings / 2 if shape[dimension] % 4 else 0}


def test_link_names() -> None:
    mesh, tree = build_topology("mesh", 6, [2, 3]), SMALL["tree 8"]
    assert mesh.link_name(int(mesh.route(1, 2)[0])) == "(0,1)->(0,2)"
    assert [tree.link_name(link) for link in tree.route(3, 2).tolist()] == [
        "host 3 -> switch 1",
        "switch 1 -> host 2",
    ]
    assert SMALL["bus 5"].link_name(0) == "bus"
    graph = SMALL["graph with switches"]
    assert [graph.link_name(link) for link in graph.route(0, 1)] == ["left0 -> left", "left -> left1"]


@given(st.sampled_from(["mesh", "torus"]), st.lists(st.integers(1, 4), min_size=1, max_size=6), st.data())
def test_any_grid(kind: str, shape: list[int], data: st.DataObject) -> None:
    count = math.prod(shape)
    topology = build_topology(kind, count, shape)
    host = st.integers(0, count - 1)
    source, target = data.draw(host), data.draw(host)
    apart = [abs(a - b) for a, b in zip(np.unravel_index(source, shape), np.unravel_index(target, shape), strict=True)]
    if kind == "torus":
        apart = [min(a, extent - a) for a, extent in zip(apart, shape, strict=True)]
    assert topology.hops(source, target) == sum(apart)
    graph = topology.to_networkx()
    ends = {link: (a, b) for a, b, link in graph.edges(data="link")}
    route = [ends[link] for link in topology.route(source, target).tolist()]
    assert len(route) == sum(apart)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(route))
    assert not route or (route[0][0], route[-1][1]) == (source, target)
    assert len(ends) == graph.number_of_edges() == topology.link_count


@given(st.integers(2, 5), st.integers(1, 60), st.data())
def test_any_fat_tree(arity: int, count: int, data: st.DataObject) -> None:
    tree = build_topology("fat_tree", count, arity=arity)
    host = st.integers(0, count - 1)
    source, target = data.draw(host), data.draw(host)
    graph = tree.to_networkx()
    assert tree.hops(source, target) == nx.shortest_path_length(graph, source, target)
    ends = {link: (a, b) for a, b, link in graph.edges(data="link")}
    route = [ends[link] for link in tree.route(source, target).tolist()]
    assert len(route) == tree.hops(source, target)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(route))
    assert not route or (route[0][0], route[-1][1]) == (source, target)


# --- bisection width ---------------------------------------------------------------------------------------


def halves(hosts: int) -> itertools.combinations[tuple[int, ...]]:
    return itertools.combinations(range(hosts), hosts // 2)


def brute_force_bisection(topology: Topology) -> int:
    """The smallest cut over all halves of the hosts; the switches by maximum flow (Ford and Fulkerson)."""
    graph = topology.to_networkx().to_undirected()
    nx.set_edge_attributes(graph, 1, "capacity")
    if topology.vertex_count == topology.node_count:
        return min(int(nx.cut_size(graph, half)) for half in halves(topology.node_count))
    widths = []
    for half in halves(topology.node_count):
        joined = graph.copy()
        rest = set(range(topology.node_count)) - set(half)
        joined.add_edges_from([("source", host) for host in half] + [(host, "sink") for host in rest])
        widths.append(nx.maximum_flow_value(joined, "source", "sink"))
    return int(min(widths))


GRID_SHAPES = [
    shape
    for dims in (1, 2, 3, 4)
    for shape in itertools.product(range(1, 8), repeat=dims)
    if math.prod(shape) <= 12 and tuple(sorted(shape, reverse=True)) == shape
] + [(5, 3), (4, 4), (4, 2, 2), (2, 2, 2, 2)]


@pytest.mark.parametrize("shape", GRID_SHAPES, ids=str)
def test_bisection_of_meshes(shape: tuple[int, ...]) -> None:
    mesh = build_topology("mesh", math.prod(shape), shape[::-1])
    assert mesh.bisection_exact
    assert mesh.bisection_width == brute_force_bisection(mesh)


@pytest.mark.parametrize("shape", GRID_SHAPES, ids=str)
def test_bisection_of_tori(shape: tuple[int, ...]) -> None:
    torus = build_topology("torus", math.prod(shape), shape)
    least = brute_force_bisection(torus)
    assert torus.bisection_width >= least
    if torus.bisection_exact:
        assert torus.bisection_width == least


@pytest.mark.parametrize(("shape", "width"), [((8,), 2), ((8, 8), 16), ((4, 4, 4), 32), ((16, 8, 8), 128)])
def test_bisection_of_even_tori_is_textbook(shape: tuple[int, ...], width: int) -> None:
    """Dally and Towles (2004), Sec. 5.2.1: a k-ary n-cube with even k has 2 k^(n-1) cables in its bisection."""
    torus = build_topology("torus", math.prod(shape), shape)
    assert (torus.bisection_width, torus.bisection_exact) == (width, True)


@pytest.mark.parametrize("count", range(1, 11))
def test_bisection_of_trees(count: int) -> None:
    tree = build_topology("tree", count)
    least = brute_force_bisection(tree) if count > 1 else 0
    assert tree.bisection_width >= least
    assert not tree.bisection_exact or tree.bisection_width == least
    assert count & (count - 1) or tree.bisection_exact


@pytest.mark.parametrize(("count", "arity"), [(1, 2), (3, 4), (4, 2), (5, 2), (7, 2), (8, 2), (7, 3), (9, 3)])
def test_bisection_of_fat_trees(count: int, arity: int) -> None:
    tree = build_topology("fat_tree", count, arity=arity)
    assert tree.bisection_exact
    assert tree.bisection_width == (brute_force_bisection(tree) if count > 1 else 0)


def test_bisection_of_the_others() -> None:
    assert SMALL["hypercube 1"].bisection_width == 0
    for dimension in (1, 2, 3):
        cube = build_topology("hypercube", 2**dimension)
        assert cube.bisection_width == brute_force_bisection(cube)
    for count in (2, 3, 6, 7):
        crossbar = build_topology("crossbar", count)
        assert crossbar.bisection_width == brute_force_bisection(crossbar)
    assert [build_topology("bus", count).bisection_width for count in (1, 2, 9)] == [0, 1, 1]


def test_bisection_of_graphs() -> None:
    for name in ("graph petersen", "graph directed"):
        assert SMALL[name].bisection_exact
        assert SMALL[name].bisection_width == brute_force_bisection(SMALL[name])
    with_switches = SMALL["graph with switches"]
    assert not with_switches.bisection_exact
    assert with_switches.bisection_width >= brute_force_bisection(with_switches)
    assert SMALL["graph of one"].bisection_width == 0
    ring = build_topology("graph", 40, graph=nx.cycle_graph(40))
    assert ring.bisection_width >= 2
    assert not ring.bisection_exact


# --- graphs ------------------------------------------------------------------------------------------------


@given(st.integers(2, 12), st.integers(0, 10**6), st.booleans())
def test_graph_routes_choose_the_next_vertex_by_the_destination(count: int, seed: int, directed: bool) -> None:
    graph = nx.gnp_random_graph(count, 0.3, seed=seed, directed=directed)
    nx.add_cycle(graph, range(count)) if count > 2 else nx.add_path(graph, range(count))
    graph.add_edges_from([(1, 0)] if directed and count == 2 else [])
    topology = build_topology("graph", count, graph=graph)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    at, target = np.array([pair for pair in host_pairs(topology) if pair[0] != pair[1]]).T
    following, link = topology.step(at, target)
    for a, b, got in zip(at.tolist(), target.tolist(), following.tolist(), strict=True):
        nearer = sorted(v for v in graph[a] if lengths[v][b] == lengths[a][b] - 1)
        assert got == nearer[b % len(nearer)]
    tails, heads = topology.link_ends(link)
    assert (tails.tolist(), heads.tolist()) == (at.tolist(), following.tolist())


@pytest.mark.parametrize(("leaves", "spines", "per_leaf"), [(4, 4, 4), (4, 4, 16), (4, 8, 16)])
def test_uplinks_and_downlinks_of_leaves_carry_the_same(leaves: int, spines: int, per_leaf: int) -> None:
    hosts = leaves * per_leaf
    loads = all_to_all(build_topology("graph", hosts, graph=leaf_spine(leaves, spines, per_leaf)))
    between = [load for ends, load in loads.items() if min(ends) >= hosts]
    assert len(between) == 2 * leaves * spines
    assert set(between) == {per_leaf * (hosts - per_leaf) / spines}


@pytest.mark.parametrize("dimension", [4, 5, 6])
def test_a_hypercube_given_as_a_graph_is_loaded_fairly_evenly(dimension: int) -> None:
    """E-cube routing is balanced; the lowest next vertex would load a link (3/2)^(d-1) times as much."""
    cube = build_topology("hypercube", 2**dimension)
    graph = nx.empty_graph(2**dimension)  # lists the hosts in the order of their numbers
    graph.add_edges_from(cables(cube))
    same = build_topology("graph", 2**dimension, graph=graph)
    assert max(all_to_all(same).values()) <= 2.5 * max(all_to_all(cube).values())


def test_graph_hosts_come_first_in_the_order_of_the_file() -> None:
    topology = SMALL["graph with switches"]
    assert [topology.vertex_name(v) for v in (0, 3, 4, 8, 9)] == ["left0", "left3", "right0", "left", "right"]
    assert topology.hops([0, 3, 0], [1, 7, 4]).tolist() == [2, 1, 3]


def test_the_table_may_be_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build_topology("graph", 12, graph=leaf_spine(3, 3, 4))
    pairs = np.array(host_pairs(whole))
    expected = whole.routes(pairs[:, 0], pairs[:, 1]).link.tolist()
    monkeypatch.setattr(graph_module, "CELLS_AT_ONCE", 5 * whole.link_count)
    pieces = build_topology("graph", 12, graph=leaf_spine(3, 3, 4))
    assert pieces.routes(pairs[:, 0], pairs[:, 1]).link.tolist() == expected


def test_a_switch_that_no_host_reaches_does_no_harm() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "a"), ("s", "a")])
    graph.add_node("s", host="false")
    assert build_topology("graph", 2, graph=graph).hops(0, 1) == 1


def test_attributes_that_only_show_a_graph_say_nothing() -> None:
    plain, shown = nx.cycle_graph(5), nx.cycle_graph(5)
    nx.set_node_attributes(shown, {vertex: {"pos": (vertex, 0), "Label": "n", "size": 3} for vertex in shown})
    nx.set_edge_attributes(shown, {edge: {"id": "e", "color": "red", "weight": 1.0} for edge in shown.edges})
    topologies = [build_topology("graph", 5, graph=graph) for graph in (plain, shown)]
    assert topologies[0].to_networkx().edges == topologies[1].to_networkx().edges


def test_defaults_of_graphml_keys_count(tmp_path: Path) -> None:
    """A key's default is the value of all that say none: NetworkX leaves it with the graph."""
    file = tmp_path / "defaults.graphml"
    start = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    host = '<key id="h" for="node" attr.name="host" attr.type="boolean"><default>false</default></key>'
    speed = '<key id="s" for="edge" attr.name="bandwidth" attr.type="double"><default>3</default></key>'
    nodes = '<node id="a"><data key="h">true</data></node><node id="b"/><node id="c"><data key="h">true</data></node>'
    edges = '<edge source="a" target="b"/><edge source="b" target="c"/>'
    body = f'<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'
    file.write_text(start + host + body)
    topology = build_topology("graph", 2, graph=load_graph(file))
    assert topology.hops(0, 1) == 2
    file.write_text(start + host + speed + body)
    assert {group.per_byte_s for group in build_topology("graph", 2, graph=load_graph(file)).link_groups} == {1 / 3}


def test_graphml_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "net.graphml"
    nx.write_graphml(star_of_rings(), file)
    topology = build_topology("graph", 8, graph=load_graph(file))
    again = SMALL["graph with switches"]
    assert topology.to_networkx().edges == again.to_networkx().edges
    assert topology.vertex_name(8) == "left"


LAUGHS = (
    '<?xml version="1.0"{encoding}?><!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    '<graphml><graph edgedefault="undirected"><node id="&b;"/></graph></graphml>'
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LAUGHS.format(encoding="").encode(), "document type"),
        (LAUGHS.format(encoding=' encoding="UTF-16"').encode("utf-16"), "document type"),
        (b"<graphml><graph>", "malformed XML"),
        (b"", "malformed XML"),
        (b'<?xml version="1.0" encoding="nonsense"?><graphml/>', "malformed XML"),
        (b"<html></html>", "not a GraphML graph"),
        (b'<graphml><graph><node id="a"><data key="no"/></node></graph></graphml>', "not a GraphML graph"),
        (b"<graphml><graph>\n<node/></graph></graphml>", ":2: node without an id"),
        (b'<graphml><graph><node id="a"/>\n<node id="a"/></graph></graphml>', ":2: two nodes with the same id"),
        (b'<graphml><graph><node id="a"/>\n<edge source="a"/></graph></graphml>', ":2: edge without a target"),
        (
            b'<graphml><graph>\n<edge source="aa" target="a"/><node id="a"/></graph></graphml>',
            ":2: edge to a node.*'aa'",
        ),
    ],
)
def test_bad_graphml(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "bad.graphml"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load_graph(file)
    assert str(file) in str(caught.value)


def test_unreadable_graphml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"m\.yaml:3: network: .*none\.graphml"):
        load_graph(tmp_path / "none.graphml", Place("m.yaml", 3, "network"))
    with pytest.raises(InputError, match="cannot be read"):
        load_graph(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        load_graph("a\0b")
    file = tmp_path / "large.graphml"
    nx.write_graphml(nx.path_graph(3), file)
    monkeypatch.setattr(graph_files, "MAX_FILE_BYTES", 100)
    with pytest.raises(InputError, match="too large"):
        load_graph(file)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_input_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.graphml"
    file.write_bytes(content)
    with pytest.raises(InputError):
        load_graph(file)


def test_bad_graphs() -> None:
    two = nx.Graph([("a", "b"), ("c", "d")])
    with pytest.raises(InputError, match="no way leads from 'a' to 'c'"):
        build_topology("graph", 4, graph=two)
    with pytest.raises(InputError, match="no way leads from 'b' to 'a'"):
        build_topology("graph", 2, graph=nx.DiGraph([("a", "b")]))
    with pytest.raises(InputError, match="no way leads from 'b' to 'a'"):
        build_topology("graph", 2, graph=nx.DiGraph([("b", "c"), ("a", "b"), ("c", "b")]))
    with pytest.raises(InputError, match="node_count differs"):
        build_topology("graph", 3, graph=nx.path_graph(4))
    with pytest.raises(InputError, match=r"routing table would need up to 0\.4 GB.*at most 8192"):
        build_topology("graph", 8193, graph=nx.empty_graph(8193))
    with pytest.raises(InputError, match="without hosts"):
        build_topology("graph", 1, graph=nx.empty_graph(0))
    with pytest.raises(InputError, match="needs a graph"):
        build_topology("graph", 3)
    with pytest.raises(InputError, match="NetworkX"):
        build_topology("graph", 3, graph="net.graphml")
    odd = nx.path_graph(2)
    odd.nodes[0]["host"] = "perhaps"
    with pytest.raises(InputError, match=r"attribute host of vertex 0.*'perhaps'.*true or false"):
        build_topology("graph", 2, graph=odd)


# --- a million hosts ---------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "count", "options"),
    [
        ("torus", 10**6, {"shape": (100, 100, 100)}),
        ("hypercube", 2**20, {}),
        ("fat_tree", 10**6, {"arity": 10}),
        ("tree", 10**6, {}),
        ("crossbar", 10**6, {}),
        ("bus", 10**6, {}),
        ("torus", 10**6, {"shape": (10, 10, 10, 10, 10, 10), "wrap": (True, False) * 3}),
        ("dragonfly", 32 * 64 * 488, {"terminals": 32, "routers": 64, "global_links": 8, "arrangement": "palmtree"}),
        ("dragonfly_plus", 10**6, {"terminals": 25, "leaves": 40, "spines": 40, "global_links": 25}),
        ("hyperx", 20**5, {"shape": (20,) * 4}),
        ("slim_fly", 2 * 81**2 * 64, {"q": 81}),
    ],
)
def test_a_million_hosts_cost_no_table(kind: str, count: int, options: dict[str, object]) -> None:
    topology = build_topology(kind, count, **options)  # type: ignore[arg-type]
    source, target = np.random.default_rng(1).integers(0, count, (2, 1000))
    hops = topology.hops(source, target)
    links, loads = topology.link_loads(source, target, 8)
    assert loads.sum() == 8 * hops.sum()
    assert 0 <= links[0] <= links[-1] < topology.link_count
    assert topology.mean_hops() == pytest.approx(hops.mean(), rel=0.05)
    assert topology.bisection_width <= topology.link_count


def test_largest_link_numbers_fit() -> None:
    crossbar = build_topology("crossbar", 10**9)
    assert crossbar.link_name(10**9 * (10**9 - 1) - 1) == "host 999999999 -> host 999999998"
    tree = build_topology("fat_tree", 10**9, arity=10**9 - 1)
    assert tree.hops(0, 10**9 - 1) == 4 == tree.route(0, 10**9 - 1).size
    assert tree.link_name(tree.link_count - 1).startswith("switch")


# --- bad input ---------------------------------------------------------------------------------------------


DRAGONFLY = {"terminals": 2, "routers": 4, "global_links": 2}
LEAVES = {"leaves": 4, "spines": 4, "global_links": 2}


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("mehs", 4), {}, "unknown topology kind, got 'mehs'.*did you mean 'mesh'"),
        ((["mesh"], 4), {}, "unknown topology kind"),
        (("mesh", 0), {}, "node_count, got 0"),
        (("mesh", -4), {}, "node_count, got -4"),
        (("mesh", 4.0), {}, "whole number"),
        (("mesh", True), {}, "node_count, got True"),
        (("bus", 10**9 + 1), {}, "1000000000"),
        (("mesh", 12, (5, 3)), {}, "the shape has 15 hosts, but 12 are needed"),
        (("torus", 4, (4, 0)), {}, r"shape\[1\], got 0"),
        (("torus", 4, (-2, -2)), {}, r"shape\[0\], got -2"),
        (("mesh", 4, (2, 2.0)), {}, r"shape\[1\], got 2.0"),
        (("mesh", 4, "22"), {}, "shape, got '22'"),
        (("mesh", 4, 4), {}, "shape, got 4"),
        (("mesh", 1, ()), {}, "1 to 6 whole numbers"),
        (("mesh", 128, (2,) * 7), {}, "1 to 6 whole numbers"),
        (("mesh", 32), {"dims": 7}, "dims, got 7"),
        (("mesh", 32), {"dims": 0}, "dims, got 0"),
        (("mesh", 4, (2, 2)), {"dims": 3}, "shape and dims differ"),
        (("mesh", 4, (2, 2)), {"wrap": [True, False]}, "mesh has no option wrap"),
        (("torus", 4, (2, 2)), {"wrap": [True]}, r"wrap, got \[True\].*a list of 2 times"),
        (("torus", 4, (2, 2)), {"wrap": [1, 0]}, r"wrap, got \[1, 0\]"),
        (("torus", 4, (2, 2)), {"wrap": "tf"}, "wrap, got 'tf'"),
        (("dragonfly", 72), {"terminals": 2}, r"dragonfly needs routers \(of a group\), global_links"),
        (("dragonfly", 70), DRAGONFLY, "fill groups of 8 hosts, got 70 .*64 or 72"),
        (("dragonfly", 4), DRAGONFLY, "fill groups of 8 hosts, got 4 .*8 or 16"),
        (("dragonfly", 80), DRAGONFLY, "10 groups, each with 8 global links, got 10 .*at most 9 groups"),
        (("dragonfly", 72), {**DRAGONFLY, "routers": 0}, "routers, got 0"),
        (("dragonfly", 72), {**DRAGONFLY, "arrangement": "random"}, "got 'random' .*consecutive or palmtree"),
        (("dragonfly", 72), {**DRAGONFLY, "latency": (1e-6, 1e-6)}, "one for each kind of links, got .*a list of 3"),
        (("dragonfly_plus", 72), DRAGONFLY, "dragonfly_plus has no option routers"),
        (("dragonfly_plus", 70), {**LEAVES, "terminals": 2}, "fill groups of 8 hosts"),
        (("dragonfly_plus", 80), {**LEAVES, "terminals": 2}, "at most 9 groups"),
        (("hyperx", 9), {}, "needs a shape"),
        (("hyperx", 10, (3, 3)), {}, "9 hosts, got 10 .*9 or 18"),
        (("hyperx", 18, (3, 3)), {"terminals": 3}, "9 routers with 3 hosts each.*terminals: 2"),
        (("hyperx", 18, (3, 3)), {"cables": (1,)}, "one number for each dimension, got"),
        (("hyperx", 18, (3, 3)), {"cables": (1, 0)}, r"cables\[1\], got 0"),
        (("hyperx", 18, "33"), {}, "shape, got '33'"),
        (("slim_fly", 50), {}, "needs q"),
        (("slim_fly", 72), {"q": 6}, "a power of a prime"),
        (("slim_fly", 450), {"q": 15}, "a power of a prime"),
        (("slim_fly", 8), {"q": 2}, "q, got 2"),
        (("slim_fly", 51), {"q": 5}, "fill the routers.*50 or 100"),
        (("hypercube", 12), {}, "power of two, e.g. 8 or 16"),
        (("hypercube", 8, (2, 2, 2)), {}, "hypercube has no option shape"),
        (("fat_tree", 8), {}, "needs an arity"),
        (("fat_tree", 8), {"arity": 1}, "arity, got 1"),
        (("tree", 8), {"arity": 2}, "tree has no option arity"),
        (("bus", 8), {"dims": 2}, "bus has no option dims"),
        (("crossbar", 8), {"graph": nx.path_graph(2)}, "crossbar has no option graph"),
    ],
)
def test_bad_topologies(arguments: tuple[object, ...], options: dict[str, object], message: str) -> None:
    place = Place("machine.yaml", 7, "network")
    with pytest.raises(InputError, match=message) as caught:
        build_topology(*arguments, **options, place=place)  # type: ignore[arg-type]
    assert str(caught.value).startswith("machine.yaml:7: network: ")


def test_bad_hosts_and_sizes() -> None:
    mesh = build_topology("mesh", 4)
    with pytest.raises(InputError, match=r"no such target host, got 4 .*host 0 to 3"):
        mesh.hops(0, [1, 4])
    with pytest.raises(InputError, match="no such source host, got -1"):
        mesh.route(-1, 0)
    with pytest.raises(InputError, match="must be integers, got 'float64'"):
        mesh.hops(0.5, 1)
    with pytest.raises(InputError, match="rows differ"):
        mesh.hops([[0], [1, 2]], 1)
    for sources in ([0, 1, 2], [[0, 1]]):
        with pytest.raises(InputError, match="lists of one length"):
            mesh.routes(sources, [0, 1])
    for size in (-1, np.inf, np.nan):
        with pytest.raises(InputError, match="message size in bytes"):
            mesh.link_loads([0, 1], [1, 2], [0, size])
    with pytest.raises(InputError, match="one number of bytes per pair"):
        mesh.link_loads([0, 1], [1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="one number of bytes per pair"):
        mesh.link_loads([0, 1], [1, 2], "many")
    with pytest.raises(InputError, match=r"wrong shape, got \(3, 4\) .*\(4, 4\)"):
        mesh.traffic_loads(np.ones((3, 4)))
    with pytest.raises(InputError, match="message size"):
        mesh.traffic_loads(-np.eye(4))


def test_empty_traffic() -> None:
    mesh = build_topology("mesh", 4)
    assert mesh.routes([], []).start.tolist() == [0]
    for links, loads in (mesh.link_loads([], [], []), mesh.traffic_loads(np.eye(4))):
        assert links.size == loads.size == 0


def test_bad_links_and_large_graphs() -> None:
    for name in ("mesh 4x3", "bus 5", "mesh 1"):
        for link in (-1, SMALL[name].link_count):
            with pytest.raises(InputError, match="no such link"):
                SMALL[name].link_name(link)
    for kind in ("crossbar", "bus", "tree"):
        with pytest.raises(InputError, match=r"too many links.*at most 200000"):
            build_topology(kind, 10**6).to_networkx()


# --- balanced shapes ---------------------------------------------------------------------------------------


@given(st.integers(1, 400), st.integers(1, 6))
def test_balanced_shape_has_the_smallest_surface(count: int, dims: int) -> None:
    divisors = [d for d in range(1, count + 1) if count % d == 0]
    sorted_shapes = itertools.combinations_with_replacement(divisors, dims)
    allowed = [s[::-1] for s in sorted_shapes if math.prod(s) == count]
    shape = balanced_shape(count, dims)
    assert shape in allowed
    assert list(shape) == sorted(shape, reverse=True)
    assert shape == min(allowed, key=lambda s: (sum(count // extent for extent in s), s))


@pytest.mark.parametrize(
    ("count", "dims", "shape"),
    [(6, 2, (3, 2)), (7, 2, (7, 1)), (6, 3, (3, 2, 1)), (7, 3, (7, 1, 1)), (10**6, 3, (100, 100, 100))],
)
def test_balanced_shape_as_in_the_mpi_standard(count: int, dims: int, shape: tuple[int, ...]) -> None:
    """MPI 4.0, Sec. 8.5.2, examples of MPI_Dims_create."""
    assert balanced_shape(count, dims) == shape


def test_balanced_shape_of_large_numbers() -> None:
    assert balanced_shape(999983, 4) == (999983, 1, 1, 1)
    assert balanced_shape(10**12, 6) == (100,) * 6
    assert balanced_shape(2**37, 6) == (128, 64, 64, 64, 64, 64)
    assert math.prod(balanced_shape(720720, 4)) == 720720


@pytest.mark.parametrize(("count", "dims"), [(0, 2), (-6, 2), (6, 0), (6, 7), (2.5, 2), (10**12 + 1, 2)])
def test_bad_balanced_shapes(count: int, dims: int) -> None:
    with pytest.raises(InputError, match="whole number"):
        balanced_shape(count, dims)


def test_default_grids_are_balanced() -> None:
    assert build_topology("mesh", 12) == build_topology("mesh", 12, [4, 3])
    assert build_topology("torus", 64, dims=3) == build_topology("torus", 64, (4, 4, 4))
    assert isinstance(build_topology("fat_tree", 4, arity=2), FatTreeTopology)
