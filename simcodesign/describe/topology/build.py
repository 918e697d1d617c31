"""Network topologies by name: ``build_topology`` makes one, ``balanced_shape`` chooses grid extents."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import networkx as nx

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.describe.topology.base import Routes, Topology
from simcodesign.describe.topology.graph import GraphTopology, graph_topology
from simcodesign.describe.topology.graphml import load_graphml
from simcodesign.describe.topology.grid import HypercubeTopology, MeshTopology, TorusTopology
from simcodesign.describe.topology.one_hop import BusTopology, CrossbarTopology
from simcodesign.describe.topology.tree import FatTreeTopology, TreeTopology

__all__ = [
    "KINDS",
    "BusTopology",
    "CrossbarTopology",
    "FatTreeTopology",
    "GraphTopology",
    "HypercubeTopology",
    "MeshTopology",
    "Routes",
    "Topology",
    "TorusTopology",
    "TreeTopology",
    "balanced_shape",
    "build_topology",
    "load_graphml",
]

MAX_HOSTS = 10**9  # link numbers of every kind then fit in 64 bits
#: Ranks of a process grid, which has no links; a forecast of so many is asked.
MAX_RANKS = 10**12
MAX_DIMS = 4
DEFAULT_DIMS = 2

OPTIONS: dict[str, tuple[str, ...]] = {
    "bus": (),
    "crossbar": (),
    "fat_tree": ("arity",),
    "graph": ("graph",),
    "hypercube": (),
    "mesh": ("shape", "dims"),
    "torus": ("shape", "dims"),
    "tree": (),
}
KINDS = tuple(OPTIONS)
PLAIN: dict[str, Callable[[int], Topology]] = {
    "bus": BusTopology,
    "crossbar": CrossbarTopology,
    "tree": TreeTopology,
}


def build_topology(
    kind: str,
    node_count: int,
    shape: Sequence[int] | None = None,
    *,
    dims: int | None = None,
    arity: int | None = None,
    graph: nx.Graph | None = None,
    place: Place | None = None,
) -> Topology:
    """The network of ``node_count`` hosts of one of the ``KINDS``.

    ``shape`` or ``dims`` belong to mesh and torus (default: the balanced shape of 2 dimensions), ``arity`` to
    the fat tree and ``graph`` to the graph, which both need it. Raises InputError, with ``place``, for an
    unknown kind, an option that the kind does not have, sizes out of range or at odds with each other, and
    for graphs that ``graph_topology`` refuses.
    """
    if not isinstance(kind, str) or kind not in OPTIONS:
        raise InputError("unknown topology kind", place, value=kind, allowed=nearest(str(kind), KINDS))
    given = {"shape": shape, "dims": dims, "arity": arity, "graph": graph}
    _check_options(kind, [name for name, option in given.items() if option is not None], place)
    count = _whole(node_count, "node_count", MAX_HOSTS, place)
    if kind in ("mesh", "torus"):
        extents = _grid_shape(count, shape, dims, place)
        return MeshTopology(count, extents) if kind == "mesh" else TorusTopology(count, extents)
    if kind == "fat_tree":
        return _fat_tree(count, arity, place)
    if kind == "hypercube":
        return _hypercube(count, place)
    if kind == "graph":
        return _graph(count, graph, place)
    return PLAIN[kind](count)


def balanced_shape(count: int, dims: int) -> tuple[int, ...]:
    """The most cube-like grid of ``count`` hosts: ``dims`` factors of ``count`` in non-increasing order.

    Of all such factorisations it is the one with the smallest surface, that is the smallest sum of count /
    extent over the dimensions (the neighbours that a block of the grid exchanges data with); of equal
    surfaces the one with the smaller first, then second ... extent. Raises InputError unless 1 <= count <=
    10^12, 1 <= dims <= 4.
    """
    total = _whole(count, "count", MAX_RANKS, None)
    return _balanced(total, _whole(dims, "dims", MAX_DIMS, None))


@lru_cache(maxsize=1024)
def _balanced(count: int, dims: int) -> tuple[int, ...]:
    shapes = _factorisations(count, dims, count, _divisors(count))
    return min(shapes, key=lambda shape: (sum(count // extent for extent in shape), shape))


def _divisors(count: int) -> list[int]:
    small = [divisor for divisor in range(1, math.isqrt(count) + 1) if count % divisor == 0]
    return sorted({*small, *(count // divisor for divisor in small)})


def _factorisations(count: int, dims: int, largest: int, divisors: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to write ``count`` as a product of ``dims`` non-increasing factors up to ``largest``."""
    if dims == 1:
        if count <= largest:
            yield (count,)
        return
    for factor in divisors:
        if factor > min(largest, count):
            break
        if factor**dims >= count and count % factor == 0:
            for rest in _factorisations(count // factor, dims - 1, factor, divisors):
                yield (factor, *rest)


def _check_options(kind: str, given: list[str], place: Place | None) -> None:
    for name in given:
        if name not in OPTIONS[kind]:
            allowed = ", ".join(OPTIONS[kind]) or "node_count only"
            raise InputError(f"topology kind {kind} has no option {name}", place, allowed=allowed)


def _whole(number: object, what: str, most: int, place: Place | None, least: int = 1) -> int:
    try:
        whole = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        whole = least - 1
    if isinstance(number, bool) or not least <= whole <= most:
        raise InputError(what, place, value=number, allowed=f"a whole number from {least} to {most}")
    return whole


def _grid_shape(count: int, shape: Sequence[int] | None, dims: int | None, place: Place | None) -> tuple[int, ...]:
    wanted = None if dims is None else _whole(dims, "dims", MAX_DIMS, place)
    if shape is None:
        return balanced_shape(count, wanted or DEFAULT_DIMS)
    if isinstance(shape, str) or not hasattr(shape, "__len__") or not 1 <= len(shape) <= MAX_DIMS:
        raise InputError("shape", place, value=shape, allowed=f"1 to {MAX_DIMS} whole numbers")
    extents = tuple(_whole(extent, f"shape[{index}]", MAX_HOSTS, place) for index, extent in enumerate(shape))
    if wanted not in (None, len(extents)):
        raise InputError("shape and dims differ", place, value=extents, allowed=f"{wanted} dimensions")
    if math.prod(extents) != count:
        what = f"shape has {math.prod(extents)} hosts, but node_count is {count}"
        suggestion = f"a product of {count}, e.g. {list(balanced_shape(count, len(extents)))}"
        raise InputError(what, place, value=list(extents), allowed=suggestion)
    return extents


def _fat_tree(count: int, arity: int | None, place: Place | None) -> Topology:
    if arity is None:
        raise InputError("fat_tree needs an arity (ports up and down of a switch)", place, allowed="arity >= 2")
    return FatTreeTopology(count, _whole(arity, "arity", MAX_HOSTS, place, least=2))


def _hypercube(count: int, place: Place | None) -> Topology:
    if count & (count - 1):
        below = 1 << (count.bit_length() - 1)
        allowed = f"a power of two, e.g. {below} or {2 * below}"
        raise InputError("node_count of a hypercube", place, value=count, allowed=allowed)
    return HypercubeTopology(count)


def _graph(count: int, graph: nx.Graph | None, place: Place | None) -> Topology:
    if graph is None:
        raise InputError("topology kind graph needs a graph", place, allowed="a NetworkX graph")
    topology = graph_topology(graph, place)
    if topology.node_count != count:
        what = "node_count differs from the number of hosts in the graph"
        raise InputError(what, place, value=count, allowed=str(topology.node_count))
    return topology
