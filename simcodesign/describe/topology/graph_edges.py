"""Edges of a graph as links: parallel edges added up, and what of the graph is not used."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.topology.link_group import DIMENSION_OF, checked_value
from simcodesign.describe.topology.link_loads import IntArray

if TYPE_CHECKING:
    import networkx as nx

HOST = "host"
MOST_NAMED = 12  # attributes in a note

#: Attributes that only show how a graph is drawn. Others are ignored too, but with a note.
COSMETIC = frozenset(
    {"id", "key", "label", "name", "title", "description", "comment", "url"}
    | {"colour", "color", "fill", "r", "g", "b", "a", "alpha", "opacity", "font"}
    | {"pos", "position", "x", "y", "z", "coordinates", "graphics"}
    | {"thickness", "shape", "shape_type", "style", "line_type"}
)
#: Attributes of a vertex, if they cannot be meant for a link.
COSMETIC_OF_VERTICES = COSMETIC | {"size", "width", "height"}


class Speed(NamedTuple):
    """Bandwidth (B/s) and latency (s) of a link, None if the edges specify none.

    ``cables`` without a bandwidth of their own share the load of such a link.
    """

    bandwidth: float | None
    latency: float | None
    cables: int = 1


@dataclass(frozen=True, eq=False)
class Edges:
    """The n links of a graph, one for each pair of linked vertices.

    ``ends``: shape (n, 2), places of the vertices in the given order; ``cables``: parallel edges of each link, shape
    (n,); ``group``: the place of each link's speed in ``speeds``, shape (n,).
    """

    ends: IntArray
    cables: IntArray
    group: IntArray
    speeds: tuple[Speed, ...]


def edges_of(graph: nx.Graph, number: dict[Hashable, int], place: Place | None) -> Edges:
    """Return the links of a graph whose vertices have these numbers; edges from a vertex to itself are left out.

    Bandwidths of parallel edges add up. A message uses all of them and arrives over the slowest, so the longest latency
    counts. Raises InputError if only some of the parallel edges have a bandwidth, or a latency.
    """
    together: dict[tuple[Hashable, Hashable], list[Speed]] = {}
    for tail, head, attributes in graph.edges(data=True):
        if tail == head:
            continue
        pair = (tail, head) if graph.is_directed() or number[tail] < number[head] else (head, tail)
        together.setdefault(pair, []).append(_speed(tail, head, attributes, place))
    known: dict[Speed, int] = {}
    group = [known.setdefault(_added(pair, speeds, place), len(known)) for pair, speeds in together.items()]
    ends = [(number[tail], number[head]) for tail, head in together]
    return Edges(
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        np.array([len(speeds) for speeds in together.values()], dtype=np.int64),
        np.array(group, dtype=np.int64),
        tuple(known),
    )


def _speed(tail: Hashable, head: Hashable, attributes: dict[str, Any], place: Place | None) -> Speed:
    edge = f"the edge from {tail!r} to {head!r}"
    bandwidth, latency = (
        checked_value(attributes[name], name, edge, place) if name in attributes else None for name in DIMENSION_OF
    )
    return Speed(bandwidth, latency)


def _added(pair: tuple[Hashable, Hashable], speeds: list[Speed], place: Place | None) -> Speed:
    """Return the speed of parallel edges together."""
    for name in DIMENSION_OF:
        given = [speed for speed in speeds if getattr(speed, name) is not None]
        if 0 < len(given) < len(speeds):
            what = f"parallel edges between {pair[0]!r} and {pair[1]!r}, of which only some have a {name}"
            raise InputError(what, place, value=f"{len(given)} of {len(speeds)}", allowed="all of them, or none")
    bandwidths = [speed.bandwidth for speed in speeds if speed.bandwidth is not None]
    latencies = [speed.latency for speed in speeds if speed.latency is not None]
    bandwidth, latency = sum(bandwidths) if bandwidths else None, max(latencies, default=None)
    return Speed(bandwidth, latency, len(speeds) if bandwidth is None else 1)


def notes_on(graph: nx.Graph, edges: Edges) -> tuple[str, ...]:
    """Return one sentence each on vertices without ``host``, parallel edges and what of the graph is ignored."""
    return tuple(filter(None, (*_notes_on_vertices(graph), *_notes_on_edges(graph, edges))))


def _notes_on_vertices(graph: nx.Graph) -> Iterator[str]:
    every = graph.number_of_nodes()
    without = sum(HOST not in attributes for _, attributes in graph.nodes(data=True))
    if without:
        yield f"{without:,} of {every:,} vertices have no attribute 'host' and are hosts"
    names = _unused((attributes for _, attributes in graph.nodes(data=True)), COSMETIC_OF_VERTICES | {HOST})
    if names:
        yield f"attributes of vertices that are ignored: {_listed(names, (HOST,))}"


def _notes_on_edges(graph: nx.Graph, edges: Edges) -> Iterator[str]:
    parallel = edges.cables[edges.cables > 1]
    if parallel.size:
        pairs = "1 pair" if parallel.size == 1 else f"{parallel.size:,} pairs"
        yield f"{parallel.sum():,} edges that are parallel between {pairs} of vertices add up"
    loops = sum(tail == head for tail, head in graph.edges())
    if loops:
        yield f"edges from a vertex to itself that are ignored: {loops:,}"
    names = _unused((attributes for *_, attributes in graph.edges(data=True)), COSMETIC | set(DIMENSION_OF))
    if names:
        yield f"attributes of edges that are ignored: {_listed(names, tuple(DIMENSION_OF))}"


def _unused(rows: Iterable[dict[Any, Any]], used: frozenset[str]) -> list[str]:
    """Return the names of attributes that mean nothing here, in the order of the graph; a weight of 1 is a hop."""
    names: dict[str, None] = {}
    for attributes in rows:
        for name, value in attributes.items():
            text = str(name)
            known = text in used or (text.lower() in COSMETIC_OF_VERTICES and text.lower() in used)
            if not known and not (text == "weight" and value == 1):
                names[text] = None
    return list(names)


def _listed(names: list[str], meant: tuple[str, ...]) -> str:
    """Return the names, with the attribute that differs from one of them by capital letters only."""
    shown = [f"{name} (did you mean {name.lower()!r}?)" if name.lower() in meant else name for name in names]
    more = len(shown) - MOST_NAMED
    return ", ".join(shown[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
