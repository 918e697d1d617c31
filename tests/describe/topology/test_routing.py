"""Routes by ecmp and Valiant: valid, minimal where they should be, and their means against brute force."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.topology.base import ECMP, TOPOLOGIES, VALIANT, Routes, Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.low_diameter.dragonfly import DragonflyTopology
from simcodesign.describe.topology.low_diameter.hosts_on_routers import RouterTopology
from simcodesign.describe.topology.routing import hops_through, mean_hops_through, mixed, routes_through, spread_routes
from tests.builders import read_machine

NETWORKS = {
    "mesh": build_topology("mesh", 12, shape=[3, 4]),
    "torus": build_topology("torus", 24, shape=[4, 2, 3]),
    "ring": build_topology("torus", 6, shape=[6]),
    "hypercube": build_topology("hypercube", 16),
    "fat_tree": build_topology("fat_tree", 8, arity=2),
    "dragonfly": build_topology("dragonfly", 24, terminals=2, routers=3, global_links=1),
    "dragonfly_plus": build_topology("dragonfly_plus", 24, terminals=2, leaves=4, spines=2, global_links=1),
    "hyperx": build_topology("hyperx", 24, shape=[3, 4], terminals=2),
    "slim_fly": build_topology("slim_fly", 100, q=5),
}
WITH_VALIANT = [name for name, network in NETWORKS.items() if VALIANT in network.routings]
#: Networks whose routes are those of the graph, and all of them; the others take some of them or longer ones.
EVERY_SHORTEST = ["mesh", "torus", "ring", "hypercube", "fat_tree", "hyperx"]


def all_pairs(network: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Every ordered pair of different hosts."""
    source, target = np.divmod(np.arange(network.node_count**2), network.node_count)
    return source[source != target], target[source != target]


def vertices(network: Topology, routes: Routes, pair: int) -> list[int]:
    """The way of a pair, checked to be one."""
    links = routes.link[routes.start[pair] : routes.start[pair + 1]]
    tail, head = network.link_ends(links)
    assert (head[:-1] == tail[1:]).all()
    return [int(tail[0]), *head.tolist()]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_spread_route_is_a_minimal_one(name: str) -> None:
    network = NETWORKS[name]
    source, target = all_pairs(network)
    routes = spread_routes(network, source, target, mixed(np.arange(len(source), dtype=np.uint64)))
    assert np.diff(routes.start).tolist() == network.hops(source, target).tolist()
    for pair in range(0, len(source), 7):
        way = vertices(network, routes, pair)
        assert (way[0], way[-1]) == (source[pair], target[pair])


@pytest.mark.parametrize("name", EVERY_SHORTEST)
def test_every_shortest_way_of_the_graph_is_taken(name: str) -> None:
    network = NETWORKS[name]
    source, target = np.zeros(600, np.int64), np.full(600, network.node_count - 1)
    routes = spread_routes(network, source, target, mixed(np.arange(600, dtype=np.uint64)))
    taken = {tuple(vertices(network, routes, pair)) for pair in range(600)}
    graph = nx.DiGraph(network.to_networkx())
    assert taken == {tuple(way) for way in nx.all_shortest_paths(graph, 0, network.node_count - 1)}


@pytest.mark.parametrize("name", WITH_VALIANT)
def test_a_route_through_another_host_comes_by_where_it_turns(name: str) -> None:
    network, draw = NETWORKS[name], np.random.default_rng(0)
    source, target = all_pairs(network)
    through = draw.integers(0, network.node_count, len(source))
    routes = routes_through(network, source, target, through)
    assert np.diff(routes.start).tolist() == hops_through(network, source, target, through).tolist()
    for pair in range(0, len(source), 5):
        way = vertices(network, routes, pair)
        assert (way[0], way[-1]) == (source[pair], target[pair])
        assert network.turns_at(np.array(way), np.full(len(way), through[pair])).any()


@pytest.mark.parametrize("name", WITH_VALIANT)
def test_a_route_through_another_host_is_two_minimal_ones(name: str) -> None:
    """Without the links of that host and back, where it turns at its router; a dragonfly's is no longer than that."""
    network, draw = NETWORKS[name], np.random.default_rng(1)
    source, target = all_pairs(network)
    through = draw.integers(0, network.node_count, len(source))
    parts = network.hops(source, through) + network.hops(through, target)
    hops = hops_through(network, source, target, through)
    if isinstance(network, RouterTopology):
        parts = parts - 2 + 2 * (through == source) + 2 * (through == target)
    assert (hops <= parts).all()
    if not isinstance(network, DragonflyTopology):
        assert hops.tolist() == parts.tolist()


@pytest.mark.parametrize("name", WITH_VALIANT)
def test_the_mean_over_all_routes_through_all_hosts(name: str) -> None:
    network = NETWORKS[name]
    source, target = all_pairs(network)
    sums = [
        hops_through(network, source, target, np.full(len(source), host)).sum() for host in range(network.node_count)
    ]
    assert mean_hops_through(network) == pytest.approx(sum(sums) / len(source) / network.node_count, rel=1e-12)


@given(st.integers(0, 2**64 - 1))
def test_mixing_is_that_of_splitmix64(value: int) -> None:
    """With whole numbers of Python, modulo 2**64."""
    bits, most = value + 0x9E3779B97F4A7C15, 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits % most ^ bits % most >> shift) * factor
    bits %= most
    assert int(mixed(np.array([value], np.uint64))[0]) == bits ^ bits >> 31


MACHINE = """
simcodesign: 1
name: m
nodes: 16
processor: {rate: 1 GFLOP/s}
network: {topology: {kind: KIND}, startup: 1 us, bandwidth: 1 GB/s, routing: ROUTING MORE}
"""


@pytest.mark.parametrize(
    ("kind", "routing", "more", "words"),
    [
        ("crossbar", "ecmp", "", "ecmp"),
        ("fat_tree, arity: 4", "valiant", "", "minimal, ecmp"),
        ("torus", "ugal", ", sharing: max_min", "sharing"),
        ("torus", "ugal", ", sharing: round_robin", "sharing"),
        ("torus", "valiant", ", startup_per: hop", "startup_per"),
        ("torus", "ugal", ", interfaces: {count: 4}", "round_robin"),
        ("torus", "shortest", "", "valiant"),
        ("torus", "{valiant: {threshold: 1}}", "", "ugal"),
        ("torus", "{ugal: {threshold: -1}}", "", "0 to 1000000"),
        ("torus", "{ugal: {threshold: 1.5}}", "", "0 to 1000000"),
        ("torus", "{ugal: {queues: all}}", "", "along_route"),
        ("fat_tree, arity: 4", "{ugal: {queues: along_route}}", "", "minimal, ecmp"),
    ],
)
def test_what_does_not_go_together_is_refused(kind: str, routing: str, more: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_machine(MACHINE.replace("KIND", kind).replace("ROUTING", routing).replace(" MORE", more))


def test_every_kind_with_parallel_ways_spreads_them() -> None:
    """Those that say so have a step of their own, and nothing else has one."""
    for kind, topology in TOPOLOGIES.items():
        has_step = topology.spread_step is not Topology.spread_step
        assert has_step == (ECMP in topology.routings), kind
