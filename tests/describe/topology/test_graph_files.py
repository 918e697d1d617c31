"""Graphs from files: GraphML and GML as measured networks have them, edge lists; what adds up, and what is noted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.topology.graph import GraphTopology, graph_topology
from simcodesign.describe.topology.graph_files import load_graph
from tests.builders import workload

#: Attributes of graph, vertices and edges as the Internet Topology Zoo has them; two vertices of one label, a city
#: without a position, two cables between one pair, one of them the other way round.
ZOO_VERTICES = [
    (0, {"label": "Aachen", "Country": "Germany", "Longitude": 6.08, "Internal": 1, "Latitude": 50.77}),
    (1, {"label": "Exchange", "Internal": 0}),
    (2, {"label": "Exchange", "Internal": 0}),
    (3, {"label": "Bonn &#38; K&#246;ln", "Country": "Germany", "Longitude": 7.1, "Internal": 1, "Latitude": 50.73}),
]
SPEED = {"LinkSpeed": "10", "LinkSpeedUnits": "G", "LinkSpeedRaw": 1e10, "LinkLabel": "10 Gbps", "LinkNote": "leased "}
ZOO_EDGES = [(0, 1, {"LinkLabel": "Dark"}), (0, 3, SPEED), (3, 0, SPEED), (1, 2, {"LinkType": "OC-3"}), (2, 3, {})]
ZOO_NOTES = (
    "4 of 4 vertices have no attribute 'host' and are hosts",
    "attributes of vertices that are ignored: Country, Longitude, Internal, Latitude",
    "2 edges that are parallel between 1 pair of vertices add up",
    "attributes of edges that are ignored: LinkLabel, LinkSpeed, LinkSpeedUnits, LinkSpeedRaw, LinkNote, LinkType",
)


def gml_value(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def gml(head: str = "", more: str = "") -> str:
    """The small network in GML, as the Topology Zoo writes it: no ``multigraph``, two blanks of indentation."""

    def items(attributes: dict[str, object]) -> str:
        return "".join(f"    {name} {gml_value(value)}\n" for name, value in attributes.items())

    vertices = "".join(f"  node [\n    id {number}\n{items(attributes)}  ]\n" for number, attributes in ZOO_VERTICES)
    edges = "".join(
        f"  edge [\n    source {tail}\n    target {head}\n{items(attributes)}{more}  ]\n"
        for tail, head, attributes in ZOO_EDGES
    )
    return f'graph [\n{head}  Network "N [x"\n  Note "a graph [ of cities"\n{vertices}{edges}]\n'


def graphml() -> str:
    """The same in GraphML, with keys of every kind and the number of an edge among its data."""
    names = {"node": ["label", "Country", "Longitude", "Internal", "Latitude"], "edge": [*SPEED, "LinkType", "key"]}
    keys = "".join(
        f'<key attr.name="{name}" attr.type="{"double" if name in ("Longitude", "Latitude", "LinkSpeedRaw") else "string"}"'
        f' for="{kind}" id="{kind}{name}"/>\n'
        for kind in names
        for name in names[kind]
    )

    def data(kind: str, attributes: dict[str, object]) -> str:
        return "".join(f'<data key="{kind}{name}">{value}</data>' for name, value in attributes.items())

    vertices = "".join(
        f'<node id="{number}">{data("node", attributes)}</node>\n' for number, attributes in ZOO_VERTICES
    )
    edges = "".join(
        f'<edge source="{tail}" target="{head}">{data("edge", {**attributes, "key": 0})}</edge>\n'
        for tail, head, attributes in ZOO_EDGES
    )
    start = '<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    return f'{start}{keys}<graph edgedefault="undirected">\n{vertices}{edges}</graph></graphml>'


def written(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def topology_of(folder: Path, text: str, name: str) -> GraphTopology:
    return graph_topology(load_graph(written(folder, text, name)))


def links_of(topology: GraphTopology) -> dict[tuple[str, str], tuple[float | None, float | None, float]]:
    """By the names of its ends: seconds per byte, latency and taper of every link."""
    groups = [topology.link_groups[group] for group in topology.group_of(np.arange(topology.link_count))]
    ends = zip(*(end.tolist() for end in topology.link_ends(np.arange(topology.link_count))), strict=True)
    return {
        (topology.names[tail], topology.names[head]): (group.per_byte_s, group.latency_s, group.taper)
        for (tail, head), group in zip(ends, groups, strict=True)
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zoo.graphml", graphml()),
        ("zoo.xml", graphml()),
        ("zoo", graphml()),
        ("zoo.gml", gml()),
        ("zoo.txt", gml()),
        ("numbered.gml", gml(more="    key 0\n")),
        ("multi.gml", gml("  multigraph 1\n")),
        ("not-multi.gml", gml("  directed 0\n  multigraph 0\n")),
        ("commented.gml", "# graph [\n" + 'Creator "graph [ by hand"\n' + gml()),
        ("windows.gml", gml().replace("\n", "\r\n")),
        ("lines.gml", gml().replace('Network "N [x"', 'Network "N [x \n# over three \nlines" ')),
    ],
)
def test_networks_as_the_topology_zoo_has_them(tmp_path: Path, name: str, text: str) -> None:
    topology = topology_of(tmp_path, text, name)
    assert topology.names == ("0", "1", "2", "3")  # two labels are the same
    assert (topology.node_count, topology.link_count) == (4, 8)
    assert links_of(topology)["0", "3"] == links_of(topology)["3", "0"] == (None, None, 0.5)
    assert topology.notes == ZOO_NOTES
    # Halves of a ring of four whose edge 0-3 counts twice: {0, 1} from {2, 3} cuts 3 edges, {0, 3} from {1, 2} only 2.
    assert topology.bisection_width == 2


def test_graphs_in_parts_say_how_large_these_are(tmp_path: Path) -> None:
    edges = "a b\nb c\nc d\nx y\nu v\nv u\n"
    message = r"3 parts of 4, 2, 2 vertices \('x' is not in the largest\)"
    with pytest.raises(InputError, match=rf"not connected: no way leads from 'a' to 'x'; it has {message}"):
        topology_of(tmp_path, edges, "parts.txt")


def test_vertices_of_gml_are_named_by_labels_that_differ(tmp_path: Path) -> None:
    text = gml().replace("Exchange", "Other", 1)
    assert topology_of(tmp_path, text, "g.gml").names == ("Aachen", "Other", "Exchange", "Bonn & Köln")


def test_gml_in_its_own_encoding(tmp_path: Path) -> None:
    text = gml().replace("Bonn &#38; K&#246;ln", "K\xf6ln").replace("Exchange", "Other", 1)
    (tmp_path / "g.gml").write_bytes(text.encode("latin-1"))
    assert graph_topology(load_graph(tmp_path / "g.gml")).names[3] == "Köln"


@pytest.mark.parametrize("value", ["1e9", "1E9", "+1e+9", "1000000000", "1.0E9", '"1e9"', '"8 Gbit/s"'])
def test_numbers_in_gml(tmp_path: Path, value: str) -> None:
    vertices = 'node [ id 0 label "a 1e5" ] node [ id 1 label "b1e5" ]'
    text = f"graph [ {vertices} edge [ source 0 target 1 bandwidth {value} latency 2e-6 ] ]"
    pairs = [("a 1e5", "b1e5"), ("b1e5", "a 1e5")]
    assert links_of(topology_of(tmp_path, text, "g.gml")) == dict.fromkeys(pairs, (1e-9, 2e-6, 1.0))


def test_switches_and_speeds_in_gml(tmp_path: Path) -> None:
    """GML has numbers and texts, no true and false."""
    vertices = "".join(f'node [ id {number} label "v{number}" host {int(number < 2)} ]\n' for number in range(3))
    edges = 'edge [ source 0 target 2 bandwidth "8 Gbit/s" latency "2 us" ]\nedge [ source 2 target 1 bandwidth 5.0E8 ]'
    topology = topology_of(tmp_path, f"graph [\n{vertices}{edges}\n]", "g.gml")
    assert (topology.node_count, topology.names) == (2, ("v0", "v1", "v2"))
    assert links_of(topology)["v0", "v2"] == (1e-9, 2e-6, 1.0)
    assert links_of(topology)["v2", "v1"] == (2e-9, None, 1.0)
    assert topology.notes == ()


def test_what_networkx_writes_is_read(tmp_path: Path) -> None:
    graph = nx.cycle_graph(6)
    nx.set_edge_attributes(graph, {(0, 1): {"bandwidth": 2.5e8}})
    nx.set_node_attributes(graph, {5: False}, "host")
    nx.write_gml(graph, tmp_path / "g.gml")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    nx.write_edgelist(graph, tmp_path / "g.edges")
    tables = [links_of(graph_topology(load_graph(tmp_path / name))) for name in ("g.gml", "g.graphml", "g.edges")]
    assert tables[0] == tables[1] == tables[2]
    assert tables[0]["1", "0"] == (4e-9, None, 1.0)
    hosts = [graph_topology(load_graph(tmp_path / name)).node_count for name in ("g.gml", "g.graphml", "g.edges")]
    assert hosts == [5, 5, 6]  # an edge list has no vertices of its own


EDGE_LISTS = {
    "plain": "a b\nb c\nc d\nd a\n",
    "comments": "# made by hand\n% sym unweighted\n\na b # the first\nb c\nc d\nd a",
    "tabs": "a\tb\nb\tc\nc\td\nd\ta\n",
    "commas": "a,b\nb, c\nc ,d,\nd,a\n",
    "semicolons": "a;b\nb;c\nc;d\nd;a\n",
    "heading": "Source,Target\na,b\nb,c\nc,d\nd,a\n",
    "weights": "a b 1\nb c 1.0\nc d 1\nd a 1\n",
    "attributes": "a b {}\nb c {'color': '#ff0000'}\nc d {'weight': 1}\nd a {}\n",
    "directed": "a b\nb a\nb c\nc b\nc d\nd c\nd a\na d\n",
    "windows": "\ufeffa b\r\nb c\r\nc d\r\nd a\r\n",
}


@pytest.mark.parametrize("name", EDGE_LISTS)
def test_edge_lists(tmp_path: Path, name: str) -> None:
    topology = topology_of(tmp_path, EDGE_LISTS[name], "g.edges")
    expected = {pair: (None, None, 1.0) for one in ("ab", "bc", "cd", "da") for pair in (tuple(one), tuple(one[::-1]))}
    assert links_of(topology) == expected
    assert topology.notes == ("4 of 4 vertices have no attribute 'host' and are hosts",)


def test_columns_of_an_edge_list_with_a_heading(tmp_path: Path) -> None:
    text = "from,to,bandwidth,latency,owner\na,b,10 Gbit/s,2 us,me\nb,c,1e9,1e-6,me\n"
    topology = topology_of(tmp_path, text, "g.csv")
    assert links_of(topology)["a", "b"] == pytest.approx((8e-10, 2e-6, 1.0), rel=1e-15)
    assert links_of(topology)["c", "b"] == (1e-9, 1e-6, 1.0)
    assert topology.notes[1:] == ("attributes of edges that are ignored: owner",)


def test_weights_are_noted(tmp_path: Path) -> None:
    topology = topology_of(tmp_path, "a b 1\nb c 3\n", "g.txt")
    assert topology.notes[1:] == ("attributes of edges that are ignored: weight",)
    topology = topology_of(tmp_path, "a b 1 2\nb c 3 4\n", "g.txt")
    assert topology.notes[1:] == ("attributes of edges that are ignored: column 3, column 4",)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([1e6, 2e6, 5e6])), max_size=30),
    st.booleans(),
)
def test_parallel_edges_add_up(more: list[tuple[int, int, float]], directed: bool) -> None:
    """The bandwidth of a link is the sum of its edges; without bandwidths, it is that of as many links."""
    edges = [*((place, (place + 1) % 6, 1e6) for place in range(6)), *more]
    total: Counter[tuple[int, int]] = Counter()
    count: Counter[tuple[int, int]] = Counter()
    for tail, head, bandwidth in edges:
        for pair in {(tail, head)} if directed else {(tail, head), (head, tail)}:
            total[pair] += bandwidth
            count[pair] += 1
    plain, fast = (nx.MultiDiGraph() if directed else nx.MultiGraph() for _ in range(2))
    plain.add_edges_from((tail, head) for tail, head, _ in edges)
    fast.add_edges_from((tail, head, {"bandwidth": bandwidth}) for tail, head, bandwidth in edges)
    links = {(str(tail), str(head)) for tail, head in count if tail != head}
    slow_links, fast_links = (links_of(graph_topology(graph)) for graph in (plain, fast))
    assert slow_links.keys() == fast_links.keys() == links
    for tail, head in links:
        pair = (int(tail), int(head))
        assert slow_links[tail, head] == (None, None, 1 / count[pair])
        assert fast_links[tail, head] == (1 / total[pair], None, 1.0)


MACHINE = """
simcodesign: 1
name: m
nodes: 2
processors_per_node: 4
processor: {rate: 1 GFLOP/s}
network: {sends: nonblocking, startup: 1 us, bandwidth: 1 GB/s, topology: {kind: graph, file: g.edges}}
"""


@pytest.mark.parametrize("cables", [1, 2, 3, 4, 8])
def test_parallel_edges_serve_messages_faster(tmp_path: Path, cables: int) -> None:
    """Four messages of 1 ms from one node to the other, over c cables: 4/c ms, and at least what one message takes."""
    written(tmp_path, "a b\n" * cables, "g.edges")
    machine = sc.Machine.load(written(tmp_path, MACHINE, "m.yaml"))
    steps = "[send: {to: rank + 4, bytes: 1e6, when: rank < 4}, receive: {from: rank - 4, bytes: 1e6, when: rank > 3}]"
    result = sc.simulate(workload(steps), machine, {"P": 8}, effects="links")
    assert float(result.headline_s) == pytest.approx(max(1e-3, 4e-3 / cables) + 1e-6, rel=1e-12)


def test_longest_latency_of_parallel_edges_counts() -> None:
    graph = nx.MultiGraph([("a", "b", {"latency": 1e-6}), ("b", "a", {"latency": "3 us"})])
    assert links_of(graph_topology(graph))["a", "b"] == (None, 3e-6, 0.5)


@pytest.mark.parametrize("name", ["bandwidth", "latency"])
def test_parallel_edges_of_which_some_have_a_speed_are_refused(name: str) -> None:
    graph = nx.MultiGraph([("a", "b", {name: 1.0}), ("b", "a", {})])
    with pytest.raises(InputError, match=rf"between 'a' and 'b', of which only some have a {name}, got '1 of 2'"):
        graph_topology(graph)


@pytest.mark.parametrize(
    ("vertex", "edge", "note"),
    [
        ({"Host": "no"}, {}, "attributes of vertices that are ignored: Host (did you mean 'host'?)"),
        ({"latency": 1}, {}, "attributes of vertices that are ignored: latency"),
        ({}, {"Bandwidth": 3}, "attributes of edges that are ignored: Bandwidth (did you mean 'bandwidth'?)"),
        ({}, {"weight": 2}, "attributes of edges that are ignored: weight"),
        ({}, {"host": 1, "capacity": 4}, "attributes of edges that are ignored: host, capacity"),
        ({}, {"width": 2}, "attributes of edges that are ignored: width"),
        (
            {f"a{number}": 0 for number in range(14)},
            {},
            f"attributes of vertices that are ignored: {', '.join(f'a{number}' for number in range(12))} and 2 more",
        ),
    ],
)
def test_unknown_attributes_are_noted(vertex: dict[str, object], edge: dict[str, object], note: str) -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, True, "host")
    graph.nodes[1].update(vertex)
    graph.edges[1, 2].update(edge)
    topology = graph_topology(graph)
    assert topology.notes == (note,)
    assert ("note", note) in topology.facts()
    assert topology.to_networkx().edges == graph_topology(nx.path_graph(3)).to_networkx().edges


def test_edges_from_a_vertex_to_itself_are_noted() -> None:
    graph = nx.Graph([("a", "b"), ("b", "b"), ("a", "a")])
    assert graph_topology(graph).link_count == 2
    assert graph_topology(graph).notes[1:] == ("edges from a vertex to itself that are ignored: 2",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.gml", "graph [\n node [ id 0 ]\n edge [ source 0 target 7 ]\n]", "not a GML graph.*undefined target 7"),
        ("g.gml", "graph [ node [ id 0 ] node [ id 0 ] ]", "not a GML graph.*duplicated"),
        ("g.gml", "graph [ node [ id 0 ]", "not a GML graph.*expected"),
        ("g.gml", "Creator 1", "not a GML graph.*no graph"),
        ("g.gml", "graph [ " + "x [ " * 5000, "not a GML graph"),
        ("g.edges", "", "a graph without edges.*GraphML, GML, or an edge list"),
        ("g.edges", "source target\n", "a graph without edges"),
        ("g.edges", "a b\n\nc\n", ":3: not an edge of a graph, got 'c'.*GraphML, GML"),
        ("g.csv", "a,b\n,c\n", ":2: not an edge"),
        ("g.edges", "a b\nb c {x}\n", r":2: attributes of an edge, got '\{x\}'"),
        ("g.edges", "a b {'x': open('y')}\n", ":1: attributes of an edge"),
        ("g.edges", "a b " + "{1:" * 5000, ":1: attributes of an edge"),
        ("g.txt", "router 0 node 0 router 1\n", ":1: not an edge of a graph"),
        ("g.mtx", "%%MatrixMarket matrix\n3 3 1\n1 2\n", ":1: a graph in an unknown format"),
        ("g.json", '{"directed": false}', ":1: a graph in an unknown format.*GraphML, GML, or an edge list"),
        ("g.net", '*Vertices 2\n1 "a"\n', None),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str, message: str | None) -> None:
    file = written(tmp_path, content, name)
    if message is None:  # Pajek: two columns, so that nothing shows that it is no edge list but that it is in pieces
        with pytest.raises(InputError, match="no way leads"):
            graph_topology(load_graph(file))
        return
    with pytest.raises(InputError, match=message) as caught:
        load_graph(file)
    assert str(file) in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "g.gml"
    for content in (b"a \xff\xfe b", b"graph [ \xff\0 ]"):
        file.write_bytes(content)
        with pytest.raises(InputError, match=r"unknown format.*GraphML, GML, or an edge list"):
            load_graph(file)


@pytest.mark.parametrize("suffix", [".gml", ".edges"])
@given(content=st.binary(max_size=200) | st.text("ab 1[]{}'\"#%,;graphnode\n", max_size=60).map(str.encode))
def test_any_bytes_are_a_graph_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / f"any{suffix}"
    file.write_bytes(content)
    try:
        assert load_graph(file).number_of_edges() >= 0
    except InputError as error:
        assert str(file) in str(error)  # noqa: PT017
