"""Bandwidths and latencies of links: which links have them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import LocalMessages
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.topology.graph_files import load_graph
from tests import ROOT
from tests.builders import machine, network, read_machine

MACHINE = """
simcodesign: 1
name: m
nodes: {nodes}
processor: {{rate: 1 GFLOP/s}}
network: {{sends: blocking, startup: 1 us, bandwidth: 4 GB/s, {more}topology: {topology}}}
"""


def read(topology: str, nodes: int = 16, more: str = "") -> object:
    return read_machine(MACHINE.format(nodes=nodes, topology=f"{{{topology}}}", more=more))


def group_names(topology: Topology) -> list[str]:
    return [topology.link_groups[group].name for group in topology.group_of(np.arange(topology.link_count))]


@pytest.mark.parametrize("shape", [(4,), (4, 3), (2, 5, 1), (1, 3, 2, 4), (1, 1)])
@pytest.mark.parametrize("kind", ["mesh", "torus"])
def test_links_of_a_grid_are_grouped_by_the_dimension_in_which_their_ends_differ(
    kind: str, shape: tuple[int, ...]
) -> None:
    topology = build_topology(kind, int(np.prod(shape)), shape)
    tail, head = (np.unravel_index(end, shape) for end in topology.link_ends(np.arange(topology.link_count)))
    moved = np.stack(tail) != np.stack(head)
    assert (moved.sum(axis=0) == 1).all()
    differs = [f"dimension {number}" for number in moved.argmax(axis=0)]
    assert group_names(topology) == differs
    assert [group.links for group in topology.link_groups] == [
        differs.count(f"dimension {number}") for number in range(len(shape))
    ]


@pytest.mark.parametrize(("nodes", "arity"), [(8, 2), (27, 3), (11, 2), (20, 3), (5, 8), (1, 2)])
def test_links_of_a_fat_tree_are_grouped_by_the_tier_of_their_upper_end(nodes: int, arity: int) -> None:
    topology = build_topology("fat_tree", nodes, arity=arity)
    per_level = topology.switches_per_level
    ends = np.maximum(*topology.link_ends(np.arange(topology.link_count)))
    assert group_names(topology) == [f"tier {(end - nodes) // per_level}" for end in ends.tolist()]
    assert sum(group.links for group in topology.link_groups) == topology.link_count


def test_edges_of_a_graph_have_their_own_and_others_are_as_the_network_says() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", bandwidth="8 Gbit/s", latency=0)
    graph.add_edge("b", "c", latency="2 us")
    graph.add_edge("c", "a", bandwidth=1e9, latency=0.0)
    topology = build_topology("graph", 3, graph=graph)
    groups = [topology.link_groups[group] for group in topology.group_of(np.arange(3))]
    assert [(group.per_byte_s, group.latency_s) for group in groups] == [(1e-9, 0.0), (None, 2e-6), (1e-9, 0.0)]
    assert len(topology.link_groups) == 2
    assert [name for name, _ in topology.facts()][1:] == [f"links of {group.name}" for group in topology.link_groups]


def test_attributes_in_a_graphml_file_may_have_units(tmp_path: Path) -> None:
    file = tmp_path / "g.graphml"
    graph = nx.path_graph(3)
    graph.edges[0, 1]["bandwidth"], graph.edges[1, 2]["bandwidth"] = "2 GB/s", "500 MB/s"
    nx.write_graphml(graph, file)
    topology = build_topology("graph", 3, graph=load_graph(file))
    assert sorted((group.per_byte_s, group.links) for group in topology.link_groups) == [(0.5e-9, 2), (2e-9, 2)]


def test_tapers_divide_what_the_network_says() -> None:
    tapered = read(
        "kind: fat_tree, arity: 2, taper: [1, 2, 4]", 8, "link_bandwidth: 8 GB/s, hop_latency: 1 us, "
    ).network
    assert tapered.links_s_per_byte == (0.125e-9, 0.25e-9, 0.5e-9)
    assert tapered.link_latencies_s == (1e-6,) * 3
    assert tapered.link_occupancy_s_per_byte == 0.5e-9


@pytest.mark.parametrize("nodes", [1, 2, 8, 9, 64])
def test_other_numbers_of_nodes_keep_their_links(nodes: int) -> None:
    tree = build_topology("fat_tree", 8, arity=2, taper=[1, 2, 4], latency=[1e-6, 2e-6, 3e-6])
    other = build_topology("fat_tree", nodes, **tree.options_for(nodes))
    expected = [(1, 1e-6), (2, 2e-6), (4, 3e-6), (4, 3e-6), (4, 3e-6), (4, 3e-6)]
    assert [(group.taper, group.latency_s) for group in other.link_groups] == expected[: other.levels]
    grid = build_topology("torus", 8, (4, 2), bandwidth=[1e9, 2e9])
    assert build_topology("torus", nodes, **grid.options_for(nodes)).bandwidth == (1e9, 2e9)


@pytest.mark.parametrize(
    ("topology", "value", "allowed"),
    [
        ("kind: torus, shape: [4, 4], bandwidth: [1 GB/s]", "1000000000", "a list of 2"),
        ("kind: mesh, dims: 3, latency: [1 us, 1 us]", "1e-06", "a list of 3"),
        ("kind: torus, shape: [4, 4], bandwidth: 1 GB/s", "1 GB/s", ""),
        ("kind: torus, shape: [4, 4], bandwidth: [1 GB/s, 0]", "'0'", "above 0"),
        ("kind: torus, shape: [4, 4], bandwidth: [1 GB/s, -1 GB/s]", "-1 GB/s", "above 0"),
        ("kind: torus, shape: [4, 4], bandwidth: [1 GB/s, 1e-300]", "1e-300", "above 0"),
        ("kind: torus, shape: [4, 4], bandwidth: [1 GB/s, 1e-310]", "1e-310", "2.3e-308"),
        ("kind: torus, shape: [4, 4], bandwidth: [1 GB/s, 1 us]", "1 us", "B/s"),
        ("kind: torus, shape: [4, 4], latency: [1 us, -1 us]", "-1 us", "0 or above"),
        ("kind: torus, shape: [4, 4], taper: [1, 2]", "", "bandwidth"),
        ("kind: fat_tree, arity: 4, taper: [1, 2, 4]", "4.0", "a list of 2"),
        ("kind: fat_tree, arity: 4, taper: [1, 0.5]", "0.5", "from 1"),
        ("kind: fat_tree, arity: 4, taper: [1, 1e7]", "1e7", "to 1e+06"),
        ("kind: fat_tree, arity: 4, taper: [1, 2], bandwidth: [1 GB/s, 1 GB/s]", "2.0", "one of them"),
        ("kind: hypercube, bandwidth: [1 GB/s]", "", "node_count only"),
    ],
)
def test_what_is_no_list_of_links_is_refused_with_its_line(topology: str, value: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        read(topology)
    text = str(caught.value)
    assert "m.yaml:6" in text
    assert value in text
    assert allowed in text


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 1e-310, 1e-80, "fast", None, True, [1.0]])
@pytest.mark.parametrize("name", ["bandwidth", "latency"])
def test_attributes_that_are_no_bandwidth_or_latency_are_refused(name: str, value: object) -> None:
    graph = nx.path_graph(3)
    graph.edges[1, 2][name] = value
    if name == "latency" and value == 0 and value is not False:
        assert build_topology("graph", 3, graph=graph).link_groups[1].latency_s == 0.0
        return
    with pytest.raises(InputError):
        build_topology("graph", 3, graph=graph)


@pytest.mark.parametrize("more", ["hop_latency: 1 us, ", "link_bandwidth: 8 GB/s, ", "link_per_byte: 0.1 ns/B, "])
def test_constants_of_all_links_are_refused_where_every_link_has_its_own(more: str) -> None:
    with pytest.raises(InputError, match=r"m\.yaml:6.*has no effect"):
        read("kind: torus, shape: [4, 4], bandwidth: [1 GB/s, 2 GB/s], latency: [0, 1 us]", more=more)


def test_links_of_their_own_may_be_slower_than_messages_but_not_those_of_the_network() -> None:
    read("kind: torus, shape: [4, 4], bandwidth: [1 MB/s, 1 MB/s]")
    with pytest.raises(InputError, match="a message cannot pass faster than its link"):
        read("kind: torus, shape: [4, 4]", more="link_bandwidth: 1 MB/s, ")


def test_constants_of_all_links_cannot_be_set_either() -> None:
    topology = build_topology("torus", 4, (2, 2), latency=[1e-6, 2e-6])
    made = machine(network(4, startup_s=1e-6))
    with pytest.raises(InputError, match="hop_latency has no effect"):
        made.with_topology(topology).with_constants({"network.hop_latency": 1e-6})


def test_the_examples_of_the_documentation_are_machines() -> None:
    torus, sockets = (
        read_machine(part.split("```")[0]) for part in (ROOT / "docs" / "links.md").read_text().split("```yaml")[1:]
    )
    assert [(group.links, group.per_byte_s, group.latency_s) for group in torus.network.topology.link_groups] == [
        (64, 0.25e-9, 1e-7),
        (64, 0.25e-9, 1e-7),
        (32, 1e-9, 4e-7),
    ]
    assert sockets.processors_per_socket == 4


LOCAL = """
simcodesign: 1
name: m
nodes: 4
processors_per_node: 8
processor: {{rate: 1 GFLOP/s}}
network: {{{model}, topology: {{kind: crossbar}},
  {local}}}
"""
HOCKNEY = "startup: 1 us, bandwidth: 4 GB/s"


def local(text: str, model: str = HOCKNEY) -> Machine:
    return read_machine(LOCAL.format(local=text, model=model))


def test_messages_within_a_node_and_between_its_sockets_are_read() -> None:
    text = "node: {startup: 0, bandwidth: 10 GB/s}, socket: {startup: 200 ns, bandwidth: 8 GB/s, per_node: 2}"
    made = local(text)
    assert made.network.node == LocalMessages(0.0, 1e-10)
    assert made.network.socket == LocalMessages(2e-7, 1.25e-10)
    assert made.processors_per_socket == 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("node: {startup: 1 us}", "'bandwidth' is missing"),
        ("node: {bandwidth: 1 GB/s}", "'startup' is missing"),
        ("node: {startup: 1 us, bandwidth: 0 GB/s}", "above 0"),
        ("node: {startup: 1 us, bandwidth: -1 GB/s}", "above 0"),
        ("node: {startup: -1 us, bandwidth: 1 GB/s}", "0 or above"),
        ("node: {startup: 1e-310, bandwidth: 1 GB/s}", "2.3e-308"),
        ("node: {startup: 1 us, bandwidth: 1 GB/s, per_node: 2}", "unknown key"),
        ("socket: {startup: 1 us, bandwidth: 1 GB/s, per_node: 2}", "needs network.node"),
        ("node: {startup: 0, bandwidth: 1 GB/s}, socket: {startup: 0, bandwidth: 1 GB/s}", "'per_node' is missing"),
        ("node: {startup: 0, bandwidth: 1 GB/s}, socket: {startup: 0, bandwidth: 1 GB/s, per_node: 3}", "divisor of 8"),
        ("node: {startup: 0, bandwidth: 1 GB/s}, socket: {startup: 0, bandwidth: 1 GB/s, per_node: 0}", "1 to"),
    ],
)
def test_what_is_no_cost_of_a_message_within_a_node_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=r"m\.yaml") as caught:
        local(text)
    assert reason in str(caught.value)


def test_loggops_has_no_messages_within_a_node() -> None:
    with pytest.raises(InputError, match="belongs to the network model hockney"):
        local("node: {startup: 0, bandwidth: 1 GB/s}", "model: loggop, L: 1 us, o: 1 us, g: 1 us, G: 1 ns/B")
