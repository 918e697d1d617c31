"""Any connected network given as a graph: shortest paths by hop count."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import check_confined
from simcodesign.core.units import format_quantity
from simcodesign.describe.topology.base import Topology, register_topology
from simcodesign.describe.topology.graphml import load_graphml
from simcodesign.describe.topology.link_group import DIMENSION_OF, LinkGroup, checked_value
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.describe.topology.options import Option
from simcodesign.describe.yaml.tree import Entry

if TYPE_CHECKING:
    import networkx as nx

MAX_VERTICES = 8192
MAX_COUNTED_HOSTS = 16  # all ways to halve so many hosts can be tried
TABLE_BYTES = 6  # per host and vertex: next link (int32) and distance (int16)
MOST_SHOWN = 10  # different links on the data sheet
CELLS_AT_ONCE = 2**22  # destinations x links handled together while the routing table is made

#: Attributes that only say how a graph is shown; others, but for ``host`` of a vertex, would be another network.
COSMETIC = frozenset(
    {"id", "key", "label", "name", "title", "description", "comment", "url"}
    | {"colour", "color", "fill", "r", "g", "b", "a", "alpha", "opacity", "font"}
    | {"pos", "position", "x", "y", "z", "coordinates"}
    | {"thickness", "shape", "shape_type", "style", "line_type"}
)
#: Of a vertex, where they cannot be meant for a link.
COSMETIC_OF_VERTICES = COSMETIC | {"size", "width", "height"}


#: Bandwidth (B/s) and latency (s) of an edge, None where it says none.
Speed = tuple[float | None, float | None]


def _graphml(entry: Entry, folder: Path) -> nx.Graph:
    """The graph in the file that a machine file names."""
    return load_graphml(check_confined(folder / entry.text(), entry.place), entry.place)


@register_topology
@dataclass(frozen=True, eq=False)
class GraphTopology(Topology):
    """Hosts and switches of an arbitrary graph; made by ``graph_topology``, which checks it.

    Routes have the fewest hops. Of c next vertices that are equally near destination t, in ascending order,
    number t mod c (from 0) is taken: routes stay fixed, but ties spread the destinations, as d-mod-k does in a
    fat tree of two levels (Zahavi, JPDC 72, 2012). Where c repeats along a route, as in a fat tree of more
    levels, the choices repeat too and spread less; kind ``fat_tree`` routes those well.

    The directed links run from ``tail`` to ``head``, both shape (link_count,), sorted by tail and then head; link l is
    of ``link_groups[group[l]]``, those with the same bandwidth and latency.
    The routing table is made with the first route or distance.
    """

    kind: ClassVar[str] = "graph"
    options: ClassVar[tuple[Option, ...]] = (
        Option("graph", "a GraphML file; vertices with ``host`` false are switches", _graphml, file_key="file"),
    )
    can_be_resized: ClassVar[bool] = False
    names: tuple[str, ...]
    tail: IntArray
    head: IntArray
    group: IntArray
    speeds: tuple[Speed, ...]

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> GraphTopology:
        """``graph_topology`` of a graph with so many hosts."""
        if "graph" not in options:
            raise InputError("topology kind graph needs a graph", place, allowed="a NetworkX graph")
        topology = graph_topology(options["graph"], place)
        if topology.node_count != node_count:
            what = "node_count differs from the number of hosts in the graph"
            raise InputError(what, place, value=node_count, allowed=str(topology.node_count))
        return topology

    @property
    def vertex_count(self) -> int:
        return len(self.names)

    @property
    def link_count(self) -> int:
        return self.tail.size

    @cached_property
    def diameter(self) -> int:
        return int(self._distances[:, : self.node_count].max())

    @cached_property
    def bisection_width(self) -> int:
        """By trying all halves of up to ``MAX_COUNTED_HOSTS`` hosts (no switches), else Kernighan-Lin."""
        return self._best_cut() if self.bisection_exact else self._good_cut()

    @property
    def bisection_exact(self) -> bool:
        return self.node_count == 1 or self.vertex_count == self.node_count <= MAX_COUNTED_HOSTS

    def mean_hops(self) -> float:
        pairs = self.node_count * (self.node_count - 1)
        return int(self._distances[:, : self.node_count].sum(dtype=np.int64)) / max(1, pairs)

    def vertex_name(self, vertex: int) -> str:
        """The name that the vertex has in the graph."""
        return self.names[vertex]

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        return self.tail[link], self.head[link]

    @cached_property
    def link_groups(self) -> tuple[LinkGroup, ...]:
        """The links by what their edges say of them, in the order in which the links come to it."""
        links = np.bincount(self.group, minlength=len(self.speeds))
        return tuple(
            LinkGroup(_speed_text(*speed), int(count), None if speed[0] is None else 1 / speed[0], speed[1])
            for speed, count in zip(self.speeds, links, strict=True)
        )

    def with_speeds(self, bandwidth: tuple[float, ...], latency: tuple[float, ...]) -> GraphTopology:
        return replace(self, speeds=tuple(zip(bandwidth, latency, strict=True)))

    def group_of(self, link: IntArray) -> IntArray:
        return self.group[link]

    def facts(self) -> list[tuple[str, str]]:
        """How many links have which bandwidth and latency, unless all are as the network says."""
        if all(speed == (None, None) for speed in self.speeds):
            return []
        if len(self.speeds) > MOST_SHOWN:
            return [("bandwidths and latencies of links", f"{len(self.speeds):,} different")]
        return [(f"links of {group.name}", f"{group.links:,}") for group in self.link_groups]

    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        link = self._table[1][target, at].astype(np.int64)
        return self.head[link], link

    def distance_hops(self, source: IntArray, target: IntArray) -> IntArray:
        return self._distances[target, source].astype(np.int64)

    @property
    def _distances(self) -> NDArray[np.int16]:
        return self._table[0]

    @cached_property
    def _table(self) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
        """Distance and next link to each host, shapes (node_count, vertex_count); -1 where no way leads."""
        from scipy import sparse
        from scipy.sparse import csgraph

        shape = (self.node_count, self.vertex_count)
        distances, links = np.full(shape, -1, dtype=np.int16), np.full(shape, -1, dtype=np.int32)
        if not self.link_count:
            return np.zeros(shape, dtype=np.int16), links
        weights = np.ones(self.link_count)
        backward = sparse.csr_matrix((weights, (self.head, self.tail)), shape=(self.vertex_count,) * 2)
        tails, first = np.unique(self.tail, return_index=True)
        chunk = max(1, CELLS_AT_ONCE // self.link_count)
        for start in range(0, self.node_count, chunk):
            rows = slice(start, min(start + chunk, self.node_count))
            target = np.arange(rows.start, rows.stop)
            far = csgraph.dijkstra(backward, unweighted=True, indices=target)
            distances[rows] = np.where(np.isfinite(far), far, -1)
            links[rows, tails] = self._nearer_links(target, far, first)
        return distances, links

    def _nearer_links(self, target: IntArray, far: NDArray[np.float64], first: IntArray) -> NDArray[np.int32]:
        """For each destination (row) and each vertex with links, the link taken of those that lead nearer."""
        nearer = far[:, self.head] + 1 == far[:, self.tail]
        count = np.add.reduceat(nearer, first, axis=1, dtype=np.int64)
        before = np.cumsum(count).reshape(count.shape) - count  # nearer links of earlier rows and vertices
        row, vertex = np.nonzero(count)
        links = np.full(count.shape, -1, dtype=np.int32)
        chosen = before[row, vertex] + target[row] % count[row, vertex]
        links[row, vertex] = np.nonzero(nearer)[1][chosen]
        return links

    def _cables(self) -> tuple[IntArray, IntArray]:
        """The undirected links: each pair of linked vertices once."""
        ends = np.unique(np.sort(np.stack([self.tail, self.head], axis=1), axis=1), axis=0)
        return ends[:, 0], ends[:, 1]

    def _best_cut(self) -> int:
        if self.node_count == 1:
            return 0
        lower, upper = self._cables()
        halves = np.arange(2**self.node_count, dtype=np.int64)
        halves = halves[np.bitwise_count(halves) == self.node_count // 2]
        cut = np.zeros(halves.size, dtype=np.int64)
        for low, high in zip(lower, upper, strict=True):
            cut += (halves >> low ^ halves >> high) & 1
        return int(cut.min())

    def _good_cut(self) -> int:
        """Hosts halved after Kernighan and Lin (seed 0), every switch then put where it costs least."""
        import networkx as nx

        lower, upper = self._cables()
        graph = nx.Graph(zip(lower.tolist(), upper.tolist(), strict=True))
        near, _ = nx.community.kernighan_lin_bisection(graph, seed=0)
        hosts = sorted(range(self.node_count), key=lambda host: (host not in near, host))
        nx.set_edge_attributes(graph, 1, "capacity")
        half = self.node_count // 2
        graph.add_edges_from(("source", host) for host in hosts[:half])
        graph.add_edges_from((host, "sink") for host in hosts[half:])
        return int(nx.minimum_cut_value(graph, "source", "sink"))


def graph_topology(graph: nx.Graph, place: Place | None = None) -> GraphTopology:
    """The topology of a connected graph; vertices with attribute ``host`` false are switches, others hosts.

    Hosts are numbered first, then the switches, either in the order in which the graph lists them. An
    undirected edge is two links. An edge may have a ``bandwidth`` and a ``latency``: numbers in B/s and s, or texts
    with units; without, its links are as the machine's network says. Routes do not depend on them. Attributes in
    ``COSMETIC`` say nothing (in any case of letters), a ``weight`` of 1 is a hop, and others are refused. Raises
    InputError for these, parallel edges, self loops, a graph in which some vertices cannot reach each other (directed:
    some hosts), a graph without hosts, and one too large for a routing table.
    """
    _check_size(graph, place)
    _check_edges(graph, place)
    _check_attributes(graph, place)
    is_host = {vertex: _is_host(vertex, attributes, place) for vertex, attributes in graph.nodes(data=True)}
    order = sorted(graph.nodes, key=lambda vertex: not is_host[vertex])
    host_count = sum(is_host.values())
    if not host_count:
        raise InputError("graph without hosts", place, value=len(order), allowed="a vertex with host=true")
    _check_connected(graph, order[:host_count], place)
    number = {vertex: index for index, vertex in enumerate(order)}
    ends = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    group, speeds = _speeds(graph, place)
    if not graph.is_directed():
        ends, group = np.concatenate([ends, ends[:, ::-1]]), np.concatenate([group, group])
    order_of_links = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, names = ends[order_of_links], tuple(str(vertex) for vertex in order)
    return GraphTopology(host_count, names, ends[:, 0], ends[:, 1], group[order_of_links], speeds)


def _speeds(graph: nx.Graph, place: Place | None) -> tuple[IntArray, tuple[Speed, ...]]:
    """For every edge the place of its bandwidth and latency among the different ones, and these."""
    known: dict[Speed, int] = {}
    group = np.zeros(graph.number_of_edges(), np.int64)
    for place_of_edge, (tail, head, attributes) in enumerate(graph.edges(data=True)):
        edge = f"the edge from {tail!r} to {head!r}"
        bandwidth, latency = (
            checked_value(attributes[name], name, edge, place) if name in attributes else None for name in DIMENSION_OF
        )
        group[place_of_edge] = known.setdefault((bandwidth, latency), len(known))
    return group, tuple(known)


def _speed_text(bandwidth: float | None, latency: float | None) -> str:
    texts = [
        "the network's bandwidth" if bandwidth is None else format_quantity(bandwidth, "bandwidth"),
        "the network's latency" if latency is None else format_quantity(latency, "time"),
    ]
    return ", ".join(texts)


def _check_size(graph: nx.Graph, place: Place | None) -> None:
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise InputError("graph must be a NetworkX graph", place, value=graph)
    count = graph.number_of_nodes()
    if count > MAX_VERTICES:
        need = f"{count * count * TABLE_BYTES / 1e9:.1f} GB"
        what = f"graph has too many vertices: its routing table would need up to {need}"
        raise InputError(what, place, value=count, allowed=f"at most {MAX_VERTICES}")


def _check_edges(graph: nx.Graph, place: Place | None) -> None:
    linked: set[tuple[Hashable, Hashable]] = set()
    for edge in graph.edges():
        if edge[0] == edge[1]:
            raise InputError("graph with a link from a vertex to itself", place, value=edge[0])
        if edge in linked:
            raise InputError("graph with parallel links", place, value=edge, allowed="one link per pair")
        linked.add(edge)
        if not graph.is_directed():
            linked.add((edge[1], edge[0]))


def _check_attributes(graph: nx.Graph, place: Place | None) -> None:
    """Refuse attributes that would be another network if they were modelled, as a capacity of an edge."""
    for vertex, attributes in graph.nodes(data=True):
        for name in attributes:
            if name != "host" and str(name).lower() not in COSMETIC_OF_VERTICES:
                what = f"attribute {name!r} of vertex {vertex!r} of a graph: all hosts are alike, and all switches"
                raise InputError(what, place, value=attributes[name], allowed=f"host, {_shown(COSMETIC_OF_VERTICES)}")
    for tail, head, attributes in graph.edges(data=True):
        for name, value in attributes.items():
            known = name in DIMENSION_OF or str(name).lower() in COSMETIC
            if not known and not (name == "weight" and value == 1):
                what = f"attribute {name!r} of the edge from {tail!r} to {head!r}: not one of a link"
                allowed = f"{', '.join(DIMENSION_OF)}, weight 1 (a hop), {_shown(COSMETIC)}"
                raise InputError(what, place, value=value, allowed=allowed)


def _shown(names: frozenset[str]) -> str:
    return f"or what only says how it is shown: {', '.join(sorted(names))}"


def _is_host(vertex: Hashable, attributes: dict[str, object], place: Place | None) -> bool:
    given = attributes.get("host", True)
    word = given.strip().lower() if isinstance(given, str) else given
    if isinstance(word, bool | np.bool_):
        return bool(word)
    if word in ("true", "false"):
        return word == "true"
    raise InputError(f"attribute host of vertex {vertex!r}", place, value=given, allowed="true or false")


def _check_connected(graph: nx.Graph, hosts: list[Hashable], place: Place | None) -> None:
    """Every host must reach every other; in an undirected graph, every vertex every other."""
    import networkx as nx

    start = hosts[0]
    needed = hosts if graph.is_directed() else list(graph.nodes)
    reached = nx.descendants(graph, start) | {start}
    reaching = nx.ancestors(graph, start) | {start} if graph.is_directed() else reached
    lost = [(start, vertex) for vertex in needed if vertex not in reached]
    lost += [(vertex, start) for vertex in needed if vertex not in reaching]
    for tail, head in itertools.islice(lost, 1):
        what = f"graph is not connected: no way leads from {tail!r} to {head!r}"
        raise InputError(what, place, allowed="graphs in which all hosts reach each other")
