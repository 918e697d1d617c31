"""Closed forms of collective operations in libraries for accelerators.

Rings in channels, and steps within nodes, then between the ranks of the same number on all nodes.

On N nodes with q ranks each, a step of a ring in q channels has two messages of every rank: one to the next node with a
block of one channel, x = n / q of the n bytes of a step, and one within its node with the blocks of the others, n - x.
It sends both, then receives both. With c, a and r as in ``message_costs``, C and so on of the message between nodes,

    T = max(max(C + c, A) + R, C + a) + r, and the operator on n bytes

and a reduce-scatter or an allgather is P - 1 such steps. The times of the parts of a hierarchical
algorithm add up. That is exact in Hockney's model if all nodes have the same number of ranks. Otherwise ranks are
followed (``on_levels``). In LogGOPS it is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, Ints, OnNodes, register_algorithm_form
from simcodesign.analytic.collectives.all_to_all import all_to_all_pairwise, sent_to_each_other
from simcodesign.analytic.collectives.allgather import allgather_ring
from simcodesign.analytic.collectives.allreduce import allreduce_ring, sent_both_ways
from simcodesign.analytic.collectives.reduce_scatter import reduce_scatter_in_steps
from simcodesign.analytic.collectives.scatter import sent_by_others
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.node_levels import LevelCosts, NodeLevels
from simcodesign.analytic.messages.ordered_steps import NodeMembers, Steps
from simcodesign.core.units import FloatOrArray

NOTHING = Cost(0.0, 0.0, 0.0)
OfLevels = Callable[[FloatOrArray, NodeLevels], LevelCosts]


def ring_in_channels(block: FloatOrArray, levels: NodeLevels, reduces: bool) -> LevelCosts:
    """P - 1 steps with a block of each rank, in as many channels as the smallest node has ranks."""
    ranks, members, nodes = levels.ranks, levels.within.ranks, levels.between.ranks
    rounds, has_far, has_near = np.asarray(ranks) - 1.0, np.asarray(nodes) > 1, np.asarray(members) > 1
    stays: FloatOrArray = 1.0 - np.where(has_far, 1.0, 0.0) / members
    far, near = levels.between.message(block / members), levels.within.message(block * stays)
    far_s, near_s = np.where(has_far, far.send_s, 0.0), np.where(has_near, near.send_s, 0.0)
    sent_s = far_s + near_s
    first_s = np.where(has_far, np.maximum(sent_s, far.arrival_s) + far.receive_s, sent_s)
    time_s = np.where(has_near, np.maximum(first_s, far_s + near.arrival_s) + near.receive_s, first_s)
    for a, b in ((far.next_send_s, near.next_send_s), (far.next_receive_s, near.next_receive_s)):  # gaps of LogGOPS
        time_s = np.maximum(time_s, np.where(has_far, a, 0.0) + np.where(has_near, b, 0.0))
    work_s = block * levels.within.reduction_s_per_byte if reduces else 0.0
    channels = members if levels.nodes is None else float(levels.nodes.min())
    senders = np.where(has_near, ranks - np.where(has_far & (np.asarray(channels) == 1), nodes, 0.0), 0.0)
    far_bytes = np.where(has_far, rounds * nodes * block, 0.0)
    every, reduced = rounds * ranks * block, rounds * ranks * block * reduces
    within = Cost(0.0, rounds * senders, every - far_bytes, rounds * work_s, reduced)
    return LevelCosts(
        rounds * (time_s + work_s), within, Cost(0.0, np.where(has_far, rounds * nodes * channels, 0.0), far_bytes)
    )


def added(one: Cost, other: Cost) -> Cost:
    """Add two costs."""
    return Cost(*(getattr(one, each.name) + getattr(other, each.name) for each in fields(Cost)))


def of_groups(cost: Cost, groups: FloatOrArray) -> Cost:
    """Multiply a cost by the number of groups that do the same work concurrently."""
    names = ("messages", "message_bytes", "reduced_bytes")
    return replace(cost, **{name: getattr(cost, name) * groups for name in names})


def allreduce_ring_channels(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Return a reduce-scatter and an allgather of P-ths."""
    block = size / levels.ranks
    first, last = ring_in_channels(block, levels, True), ring_in_channels(block, levels, False)
    within, between = added(first.within, last.within), added(first.between, last.between)
    return LevelCosts(first.time_s + last.time_s, within, between)


def reduce_scatter_ring_channels(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Return steps with a P-th."""
    return ring_in_channels(size / levels.ranks, levels, True)


def allgather_ring_channels(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Return steps with all that a rank has."""
    return ring_in_channels(size, levels, False)


def on_rails(flat: Callable[[FloatOrArray, MessageCosts], Cost], parts: OfLevels) -> OfLevels:
    """Return the cost by ``parts`` if all nodes have the same number of ranks, otherwise by the ``flat`` algorithm."""

    def cost(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
        if levels.nodes is None or len({*levels.nodes.tolist()}) == 1:
            return parts(size, levels)
        every = flat(size, replace(levels.between, ranks=levels.ranks))
        return LevelCosts(every.time_s, NOTHING, every)

    return cost


def sum_of_parts(parts: list[tuple[Cost, bool]], levels: NodeLevels) -> LevelCosts:
    """Add parts that follow one another: ``True`` marks those between nodes, others are within every node."""
    time_s: FloatOrArray = 0.0
    within = between = NOTHING
    for cost, is_far in parts:
        time_s = time_s + cost.time_s
        if is_far:
            between = added(between, of_groups(cost, levels.within.ranks))
        else:
            within = added(within, of_groups(cost, levels.between.ranks))
    return LevelCosts(time_s, within, between)


def allreduce_hierarchical(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Return a reduce-scatter within nodes, an allreduce of a part between them, an allgather within."""
    part = size / levels.within.ranks
    first, last = reduce_scatter_in_steps(size, levels.within), allgather_ring(part, levels.within)
    return sum_of_parts([(first, False), (allreduce_ring(part, levels.between), True), (last, False)], levels)


def reduce_scatter_hierarchical(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Within nodes, then of a part between them."""
    first, then = reduce_scatter_in_steps(size, levels.within), size / levels.within.ranks
    return sum_of_parts([(first, False), (reduce_scatter_in_steps(then, levels.between), True)], levels)


def allgather_hierarchical(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Between nodes, then of what a rank has within them."""
    first, last = allgather_ring(size, levels.between), allgather_ring(size * levels.between.ranks, levels.within)
    return sum_of_parts([(first, True), (last, False)], levels)


def all_to_all_hierarchical(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Within nodes N times the bytes to each rank, then between them q times."""
    first = all_to_all_pairwise(size * levels.between.ranks, levels.within)
    last = all_to_all_pairwise(size * levels.within.ranks, levels.between)
    return sum_of_parts([(first, False), (last, True)], levels)


def _channel_steps(*reduces: bool, in_parts: bool) -> Callable[[Ints], Steps]:
    def steps(node: Ints) -> Steps:
        for each in reduces:
            yield from NodeMembers.of(node).channels(each, len(node) if in_parts else 1)

    return steps


def _rail_steps(flat: Callable[[int], Steps], parts: Callable[[NodeMembers], Steps]) -> Callable[[Ints], Steps]:
    def steps(node: Ints) -> Steps:
        nodes = NodeMembers.of(node)
        return parts(nodes) if nodes.are_even else flat(len(node))

    return steps


def _allreduce_steps(nodes: NodeMembers) -> Steps:
    part = 1.0 / len(nodes.members[0])
    yield from nodes.within(ordered_steps.parts_around_the_ring)
    yield from nodes.across(ordered_steps.ring_twice, part)
    yield from nodes.within(ordered_steps.ring, part)


def _reduce_scatter_steps(nodes: NodeMembers) -> Steps:
    yield from nodes.within(ordered_steps.parts_around_the_ring)
    yield from nodes.across(ordered_steps.parts_around_the_ring, 1.0 / len(nodes.members[0]))


def _allgather_steps(nodes: NodeMembers) -> Steps:
    yield from nodes.across(ordered_steps.ring)
    yield from nodes.within(ordered_steps.ring, float(len(nodes.members)))


def _all_to_all_steps(nodes: NodeMembers) -> Steps:
    yield from nodes.within(ordered_steps.pairwise, float(len(nodes.members)))
    yield from nodes.across(ordered_steps.pairwise, float(len(nodes.members[0])))


# Where every rank has a node for itself, they are the ring, or the pairwise exchange, of all.
_ALLREDUCE = partial(
    AlgorithmForm, allreduce_ring, ordered_steps.ring_twice, "2*(P - 1)", "2*(P - 1)/P", sent_both_ways
)
_REDUCE_SCATTER = partial(
    AlgorithmForm,
    reduce_scatter_in_steps,
    ordered_steps.parts_around_the_ring,
    "P - 1",
    "(P - 1)/P",
    sent_by_others,
)
_ALLGATHER = partial(AlgorithmForm, allgather_ring, ordered_steps.ring, "P - 1", "P - 1", sent_to_each_other)
_ALL_TO_ALL = partial(AlgorithmForm, all_to_all_pairwise, ordered_steps.pairwise, "P - 1", "P - 1", sent_to_each_other)
for _operation, _form, _cost, _reduces, _in_parts in (
    ("allreduce", _ALLREDUCE, allreduce_ring_channels, (True, False), True),
    ("reduce_scatter", _REDUCE_SCATTER, reduce_scatter_ring_channels, (True,), True),
    ("allgather", _ALLGATHER, allgather_ring_channels, (False,), False),
):
    register_algorithm_form(
        _operation,
        "ring_channels",
        _form(synchronises=True, on_nodes=OnNodes(_cost, _channel_steps(*_reduces, in_parts=_in_parts))),
    )
for _operation, _form, _cost, _flat, _flat_steps, _parts in (
    ("allreduce", _ALLREDUCE, allreduce_hierarchical, allreduce_ring, ordered_steps.ring_twice, _allreduce_steps),
    (
        "reduce_scatter",
        _REDUCE_SCATTER,
        reduce_scatter_hierarchical,
        reduce_scatter_in_steps,
        ordered_steps.parts_around_the_ring,
        _reduce_scatter_steps,
    ),
    ("allgather", _ALLGATHER, allgather_hierarchical, allgather_ring, ordered_steps.ring, _allgather_steps),
    (
        "all_to_all",
        _ALL_TO_ALL,
        all_to_all_hierarchical,
        all_to_all_pairwise,
        ordered_steps.pairwise,
        _all_to_all_steps,
    ),
):
    register_algorithm_form(
        _operation,
        "hierarchical",
        _form(on_nodes=OnNodes(on_rails(_flat, _cost), _rail_steps(_flat_steps, _parts))),
    )
