"""Any connected network given as a graph: shortest paths by hop count."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import format_quantity
from simcodesign.describe.keys.forms import FileIn
from simcodesign.describe.keys.key import Key
from simcodesign.describe.topology.base import Topology, register_topology
from simcodesign.describe.topology.graph_edges import HOST, Speed, edges_of, notes_on
from simcodesign.describe.topology.graph_files import load_graph
from simcodesign.describe.topology.link_group import LinkGroup
from simcodesign.describe.topology.link_loads import IntArray

if TYPE_CHECKING:
    import networkx as nx

MAX_VERTICES = 8192
MAX_COUNTED_HOSTS = 16  # number of hosts up to which all halves can be tried
TABLE_BYTES = 6  # per host and vertex: next link (int32) and distance (int16)
MOST_SHOWN = 10  # different links on the data sheet
CELLS_AT_ONCE = 2**22  # destinations x links handled together while the routing table is made


@register_topology
@dataclass(frozen=True, eq=False)
class GraphTopology(Topology):
    """Hosts and switches of an arbitrary graph; made by ``graph_topology``, which checks it.

    Routes have the fewest hops. Among c next vertices that are equally near destination t, in ascending order,
    number t mod c (from 0) is taken: routes stay fixed, but ties spread the destinations, as d-mod-k does in a
    fat tree of two levels (Zahavi, JPDC 72, 2012). Where c repeats along a route, as in a fat tree of more
    levels, the choices repeat too and spread less; kind ``fat_tree`` routes those well.

    The directed links run from ``tail`` to ``head``, both shape (link_count,), sorted by tail and then head; link l is
    of ``link_groups[group[l]]``, those with the same bandwidth and latency, and consists of ``cables[l]`` parallel
    edges. The routing table is made with the first route or distance.
    """

    kind: ClassVar[str] = "graph"
    options: ClassVar[tuple[Key, ...]] = (
        Key(
            "file",
            FileIn(load_graph),
            "a file in GraphML, GML or an edge list; vertices with ``host`` false are switches",
            field="graph",
        ),
    )
    can_be_resized: ClassVar[bool] = False
    names: tuple[str, ...]
    tail: IntArray
    head: IntArray
    group: IntArray
    speeds: tuple[Speed, ...]
    cables: IntArray
    notes: tuple[str, ...] = ()

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> GraphTopology:
        """``graph_topology`` of a graph with ``node_count`` hosts."""
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
        """Try all halves of up to ``MAX_COUNTED_HOSTS`` hosts (no switches), otherwise use Kernighan-Lin."""
        return self._best_cut() if self.bisection_exact else self._good_cut()

    @property
    def bisection_exact(self) -> bool:
        return self.node_count == 1 or self.vertex_count == self.node_count <= MAX_COUNTED_HOSTS

    def mean_hops(self) -> float:
        pairs = self.node_count * (self.node_count - 1)
        return int(self._distances[:, : self.node_count].sum(dtype=np.int64)) / max(1, pairs)

    def vertex_name(self, vertex: int) -> str:
        """Return the name that the vertex has in the graph."""
        return self.names[vertex]

    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        return self.tail[link], self.head[link]

    @cached_property
    def link_groups(self) -> tuple[LinkGroup, ...]:
        """The links grouped by the properties of their edges, in the order of the links."""
        links = np.bincount(self.group, minlength=len(self.speeds))
        return tuple(
            LinkGroup(
                _speed_text(speed),
                int(count),
                None if speed.bandwidth is None else 1 / speed.bandwidth,
                speed.latency,
                1 / speed.cables,
            )
            for speed, count in zip(self.speeds, links, strict=True)
        )

    def with_speeds(self, bandwidth: tuple[float, ...], latency: tuple[float, ...]) -> GraphTopology:
        return replace(self, speeds=tuple(map(Speed, bandwidth, latency)))

    def group_of(self, link: IntArray) -> IntArray:
        return self.group[link]

    def facts(self) -> list[tuple[str, str]]:
        """Return the notes, and how many links have which bandwidth and latency, unless the network specifies both."""
        notes = [("note", note) for note in self.notes]
        if all(speed == (None, None, 1) for speed in self.speeds):
            return notes
        if len(self.speeds) > MOST_SHOWN:
            return [*notes, ("bandwidths and latencies of links", f"{len(self.speeds):,} different")]
        return [*notes, *((f"links of {group.name}", f"{group.links:,}") for group in self.link_groups)]

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

    def _two_way_links(self) -> tuple[IntArray, IntArray, IntArray]:
        """Each pair of linked vertices once, and the number of edges between them in the direction with more."""
        ends = np.sort(np.stack([self.tail, self.head], axis=1), axis=1)
        pairs, place = np.unique(ends, axis=0, return_inverse=True)
        cables = np.zeros(len(pairs), dtype=np.int64)
        np.maximum.at(cables, place.reshape(-1), self.cables)
        return pairs[:, 0], pairs[:, 1], cables

    def _best_cut(self) -> int:
        if self.node_count == 1:
            return 0
        halves = np.arange(2**self.node_count, dtype=np.int64)
        halves = halves[np.bitwise_count(halves) == self.node_count // 2]
        cut = np.zeros(halves.size, dtype=np.int64)
        for low, high, cables in zip(*self._two_way_links(), strict=True):
            cut += cables * ((halves >> low ^ halves >> high) & 1)
        return int(cut.min())

    def _good_cut(self) -> int:
        """Halve the hosts after Kernighan and Lin (seed 0), then put every switch on the side that costs least."""
        import networkx as nx

        graph = nx.Graph()
        links = (ends.tolist() for ends in self._two_way_links())
        graph.add_edges_from((low, high, {"capacity": cables}) for low, high, cables in zip(*links, strict=True))
        near, _ = nx.community.kernighan_lin_bisection(graph, weight="capacity", seed=0)
        hosts = sorted(range(self.node_count), key=lambda host: (host not in near, host))
        half = self.node_count // 2
        graph.add_edges_from(("source", host) for host in hosts[:half])
        graph.add_edges_from((host, "sink") for host in hosts[half:])
        return int(nx.minimum_cut_value(graph, "source", "sink"))


def graph_topology(graph: nx.Graph, place: Place | None = None) -> GraphTopology:
    """Return the topology of a connected graph; vertices with attribute ``host`` false are switches, others hosts.

    Hosts are numbered first, then the switches, either in the order in which the graph lists them. An undirected edge
    is two links. An edge may have a ``bandwidth`` and a ``latency``: numbers in B/s and s, or texts with units; without
    them, its links are as the machine's network specifies. Routes do not depend on them. Parallel edges add up
    (``edges_of``). Edges from a vertex to itself and other attributes are ignored. ``notes`` names them and counts the
    vertices without ``host``. Raises InputError for values that cannot be used, for a graph in which some vertices
    cannot reach each other (directed: some hosts), that has no hosts, or that is too large for a routing table.
    """
    _check_size(graph, place)
    is_host = {vertex: _is_host(vertex, attributes, place) for vertex, attributes in graph.nodes(data=True)}
    order = sorted(graph.nodes, key=lambda vertex: not is_host[vertex])
    host_count = sum(is_host.values())
    if not host_count:
        raise InputError("graph without hosts", place, value=len(order), allowed="a vertex with host=true")
    _check_connected(graph, order[:host_count], place)
    edges = edges_of(graph, {vertex: index for index, vertex in enumerate(order)}, place)
    ends, group, cables = edges.ends, edges.group, edges.cables
    if not graph.is_directed():
        ends, group, cables = np.concatenate([ends, ends[:, ::-1]]), np.tile(group, 2), np.tile(cables, 2)
    by_ends = np.lexsort((ends[:, 1], ends[:, 0]))
    (tail, head), names = ends[by_ends].T, tuple(str(vertex) for vertex in order)
    notes = notes_on(graph, edges)
    return GraphTopology(host_count, names, tail, head, group[by_ends], edges.speeds, cables[by_ends], notes)


def _speed_text(speed: Speed) -> str:
    times = "" if speed.cables == 1 else f"{speed.cables:,} times "
    texts = [
        f"{times}the network's bandwidth" if speed.bandwidth is None else format_quantity(speed.bandwidth, "bandwidth"),
        "the network's latency" if speed.latency is None else format_quantity(speed.latency, "time"),
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


def _is_host(vertex: Hashable, attributes: dict[str, object], place: Place | None) -> bool:
    given = attributes.get(HOST, True)
    word = str(given).strip().lower()
    if word not in ("true", "false", "1", "0"):  # GML has numbers only
        raise InputError(f"attribute host of vertex {vertex!r}", place, value=given, allowed="true or false, 1 or 0")
    return word in ("true", "1")


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
        what = f"graph is not connected: no way leads from {tail!r} to {head!r}; {_parts(graph)}"
        raise InputError(what, place, allowed="graphs in which all hosts reach each other")


def _parts(graph: nx.Graph) -> str:
    """Say of which connected parts a graph consists, the largest first, and how to keep one."""
    import networkx as nx

    find = nx.strongly_connected_components if graph.is_directed() else nx.connected_components
    parts = sorted(find(graph), key=len, reverse=True)
    sizes = ", ".join(f"{len(part):,}" for part in parts[:MOST_SHOWN])
    sizes += ", ..." if len(parts) > MOST_SHOWN else ""
    alone = next((str(vertex) for part in parts[1:] for vertex in graph if vertex in part), "")
    return f"it has {len(parts):,} parts of {sizes} vertices ({alone!r} is not in the largest); remove all but one"
