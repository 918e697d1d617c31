"""The two levels on which some collective operations work: messages within nodes, and between the nodes' leaders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, price
from simcodesign.analytic.messages.route_links import links_within_nodes, modelled_hops, slowest_links
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine import Machine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Nodes up to which those with fewer ranks than others are looked at, one by one.
MOST_NODES = 4096
#: Times of leaders that are held at once.
MOST_TIMES = 2**22


@dataclass(frozen=True)
class LevelCosts:
    """What an operation costs in ``time_s``, and by its messages ``within`` nodes and ``between`` them."""

    time_s: FloatOrArray
    within: Cost
    between: Cost

    @property
    def whole(self) -> Cost:
        """All of it."""
        both = ((getattr(self.within, one.name), getattr(self.between, one.name)) for one in fields(Cost))
        return replace(Cost(*(near + far for near, far in both)), time_s=self.time_s)


@dataclass(frozen=True)
class Nodes:
    """Nodes that have ``ranks`` (N,), in the order of their leaders, at n points; ``picked(values)``: (n, 1) values of
    all design points at these."""

    ranks: Ints
    picked: Callable[[FloatOrArray], Floats]

    def start(self) -> Floats:
        """(n, N) zeros."""
        return np.zeros((len(self.picked(0.0)), len(self.ranks)))

    def each(self, of_ranks: Callable[[float], FloatOrArray]) -> Floats:
        """(n, N) what a node of so many ranks has."""
        distinct, which = np.unique(self.ranks, return_inverse=True)
        return np.concatenate([self.picked(of_ranks(float(ranks))) for ranks in distinct], axis=1)[:, which.ravel()]

    def message(self, one: Message) -> Message:
        """A message, times (n, 1)."""
        return _filled(one, lambda name: self.picked(getattr(one, name)))

    def messages(self, of_ranks: Callable[[float], Message]) -> Message:
        """The message of a node of so many ranks, times (n, N)."""
        some = of_ranks(float(self.ranks[0]))
        return _filled(some, lambda name: self.each(lambda ranks: getattr(of_ranks(ranks), name)))


def _filled(message: Message, values: Callable[[str], Floats]) -> Message:
    """A message with the values of all of its fields."""
    times = ("send_s", "arrival_s", "receive_s", "next_send_s", "next_receive_s")
    send_s, arrival_s, receive_s, next_send_s, next_receive_s = map(values, times)
    waits, spread_s = values("waits") > 0, values("spread_s")
    return Message(send_s, arrival_s, receive_s, next_send_s, next_receive_s, waits, spread_s, message.in_order)


@dataclass(frozen=True)
class NodeLevels:
    """``ranks`` ranks, of which a node has no more than ``within.ranks``, on ``between.ranks`` nodes; prices of
    messages among those of a node, and among the leaders. ``root``: from which ranks and nodes are counted. ``nodes``:
    the ranks of every node in the order of their leaders, in a group; None for all ranks of the machine."""

    machine: Machine
    ranks: FloatOrArray
    root: FloatOrArray
    within: MessageCosts
    between: MessageCosts
    nodes: Ints | None = None

    @property
    def others(self) -> FloatOrArray:
        """Ranks that are no leaders."""
        return self.ranks - self.between.ranks

    def near(self, ranks: float) -> MessageCosts:
        """Prices within a node of so many ranks."""
        return replace(self.within, ranks=ranks)

    def by_nodes(self, values: FloatOrArray, of_nodes: Callable[[Nodes], Floats]) -> FloatOrArray:
        """The values where all nodes have as many ranks, else what ``of_nodes`` gives for each point (n,)."""
        is_uneven = np.asarray(self.within.ranks * self.between.ranks != self.ranks)
        is_uneven = is_uneven & (np.asarray(self.between.ranks) <= MOST_NODES)
        if not is_uneven.any():
            return values
        shape = np.broadcast_shapes(np.shape(values), is_uneven.shape, np.shape(self.root))
        result = np.array(np.broadcast_to(values, shape or (1,)), dtype=np.float64)
        for ranks, points in self._points(is_uneven, result.shape):
            for low in range(0, len(points), max(MOST_TIMES // len(ranks), 1)):
                chunk = points[low : low + max(MOST_TIMES // len(ranks), 1)]
                where = np.unravel_index(chunk, result.shape)

                def picked(every: FloatOrArray, where: tuple[Ints, ...] = where) -> Floats:
                    return np.asarray(np.broadcast_to(every, result.shape)[where], dtype=np.float64)[:, None]

                result[where] = of_nodes(Nodes(ranks, picked))
        return result if shape else float(result[0])

    def _points(self, where: NDArray[np.bool_], shape: tuple[int, ...]) -> Iterator[tuple[Ints, Ints]]:
        """Ranks of every node, and the points at which they are these."""
        points = np.flatnonzero(np.broadcast_to(where, shape))
        if self.nodes is not None:
            yield self.nodes, points
            return
        at = np.unravel_index(points, shape)
        several = np.stack([np.broadcast_to(one, shape)[at] for one in (self.ranks, self.root)], axis=1)
        keys, which = np.unique(several, axis=0, return_inverse=True)
        for number, (ranks, root) in enumerate(keys.astype(np.int64).tolist()):
            yield ranks_of_nodes(self.machine, ranks, root), points[which.ravel() == number]


def levels_at(step: EvaluatedStep, root: Expression | None) -> NodeLevels:
    """The levels of an operation of all ranks at this place of the program."""
    machine, ranks = step.machine, step.evaluation.ranks
    network, hops = machine.network, modelled_hops(machine.network, ranks)
    far = slowest_links(network)
    near = links_within_nodes(machine, ranks)
    first = 0.0 if root is None else step.evaluation.value(root, "root")
    if root is not None and "rank" in root.names:
        first = np.max(first, axis=-1, keepdims=True)
    nodes = machine.placement.nodes_used(ranks)
    within = price(network, machine.placement.most_on_a_node(ranks), hops, near).copied_late
    return NodeLevels(machine, ranks, first, within, price(network, nodes, hops, far))


def ranks_of_nodes(machine: Machine, ranks: int, root: int) -> Ints:
    """(N,) ranks of the nodes, in the order of their first ranks from the root on."""
    _, first, count = np.unique(np.roll(machine.node_of(ranks), -root), return_index=True, return_counts=True)
    return np.asarray(count[np.argsort(first)], dtype=np.int64)
