"""Where ranks are: the node that the mapping of a machine gives to each.

Ranks of a node take its processors in order, so that the node determines all. A mapping is written as the name of a
kind, as one of the classes below, or as the node of every rank.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_parts.folding import FoldedMapping, folded_nodes
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.grid import GridTopology
from simcodesign.describe.topology.grid_shape import smallest_box

Ints = NDArray[np.int64]
#: Units of random placement: whole nodes, each with as many ranks as it has processors, or every rank by itself.
NODES, RANKS = PLACED_AT_RANDOM = ("nodes", "ranks")


@dataclass(frozen=True)
class RandomMapping:
    """Ranks fill ``nodes`` at random, or every one of the ``ranks`` takes a processor at random.

    Always the same for one ``seed``, and for fewer ranks the first of them.
    """

    seed: int = 0
    of: str = NODES

    def __str__(self) -> str:
        return f"random {self.of}, seed {self.seed}"


@dataclass(frozen=True)
class GridMapping:
    """Ranks fill a box of a mesh or torus, node after node in the order of its coordinates.

    The last coordinate changes fastest. ``shape``: of the box; None for the most cube-like one of as many nodes as the
    ranks need, or if there is none with just these, the smallest one.
    """

    shape: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return "grid" if self.shape is None else f"grid of {'x'.join(map(str, self.shape))} nodes"


@dataclass(frozen=True)
class PartMapping:
    """Ranks have the places of a job on a larger machine.

    The ``node`` of each, on nodes with at most ``per_node`` ranks.
    """

    node: tuple[int, ...]
    per_node: int

    def __str__(self) -> str:
        return f"a part of {len(set(self.node)):,} nodes"


#: How the mapping of ranks to nodes may be given.
RankMapping = str | tuple[int, ...] | RandomMapping | GridMapping | FoldedMapping | PartMapping
#: Kinds that a name specifies completely.
NAMED: dict[str, str | RandomMapping | GridMapping] = {
    "linear": "linear",
    "round_robin": "round_robin",
    "one_per_node": "one_per_node",
    "random": RandomMapping(),
    "grid": GridMapping(),
}
MAPPINGS = tuple(NAMED)


class Placement(ABC):
    """The nodes of ranks on a machine with ``per_node`` processors in each of its nodes."""

    per_node: int

    @property
    @abstractmethod
    def most_ranks(self) -> int:
        """The largest number of ranks."""

    @abstractmethod
    def node_of(self, ranks: int) -> Ints:
        """Node of every rank 0..ranks-1: shape (ranks,)."""

    @property
    def has_one_each(self) -> bool:
        """Whether a node never has more than one rank."""
        return self.per_node == 1

    @property
    def ranks_on_first_node(self) -> float:
        """The most ranks that are all on one node: with more of them, some messages leave it."""
        return float(self.per_node)

    def nodes_used(self, ranks: FloatOrArray) -> FloatOrArray:
        """Return the number of nodes that ``ranks`` ranks are on."""
        used: FloatOrArray = np.ceil(np.asarray(ranks) / self.per_node)
        return used

    def most_on_a_node(self, ranks: FloatOrArray) -> FloatOrArray:
        """Return the most ranks that a node has."""
        return np.minimum(ranks, float(self.per_node))

    def most_on_nodes(self, ranks: FloatOrArray, nodes: int) -> NDArray[np.float64]:
        """Return the most ranks on ``nodes`` neighbouring nodes, among groups with a common disk.

        Nodes 0 to ``nodes`` - 1, and so on.
        """
        several, where = np.unique(np.asarray(ranks, dtype=np.float64), return_inverse=True)
        busiest = [float(np.bincount(self.node_of(int(one)) // nodes).max()) for one in several]
        return np.array(busiest)[where.reshape(np.shape(ranks))]


@dataclass(frozen=True)
class Linear(Placement):
    """Node after node, each as full as it gets."""

    nodes: int
    per_node: int

    @property
    def most_ranks(self) -> int:
        return self.nodes * self.per_node

    def node_of(self, ranks: int) -> Ints:
        return np.arange(ranks) // self.per_node

    def most_on_nodes(self, ranks: FloatOrArray, nodes: int) -> NDArray[np.float64]:
        return np.minimum(np.asarray(ranks, dtype=np.float64), float(self.per_node * nodes))


class RoundRobin(Linear):
    """On as few nodes as possible, round robin."""

    def node_of(self, ranks: int) -> Ints:
        return np.arange(ranks) % -(-ranks // self.per_node)

    def most_on_a_node(self, ranks: FloatOrArray) -> FloatOrArray:
        most: FloatOrArray = np.ceil(np.asarray(ranks) / self.nodes_used(ranks))
        return most

    def most_on_nodes(self, ranks: FloatOrArray, nodes: int) -> NDArray[np.float64]:
        count = np.asarray(ranks, dtype=np.float64)
        used = np.ceil(count / self.per_node)
        full, rest = np.divmod(count, used)
        first = np.minimum(used, float(nodes))  # the first nodes have a rank more
        return np.asarray(full * first + np.minimum(rest, first))


@dataclass(frozen=True, eq=False)
class Ordered(Linear):
    """Node after node in an order of their own, ``order`` (n,): all nodes, or the nodes of a job."""

    order: Ints

    @property
    def most_ranks(self) -> int:
        return len(self.order) * self.per_node

    def node_of(self, ranks: int) -> Ints:
        return np.asarray(self.order[np.arange(ranks) // self.per_node], dtype=np.int64)

    most_on_nodes = Placement.most_on_nodes


@dataclass(frozen=True, eq=False)
class RoundRobinOfUneven(Placement):
    """On as few nodes as possible, round robin; full ones, by the ``processors`` (nodes,) of each, are skipped."""

    processors: Ints

    @property
    def per_node(self) -> int:  # type: ignore[override]
        """Return the largest number of processors of a node."""
        return int(self.processors.max())

    @property
    def most_ranks(self) -> int:
        return int(self.processors.sum())

    def node_of(self, ranks: int) -> Ints:
        used = int(np.searchsorted(np.cumsum(self.processors), ranks)) + 1
        node = np.repeat(np.arange(used), self.processors[:used])
        place = np.concatenate([np.arange(each) for each in self.processors[:used]])
        return node[np.argsort(place, kind="stable")][:ranks]

    @property
    def ranks_on_first_node(self) -> float:
        return float(self.processors[0]) if self.processors[0] < self.most_ranks else np.inf

    def nodes_used(self, ranks: FloatOrArray) -> FloatOrArray:
        used: FloatOrArray = 1.0 + np.asarray(np.searchsorted(np.cumsum(self.processors), ranks), dtype=np.float64)
        return used

    def most_on_a_node(self, ranks: FloatOrArray) -> FloatOrArray:
        most: FloatOrArray = self.most_on_nodes(ranks, 1)[()]
        return most


@dataclass(frozen=True)
class InBox(Linear):
    """Node after node within a box of the grid that holds them."""

    grid: GridTopology
    shape: tuple[int, ...] | None = None

    @property
    def most_ranks(self) -> int:
        return (self.nodes if self.shape is None else math.prod(self.shape)) * self.per_node

    def box(self, ranks: int) -> tuple[int, ...]:
        """Return the extents of the box for ``ranks`` ranks."""
        return self.shape or smallest_box(self.grid.shape, -(-ranks // self.per_node))

    def node_of(self, ranks: int) -> Ints:
        within = np.unravel_index(np.arange(ranks) // self.per_node, self.box(ranks))
        return np.asarray(np.ravel_multi_index(within, self.grid.shape), dtype=np.int64)

    most_on_nodes = Placement.most_on_nodes


@dataclass(frozen=True, eq=False)
class Listed(Placement):
    """The ``node`` (n,) of every rank, as listed."""

    node: Ints
    per_node: int

    @property
    def most_ranks(self) -> int:
        return len(self.node)

    def node_of(self, ranks: int) -> Ints:
        return self.node[:ranks]

    @property
    def ranks_on_first_node(self) -> float:
        others = np.flatnonzero(self.node != self.node[0])
        return float(others[0]) if len(others) else np.inf

    def nodes_used(self, ranks: FloatOrArray) -> FloatOrArray:
        first = np.zeros(len(self.node) + 1)
        first[1 + np.unique(self.node, return_index=True)[1]] = 1
        used: FloatOrArray = np.cumsum(first)[np.asarray(ranks, dtype=np.int64)]
        return used

    def most_on_a_node(self, ranks: FloatOrArray) -> FloatOrArray:
        most: FloatOrArray = self.most_on_nodes(ranks, 1)[()]
        return most


def placement_of(mapping: RankMapping, topology: Topology, per_node: int | Ints, place: Place) -> Placement:
    """Return the placement that a mapping is on nodes of this network.

    Nodes have ``per_node`` processors, or as many as it gives for each (nodes,). InputError for an unknown name, a box
    that the network has not, and ranks on nodes or processors that there are not.
    """
    nodes = topology.node_count
    if isinstance(mapping, str):
        if mapping not in NAMED:
            raise InputError("mapping", place, value=mapping, allowed=nearest(mapping, MAPPINGS))
        match mapping:
            case "linear":
                return Linear(nodes, per_node) if isinstance(per_node, int) else _in_order(np.arange(nodes), per_node)
            case "round_robin":
                return RoundRobin(nodes, per_node) if isinstance(per_node, int) else RoundRobinOfUneven(per_node)
            case "one_per_node":
                return Linear(nodes, 1)
        mapping = NAMED[mapping]
    match mapping:
        case RandomMapping(seed, of):
            return _at_random(seed, of, nodes, per_node, place)
        case GridMapping(shape):
            if not isinstance(per_node, int):
                what, allowed = "nodes with different numbers of processors: mapping", "linear, round_robin, random"
                raise InputError(what, place, value="grid", allowed=f"{allowed}; or onto partitions")
            return _in_box(shape, topology, per_node, place)
        case FoldedMapping():
            order = folded_nodes(mapping, topology, place)
            return Ordered(nodes, per_node, order) if isinstance(per_node, int) else _in_order(order, per_node)
        case PartMapping(node, most):
            return _part(np.array(node, dtype=np.int64), most)
        case tuple():
            check_listed(mapping, nodes, per_node, place)
            return Listed(np.array(mapping, dtype=np.int64), int(np.max(per_node)))
    raise InputError("mapping", place, value=mapping, allowed=f"{', '.join(MAPPINGS)}, or the node of every rank")


def _part(node: Ints, per_node: int) -> Placement:
    """Return the nodes of a job: one after another if each but the last is full, otherwise as listed."""
    order = node[::per_node]
    if np.array_equal(np.repeat(order, per_node)[: len(node)], node) and len(np.unique(order)) == len(order):
        return Ordered(len(order), per_node, order)
    return Listed(node, per_node)


def _in_order(order: Ints, processors: Ints) -> Listed:
    """Nodes in this order, each as full as it gets with its own number of processors (nodes,)."""
    return Listed(np.repeat(order, processors[order]), int(processors.max()))


def _at_random(seed: int, of: str, nodes: int, per_node: int | Ints, place: Place) -> Placement:
    if of not in PLACED_AT_RANDOM:
        raise InputError("what is placed at random", place, value=of, allowed=" or ".join(PLACED_AT_RANDOM))
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("seed of a random mapping", place, value=seed, allowed="a whole number of 0 or above")
    if not isinstance(per_node, int):
        if of == NODES:
            return _in_order(_permutation(seed, nodes), per_node)
        every = np.repeat(np.arange(nodes), per_node)
        return Listed(every[_permutation(seed, len(every))], int(per_node.max()))
    if of == NODES:
        return Ordered(nodes, per_node, _permutation(seed, nodes))
    return Listed(_permutation(seed, nodes * per_node) // per_node, per_node)


@lru_cache(maxsize=8)
def _permutation(seed: int, count: int) -> Ints:
    """Return the numbers 0 to ``count`` - 1 in an order that the seed chooses.

    Machines are made again with each constant that changes, so that the last ones are kept.
    """
    return np.random.default_rng(seed).permutation(count)


def _in_box(shape: tuple[int, ...] | None, topology: Topology, per_node: int, place: Place) -> Placement:
    if not isinstance(topology, GridTopology):
        what, allowed = f"a {topology.kind} has no part that is a grid: mapping", "linear, random; or a mesh or torus"
        raise InputError(what, place, value="grid", allowed=allowed)
    whole = topology.shape
    if shape is not None and not (
        len(shape) == len(whole) and all(1 <= extent <= most for extent, most in zip(shape, whole, strict=True))
    ):
        allowed = f"{len(whole)} extents of at most {'x'.join(map(str, whole))}"
        raise InputError("shape of the part that the mapping takes", place, value=list(shape), allowed=allowed)
    return InBox(topology.node_count, per_node, topology, shape)


def check_listed(node: tuple[int, ...], nodes: int, per_node: int | Ints, place: Place) -> None:
    """InputError unless ranks are on nodes that exist, one on a processor."""
    if not node:
        raise InputError("no rank is placed", place, allowed=f"{', '.join(MAPPINGS)}, or the node of every rank")
    for one in (min(node), max(node)):
        if not 0 <= one < nodes:
            what = "a rank is placed on a node that does not exist"
            raise InputError(what, place, value=one, allowed=f"0 to {nodes - 1}")
    for fullest, ranks in Counter(node).most_common(1 if isinstance(per_node, int) else None):
        most = per_node if isinstance(per_node, int) else int(per_node[fullest])
        if ranks > most:
            raise InputError(f"{ranks} ranks on node {fullest}, which has {most} processors", place)
