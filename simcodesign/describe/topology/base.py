"""Base class of network topologies: hops, deterministic routes, and the load of traffic on each link."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.registry import Registry
from simcodesign.core.units import format_quantity
from simcodesign.describe.keys.key import Key
from simcodesign.describe.topology.hardware import Hardware, counted
from simcodesign.describe.topology.link_group import LinkGroup
from simcodesign.describe.topology.link_loads import BoolArray, DenseLoads, FloatArray, IntArray, SparseLoads

if TYPE_CHECKING:
    import networkx as nx

#: Link numbers of every kind then fit in 64 bits.
MAX_HOSTS = 10**9

#: Names of ways to choose routes (``routing.py``).
MINIMAL, ECMP, VALIANT, UGAL = ROUTINGS = ("minimal", "ecmp", "valiant", "ugal")
MAX_DRAWN_LINKS = 200_000
PAIRS_AT_ONCE = 2**16  # pairs walked together: the working arrays stay in the processor's cache
DENSE_LINKS = 2**27  # up to this many links an array with one load per link is affordable (1 GiB)


@dataclass(frozen=True, eq=False)
class Routes:
    """Routes of n pairs: pair k has ``link[start[k]:start[k + 1]]`` in the order of travel.

    ``start`` has shape (n + 1,), ``link`` shape (total hops,); both int64.
    """

    start: IntArray
    link: IntArray


@dataclass(frozen=True)
class Topology(ABC):
    """A network of hosts (vertices 0 .. node_count-1), switches (the vertices after them) and directed links.

    A full-duplex cable is two directed links. Link numbers run from 0 to ``link_count - 1`` and are computed,
    not stored, so that regular topologies of a million hosts cost no memory.

    A subclass sets its ``kind`` and its ``options``, has the abstract methods, and is registered by
    ``register_topology``: machine files, commands, both readings and error messages then support it. Options
    that are attributes of the same name are shown on the data sheet and kept by a network with other hosts.
    """

    kind: ClassVar[str]
    options: ClassVar[tuple[Key, ...]] = ()
    can_be_resized: ClassVar[bool] = True
    #: Hops that a route may have in excess of a shortest path of the graph: minimal routes of some publications do.
    detour_hops: ClassVar[int] = 0
    #: Possible values of ``network.routing`` (``routing.py``) with routes other than the fixed route of a pair of
    #: hosts.
    routings: ClassVar[tuple[str, ...]] = (MINIMAL,)
    node_count: int

    @classmethod
    def build(cls, node_count: int, options: Mapping[str, Any], place: Place | None) -> Topology:
        """Return the network of ``node_count`` hosts, 1 or more, by the given ``options`` of this kind.

        Raises InputError, with ``place``, for options that are missing or cannot be used.
        """
        return cls(node_count, **options)

    def options_for(self, node_count: int) -> dict[str, Any]:
        """Options of a network like this one with another number of hosts."""
        values = {option.target: getattr(self, option.target, None) for option in self.options}
        return {name: value for name, value in values.items() if value is not None}

    def facts(self) -> list[tuple[str, str]]:
        """Facts for the data sheet that are particular to this kind: name and text of every option."""
        dimensions = {option.target: option.form.dimension for option in self.options}
        own = self.options_for(self.node_count).items()
        return [(name, _option_text(value, dimensions.get(name, ""))) for name, value in own]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on how the topology was made that a user should see once."""
        return ()

    @property
    def label(self) -> str:
        """A few words for tables: kind and size."""
        return f"{self.kind} of {self.node_count}"

    @property
    def vertex_count(self) -> int:
        """Hosts and switches together."""
        return self.node_count

    @property
    @abstractmethod
    def link_count(self) -> int:
        """Number of directed links."""

    @property
    def hardware(self) -> Hardware:
        """Its switches, ports, cables and links. A kind with closed forms for these has them instead of a count."""
        return counted(self)

    @property
    def link_groups(self) -> tuple[LinkGroup, ...]:
        """The links by groups of alike links, with the properties of each from a machine file or graph."""
        return (LinkGroup("all links", self.link_count),)

    def group_of(self, link: IntArray) -> IntArray:
        """Return the place in ``link_groups`` of every link, shape (n,)."""
        return np.zeros_like(link)

    def with_speeds(self, bandwidth: tuple[float, ...], latency: tuple[float, ...]) -> Topology:
        """Return the network with these bandwidths (B/s) and latencies (s) of links.

        One for each of the ``link_groups``. InputError for a kind whose links cannot differ.
        """
        own = {field.name for field in fields(self)}
        if not {"bandwidth", "latency"} <= own:
            raise InputError(
                "links cannot differ", value=self.kind, allowed="a kind with bandwidth and latency of links"
            )
        others: dict[str, Any] = {"taper": None} if "taper" in own else {}
        return replace(self, bandwidth=bandwidth, latency=latency, **others)  # type: ignore[call-arg] # looked up above

    def with_links_alike(self) -> Topology | None:
        """Return the network with the machine's own links everywhere; None for a kind whose links differ otherwise."""
        own: dict[str, Any] = {one.name: None for one in fields(self) if one.name in ("bandwidth", "latency", "taper")}
        return replace(self, **own) if {"bandwidth", "latency"} <= own.keys() else None

    @property
    def directions(self) -> int:
        """Number of directions in which links leave and reach a host, if they have any: two for each dimension.

        Otherwise 0.
        """
        return 0

    def direction_of(self, link: IntArray) -> IntArray:
        """Return the direction, 0 to ``directions``, in which each link, shape (n,), leads away from its begin.

        Its end has it in the opposite direction, the other one of that dimension.
        """
        raise NotImplementedError

    @property
    @abstractmethod
    def diameter(self) -> int:
        """Largest number of hops between two hosts."""

    @property
    @abstractmethod
    def bisection_width(self) -> int:
        """Fewest undirected links whose cut splits the hosts into halves that differ by at most one host."""

    @property
    def bisection_exact(self) -> bool:
        """Whether ``bisection_width`` is proven; otherwise it is the value of a good cut, an upper bound."""
        return True

    @abstractmethod
    def mean_hops(self) -> float:
        """Mean number of hops over all ordered pairs of distinct hosts; 0 for a single host."""

    @abstractmethod
    def step(self, at: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        """Return the next vertex and the link to it from the vertices ``at`` on the route to the hosts ``target``.

        All arrays have shape (n,) and ``at != target`` everywhere; the numbers are not checked.
        """

    def spread_step(self, at: IntArray, target: IntArray, draw: IntArray) -> tuple[IntArray, IntArray]:
        """As ``step``, by that link of all that lead nearer to the target which ``draw`` picks, numbers from 0 on."""
        raise NotImplementedError

    def turns_at(self, at: IntArray, through: IntArray) -> BoolArray:
        """Whether routes by way of the hosts ``through`` make for their targets from the vertices ``at`` on."""
        turns: BoolArray = at == through
        return turns

    @abstractmethod
    def link_ends(self, link: IntArray) -> tuple[IntArray, IntArray]:
        """Return the vertices at which the given links, shape (n,), begin and end."""

    @abstractmethod
    def distance_hops(self, source: IntArray, target: IntArray) -> IntArray:
        """Hops between checked hosts; the arrays broadcast."""

    def hops(self, source: ArrayLike, target: ArrayLike) -> IntArray:
        """Return the number of links traversed from hosts ``source`` to hosts ``target`` (int64, broadcast shape).

        Raises InputError for what is not a host.
        """
        distance = self.distance_hops(self._hosts(source, "source"), self._hosts(target, "target"))
        return np.asarray(distance, dtype=np.int64)

    def route(self, source: int, target: int) -> IntArray:
        """Return the links from host ``source`` to host ``target`` in the order of travel, shape (hops,)."""
        return self.routes([source], [target]).link

    def routes(self, sources: ArrayLike, targets: ArrayLike) -> Routes:
        """Return the routes of many pairs of hosts, both shape (n,). Raises InputError for what is not a host."""
        source, target = self._pairs(sources, targets)
        start = np.zeros(source.size + 1, dtype=np.int64)
        np.cumsum(self.distance_hops(source, target), out=start[1:])
        links = np.empty(start[-1], dtype=np.int64)
        for hop, (pair, link) in enumerate(self._travel(source, target)):
            links[start[pair] + hop] = link
        return Routes(start, links)

    def link_loads(self, sources: ArrayLike, targets: ArrayLike, size_bytes: ArrayLike) -> tuple[IntArray, FloatArray]:
        """Bytes that each link carries when every pair k sends ``size_bytes[k]`` along its route.

        The arguments have shape (n,) or are scalars. Returns the links with a load, ascending, and their
        bytes; messages of no bytes and messages to oneself load nothing. Raises InputError for what is not a
        host and for sizes that are negative or not finite.
        """
        source, target = self._pairs(sources, targets)
        size = _sizes(size_bytes, source.size)
        busy = np.flatnonzero((size > 0) & (source != target))
        source, target, size = source[busy], target[busy], size[busy]
        hops = int(self.distance_hops(source, target).sum())
        dense = self.link_count <= min(DENSE_LINKS, 8 * hops)
        loads: DenseLoads | SparseLoads = DenseLoads(self.link_count) if dense else SparseLoads()
        for first in range(0, source.size, PAIRS_AT_ONCE):
            chunk = slice(first, first + PAIRS_AT_ONCE)
            chunk_size = size[chunk]
            for pair, link in self._travel(source[chunk], target[chunk]):
                loads.add(link, chunk_size[pair])
        return loads.total()

    def traffic_loads(self, matrix_bytes: ArrayLike) -> tuple[IntArray, FloatArray]:
        """``link_loads`` of a traffic matrix, shape (node_count, node_count): bytes from host i to host j."""
        matrix = _array(matrix_bytes, "traffic matrix")
        expected = (self.node_count, self.node_count)
        if matrix.shape != expected:
            raise InputError("traffic matrix has the wrong shape", value=matrix.shape, allowed=str(expected))
        source, target = np.nonzero(matrix)
        return self.link_loads(source, target, matrix[source, target])

    def vertex_name(self, vertex: int) -> str:
        """How the vertex is called in messages and tables; switches are counted from 0."""
        if vertex < self.node_count:
            return f"host {vertex}"
        return f"switch {vertex - self.node_count}"

    def link_name(self, link: int) -> str:
        """Return the ends of a link, e.g. ``host 3 -> switch 1``. Raises InputError for what is not a link."""
        if not 0 <= link < self.link_count:
            raise InputError("no such link", value=link, allowed=_interval(self.link_count, "link"))
        tail, head = self.link_ends(np.array([link], dtype=np.int64))
        return self._arrow(self.vertex_name(int(tail[0])), self.vertex_name(int(head[0])))

    def to_networkx(self) -> nx.DiGraph:
        """All vertices and links as a graph, a ``MultiDiGraph`` where links are parallel.

        Edge attribute ``link`` holds the link number.

        Raises InputError above ``MAX_DRAWN_LINKS`` edges.
        """
        import networkx as nx

        tail, head, link = self._edges()
        parallel = np.unique(np.stack([tail, head]), axis=1).shape[1] < link.size
        graph = nx.MultiDiGraph() if parallel else nx.DiGraph()
        graph.add_nodes_from(range(self.vertex_count))
        edges = zip(tail.tolist(), head.tolist(), link.tolist(), strict=True)
        graph.add_edges_from((a, b, {"link": number}) for a, b, number in edges)
        return graph

    def _edges(self) -> tuple[IntArray, IntArray, IntArray]:
        self._check_drawable(self.link_count)
        link = np.arange(self.link_count, dtype=np.int64)
        return (*self.link_ends(link), link)

    def _check_drawable(self, edge_count: int) -> None:
        if edge_count > MAX_DRAWN_LINKS:
            what = f"{self.kind} of {self.node_count} hosts has too many links for a NetworkX graph"
            raise InputError(what, value=edge_count, allowed=f"at most {MAX_DRAWN_LINKS}")

    def _arrow(self, tail: str, head: str) -> str:
        return f"{tail} -> {head}"

    def _travel(self, source: IntArray, target: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Hop by hop, the pairs still on their way and the link that each of them takes."""
        pair = np.flatnonzero(source != target)
        at, goal = source[pair], target[pair]
        while pair.size:
            at, link = self.step(at, goal)
            yield pair, link
            moving = at != goal
            pair, at, goal = pair[moving], at[moving], goal[moving]

    def _pairs(self, sources: ArrayLike, targets: ArrayLike) -> tuple[IntArray, IntArray]:
        source, target = self._hosts(sources, "source"), self._hosts(targets, "target")
        try:
            source, target = np.broadcast_arrays(np.atleast_1d(source), np.atleast_1d(target))
        except ValueError:
            source = np.empty((0, 0), dtype=np.int64)
        if source.ndim != 1:
            shapes = (np.shape(sources), np.shape(targets))
            raise InputError("sources and targets must be lists of one length", value=shapes)
        return source, target

    def _hosts(self, hosts: ArrayLike, role: str) -> IntArray:
        given = _array(hosts, f"{role} hosts")
        if given.size and given.dtype.kind not in "iu":
            raise InputError(f"{role} hosts must be integers", value=given.dtype.name)
        if given.size and (given.min() < 0 or given.max() >= self.node_count):
            wrong = given[(given < 0) | (given >= self.node_count)].flat[0]
            allowed = _interval(self.node_count, "host")
            raise InputError(f"no such {role} host", value=int(wrong), allowed=allowed)
        return given.astype(np.int64, copy=False)


def _array(values: ArrayLike, what: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{what}: rows differ in length", value=values) from None


def _sizes(size_bytes: ArrayLike, count: int) -> FloatArray:
    try:
        size = np.broadcast_to(np.asarray(size_bytes, dtype=np.float64), (count,))
    except (TypeError, ValueError):
        given = np.shape(size_bytes) or size_bytes
        what = "sizes must be one number of bytes per pair"
        raise InputError(what, value=given, allowed=f"{count} numbers or one") from None
    wrong = ~(np.isfinite(size) & (size >= 0))
    if wrong.any():
        raise InputError("message size in bytes", value=float(size[wrong][0]), allowed="finite, 0 or more")
    return size


def _interval(count: int, what: str) -> str:
    return f"{what} 0 to {count - 1}" if count else f"this network has no {what}"


def _option_text(value: object, dimension: str) -> str:
    if dimension and isinstance(value, tuple):
        return ", ".join(format_quantity(item, dimension) for item in value)
    return " x ".join(str(extent) for extent in value) if isinstance(value, tuple) else str(value)


#: Every kind of network by its name in machine files.
TOPOLOGIES: Registry[str, type[Topology]] = Registry("topology kind", __name__, "simcodesign.topologies")
Kind = TypeVar("Kind", bound=type[Topology])


def register_topology(topology: Kind) -> Kind:
    """Register a class of networks under its ``kind``; a decorator. Raises InputError if the kind is taken."""
    TOPOLOGIES.add(topology.kind, topology)
    return topology


def checked_whole(number: object, what: str, most: int, place: Place | None = None, least: int = 1) -> int:
    """Return the number if it is whole and within the limits; InputError otherwise."""
    try:
        value = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        value = least - 1
    if isinstance(number, bool) or not least <= value <= most:
        raise InputError(what, place, value=number, allowed=f"a whole number from {least} to {most}")
    return value
