"""Dragonfly, Dragonfly+, HyperX and Slim Fly against their definitions, drawn as graphs by other means."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.low_diameter.finite_field import FiniteField
from simcodesign.describe.topology.low_diameter.hosts_on_routers import RouterTopology
from simcodesign.engine.simulate import simulate
from tests.builders import read_machine, workload_of_steps

ARRANGEMENTS = ("consecutive", "palmtree")


def dragonfly(p: int, a: int, h: int, groups: int, arrangement: str = "consecutive") -> Topology:
    sizes = {"terminals": p, "routers": a, "global_links": h}
    return build_topology("dragonfly", p * a * groups, **sizes, arrangement=arrangement)


def dragonfly_plus(p: int, leaves: int, spines: int, h: int, groups: int, arrangement: str = "consecutive") -> Topology:
    sizes = {"terminals": p, "leaves": leaves, "spines": spines, "global_links": h}
    return build_topology("dragonfly_plus", p * leaves * groups, **sizes, arrangement=arrangement)


def routers(network: Topology) -> nx.MultiGraph:
    """The cables between routers, which are numbered from 0."""
    assert isinstance(network, RouterTopology)
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(network.router_count))
    directed = Counter((a - network.node_count, b - network.node_count) for a, b in network.to_networkx().edges())
    for (a, b), count in directed.items():
        assert count == directed[b, a] or min(a, b) < 0
        if 0 <= a < b:
            graph.add_edges_from([(a, b)] * count)
    return graph


def cut_of_halves(network: Topology) -> int:
    """The smallest cut over all halves of the hosts, the other vertices by maximum flow."""
    graph = nx.DiGraph()
    for edge, count in Counter([*network.to_networkx().edges()]).items():
        graph.add_edge(*edge, capacity=count)
    hosts = range(network.node_count)
    widths = []
    for half in itertools.combinations(hosts, network.node_count // 2):
        joined = graph.copy()
        joined.add_edges_from([("source", host) for host in half])
        joined.add_edges_from([(host, "sink") for host in hosts if host not in half])
        widths.append(nx.maximum_flow_value(joined, "source", "sink"))
    return int(min(widths))


# --- structure ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize(("a", "h", "groups"), [(4, 2, 9), (3, 2, 5), (2, 3, 7), (4, 2, 2), (5, 2, 4), (3, 1, 3)])
def test_groups_of_a_dragonfly(a: int, h: int, groups: int, arrangement: str) -> None:
    """Kim et al. 2008, Sec. 3.1: complete groups, and as many cables between any two as their ports allow."""
    graph = routers(dragonfly(1, a, h, groups, arrangement))
    between: Counter[frozenset[int]] = Counter()
    ports: Counter[int] = Counter()
    for one, other in graph.edges():
        ends = frozenset((one // a, other // a))
        between[ends] += 1
        if len(ends) == 2:
            ports.update((one, other))
    pairs = [frozenset(pair) for pair in itertools.combinations(range(groups), 2)]
    assert between == {
        **{frozenset((group,)): a * (a - 1) // 2 for group in range(groups)},
        **dict.fromkeys(pairs, a * h // (groups - 1)),
    }
    assert max(ports.values()) <= h
    assert groups <= a * h or set(ports.values()) == {h}
    assert graph.number_of_edges() == sum(between.values())


def test_arrangements_of_global_links() -> None:
    """Five groups of two routers with two ports each: the group that ports 0 to 3 of every group lead to."""
    expected = {
        "consecutive": [[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3]],
        "palmtree": [[4, 3, 2, 1], [0, 4, 3, 2], [1, 0, 4, 3], [2, 1, 0, 4], [3, 2, 1, 0]],
    }
    for arrangement, table in expected.items():
        graph = routers(dragonfly(1, 2, 2, 5, arrangement))
        for group, row in enumerate(table):
            for router in (0, 1):
                others = {other // 2 for other in graph[2 * group + router]} - {group}
                assert others == set(row[2 * router : 2 * router + 2])


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_groups_of_a_dragonfly_plus(arrangement: str) -> None:
    """Shpiner et al. 2017, Sec. II: leaves and spines are a complete bipartite graph, groups are joined at spines."""
    leaves, spines, h, groups = 4, 3, 2, 7
    graph = routers(dragonfly_plus(2, leaves, spines, h, groups, arrangement))
    inner = {
        frozenset((group * leaves + leaf, groups * leaves + group * spines + spine))
        for group, leaf, spine in itertools.product(range(groups), range(leaves), range(spines))
    }
    edges = [frozenset(edge) for edge in graph.edges()]
    assert inner <= set(edges)
    outer = [edge for edge in edges if edge not in inner]
    ends = Counter(frozenset((end - groups * leaves) // spines for end in edge) for edge in outer)
    assert ends == dict.fromkeys(map(frozenset, itertools.combinations(range(groups), 2)), 1)
    assert Counter(end for edge in outer for end in edge) == dict.fromkeys(range(groups * leaves, len(graph)), h)


@pytest.mark.parametrize(("shape", "cables"), [((4,), (3,)), ((3, 4), (1, 1)), ((2, 3, 3), (2, 1, 3))])
def test_a_hyperx_is_a_product_of_complete_graphs(shape: tuple[int, ...], cables: tuple[int, ...]) -> None:
    graph = routers(build_topology("hyperx", 2 * math.prod(shape), shape, cables=cables))
    expected: Counter[tuple[int, ...]] = Counter()
    for one, other in itertools.combinations(np.ndindex(*shape), 2):
        differs = [axis for axis in range(len(shape)) if one[axis] != other[axis]]
        if len(differs) == 1:
            ends = sorted(int(np.ravel_multi_index(end, shape)) for end in (one, other))
            expected[tuple(ends)] += cables[differs[0]]
    assert Counter(tuple(sorted(edge)) for edge in graph.edges()) == expected


def test_the_slim_fly_of_50_routers_is_the_hoffman_singleton_graph() -> None:
    """Besta and Hoefler 2014, Sec. II-B. A. Hoffman, R. Singleton (IBM Journal 4, 1960): it is the only graph of degree 7,
    50 vertices and diameter 2."""
    graph = nx.Graph(routers(build_topology("slim_fly", 50, q=5)))
    known = nx.hoffman_singleton_graph()
    assert (len(graph), graph.size(), nx.girth(graph)) == (50, 175, 5) == (len(known), known.size(), nx.girth(known))
    assert set(dict(graph.degree).values()) == {7}
    assert nx.diameter(graph) == 2


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9, 11, 13, pytest.param(16, marks=pytest.mark.thorough), 17])
def test_slim_flies_have_diameter_2(q: int) -> None:
    """The degree is (3 q - d) / 2 for q = 4 w + d, d = -1, 0 or 1 (Besta and Hoefler 2014, Sec. II-B)."""
    graph = nx.Graph(routers(build_topology("slim_fly", 2 * q * q, q=q)))
    delta = {1: 1, 3: -1, 0: 0}[q % 4]
    assert set(dict(graph.degree).values()) == {(3 * q - delta) // 2}
    assert nx.diameter(graph) == 2


@pytest.mark.parametrize("size", [3, 4, 5, 8, 9, 16, 25, 27, 49])
def test_finite_fields(size: int) -> None:
    """Commutative groups under sum and, without 0, product; and the distributive law."""
    field = FiniteField(size)
    every = np.arange(size)
    for table, without in ((field.sum, 0), (field.product, 1)):
        assert (table == table.T).all()
        part = table[without:, without:]
        assert (np.sort(part, axis=1) == every[without:]).all()
        a, b, c = np.ix_(every, every, every)
        assert (table[table[a, b], c] == table[a, table[b, c]]).all()
    assert (field.product[a, field.sum[b, c]] == field.sum[field.product[a, b], field.product[a, c]]).all()
    assert (field.sum[field.difference[a, b], b] == a).all()
    assert (field.product[field.quotient[a, b[:, 1:]], b[:, 1:]] == a).all()


def test_links_of_each_kind_have_their_speed() -> None:
    """A message over three hops between routers: five latencies, and its bytes at the slowest of the links."""
    text = """
simcodesign: 1
name: m
nodes: 20
processor: {rate: 1 GFLOP/s}
network:
  sends: blocking
  startup: 1 us
  bandwidth: 1 GB/s
  topology: {kind: %s, bandwidth: [2 GB/s, 1 GB/s, 500 MB/s], latency: [1 us, 10 us, 100 us]}
"""
    sizes = {
        "dragonfly, terminals: 2, routers: 2, global_links: 2, arrangement: palmtree": 2 + 20 + 100,
        "dragonfly_plus, terminals: 2, leaves: 2, spines: 2, global_links: 2": 2 + 20 + 100,
    }
    for kind, latency_us in sizes.items():
        machine = read_machine(text % kind)
        network = machine.network.topology
        source, target = next(pair for pair in itertools.product(range(20), repeat=2) if network.hops(*pair) == 5)
        steps = (
            Send(parse(f"rank == {source}"), Place(), parse(target), parse(5000)),
            Receive(parse(f"rank == {target}"), Place(), parse(source), None),
        )
        for effects in ("hops", "links"):
            result = simulate(workload_of_steps(*steps), machine, {"P": 20}, effects=effects)
            assert result.makespan_s == pytest.approx(1e-6 * (1 + latency_us + 5000 / 500), rel=1e-12)


# --- published sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "a", "h", "hosts"), [(2, 4, 2, 72), (4, 8, 4, 1_056), (16, 32, 16, 262_656)], ids=["72", "1K", "256K"]
)
def test_published_dragonflies(p: int, a: int, h: int, hosts: int) -> None:
    """Kim et al. 2008: N = a p (a h + 1); figure 5 (72), Sec. 4.2 (1K nodes, p = h = 4, a = 8), Sec. 3.1: radix 64 scales to
    over 256K nodes; three hops between routers."""
    network = dragonfly(p, a, h, a * h + 1)
    assert network.node_count == hosts
    assert network.diameter == 3 + 2
    outside = 3 - 2 / a  # a link within either group for all but one router in a
    inside = (a - 1) / a
    same = 1 / (a * h + 1)
    mean = 2 + same * inside + (1 - same) * outside  # and 2 from a host to itself
    assert network.mean_hops() == pytest.approx((mean - 2 / hosts) * hosts / (hosts - 1), rel=1e-12)


@pytest.mark.parametrize(
    ("q", "terminals", "hosts", "degree"), [(5, 4, 200, 7), (19, 15, 10_830, 29), (17, 13, 7_514, 25)]
)
def test_published_slim_flies(q: int, terminals: int, hosts: int, degree: int) -> None:
    """Besta and Hoefler 2014, Sec. V: N = 10,830, radix 44 (q = 19, 15 hosts on a router)."""
    network = build_topology("slim_fly", hosts, q=q)
    assert network.vertex_count == hosts + 2 * q * q
    assert terminals * 2 * q * q == hosts
    assert network.link_count == 2 * hosts + 2 * q * q * degree
    assert network.diameter == 2 + 2


# --- bisection ---------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("shape", "terminals", "cables"),
    [
        ((4,), 1, 1),
        ((5,), 2, 1),
        ((4,), 3, 1),
        ((3, 2), 1, 1),
        ((3, 2), 2, 1),
        ((2, 3), 2, 2),
        ((2, 2), 3, 2),
        ((3, 3), 1, 1),
        ((2, 2, 3), 1, 3),
        ((4, 2), 1, 1),
        ((2,), 5, 2),
    ],
)
def test_bisection_of_hyperx(shape: tuple[int, ...], terminals: int, cables: int) -> None:
    network = build_topology("hyperx", terminals * math.prod(shape), shape, cables=(cables,) * len(shape))
    assert network.bisection_exact
    assert network.bisection_width == cut_of_halves(network)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "network",
    [
        dragonfly(1, 2, 2, 5),
        dragonfly(2, 2, 1, 3),
        dragonfly(1, 3, 1, 4),
        dragonfly(3, 2, 2, 2),
        dragonfly(2, 3, 1, 2),
        dragonfly_plus(2, 2, 2, 1, 3),
        dragonfly_plus(1, 3, 2, 2, 3),
        dragonfly_plus(2, 3, 1, 1, 2),
        build_topology("hyperx", 12, (2, 3), cables=(3, 1)),
    ],
    ids=lambda network: network.label,
)
def test_bisections_are_bounds(network: Topology) -> None:
    assert cut_of_halves(network) <= network.bisection_width <= network.node_count // 2
    assert not network.bisection_exact


@pytest.mark.parametrize(("p", "a", "h"), [(2, 4, 2), (4, 8, 4), (3, 7, 3)])
def test_half_of_the_groups_of_a_dragonfly(p: int, a: int, h: int) -> None:
    """With an even number of groups g, (g / 2)^2 cables join the halves."""
    groups = a * h if a * h % 2 == 0 else a * h + 1
    assert dragonfly(p, a, h, groups).bisection_width == (groups // 2) ** 2


@pytest.mark.parametrize(("extent", "dims", "cables"), [(4, 2, 1), (8, 1, 2), (4, 3, 1), (6, 2, 3)])
def test_bisection_of_regular_hyperx(extent: int, dims: int, cables: int) -> None:
    """Ahn et al. 2009, Sec. 2.2: half of the coordinates S of a dimension have K S / 2 cables each to the other half."""
    routers_ = extent**dims
    network = build_topology("hyperx", 64 * routers_, (extent,) * dims, cables=(cables,) * dims)
    assert network.bisection_width == cables * (extent // 2) * routers_ // 2


# --- any of them -------------------------------------------------------------------------------------------


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    small = st.integers(1, 4)
    p, kind = draw(st.integers(1, 3)), draw(st.sampled_from(["dragonfly", "dragonfly_plus", "hyperx", "slim_fly"]))
    if kind == "hyperx":
        shape = draw(st.lists(small, min_size=1, max_size=4))
        cables = [draw(small) for _ in shape]
        return build_topology(kind, p * math.prod(shape), shape, cables=cables)
    if kind == "slim_fly":
        return slim_fly(p, draw(st.sampled_from([3, 4, 5, 7, 9])))
    a, h, arrangement = draw(small), draw(small), draw(st.sampled_from(ARRANGEMENTS))
    if kind == "dragonfly":
        return dragonfly(p, a, h, draw(st.integers(1, a * h + 1)), arrangement)
    return dragonfly_plus(p, draw(small), a, h, draw(st.integers(1, a * h + 1)), arrangement)


@cache
def slim_fly(p: int, q: int) -> Topology:
    return build_topology("slim_fly", 2 * q * q * p, q=q)


@given(networks(), st.data())
def test_any_route(network: Topology, data: st.DataObject) -> None:
    host = st.integers(0, network.node_count - 1)
    source, target = data.draw(host), data.draw(host)
    tails, heads = network.link_ends(np.arange(network.link_count))
    route = network.route(source, target).tolist()
    assert len(route) == network.hops(source, target) <= network.diameter
    path = [source, *heads[route].tolist()]
    assert [*tails[route].tolist(), target] == path
    assert len(set(path)) == len(path)
    links = np.bincount(network.group_of(np.arange(network.link_count)), minlength=len(network.link_groups))
    assert links.tolist() == [group.links for group in network.link_groups]


def test_parallel_cables_share_the_destinations() -> None:
    """Four cables between two routers: hosts 4 to 7 get one each."""
    network = build_topology("hyperx", 8, (2,), cables=(4,))
    links = [network.route(0, target)[1] for target in range(4, 8)]
    assert len(set(links)) == 4
    assert [network.link_name(link)[-2:] for link in links] == ["#0", "#1", "#2", "#3"]
    pair = dragonfly(4, 1, 4, 2)
    assert len({int(pair.route(0, target)[1]) for target in range(4, 8)}) == 4


@pytest.mark.parametrize(
    ("network", "hosts", "sizes"),
    [
        (dragonfly(4, 8, 4, 33), 1056, {"terminals": 4, "routers": 8, "global_links": 4}),
        (dragonfly(4, 8, 4, 33), 64, {"terminals": 4, "routers": 8, "global_links": 4}),
        (dragonfly(4, 8, 4, 33), 4, {"terminals": 4, "routers": 1, "global_links": 4}),
        (dragonfly(4, 8, 4, 33), 2112, {"terminals": 4, "routers": 8, "global_links": 9}),  # 65 other groups
        (dragonfly(4, 8, 4, 33), 7, {"terminals": 1, "routers": 7, "global_links": 4}),
        (dragonfly_plus(4, 4, 2, 2, 5), 96, {"terminals": 4, "leaves": 4, "spines": 2, "global_links": 3}),
        (build_topology("hyperx", 48, (4, 4)), 96, {"shape": (8, 4), "terminals": 3}),
        (build_topology("hyperx", 48, (4, 4)), 10, {"shape": (5, 1), "terminals": 2}),
    ],
)
def test_networks_of_another_size(network: Topology, hosts: int, sizes: dict[str, object]) -> None:
    options = network.options_for(hosts)
    assert {name: options[name] for name in sizes} == sizes
    other = build_topology(network.kind, hosts, **options)
    assert (other.node_count, other.kind) == (hosts, network.kind)
    assert other.hops(0, hosts - 1) <= other.diameter
