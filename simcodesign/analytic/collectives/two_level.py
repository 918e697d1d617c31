"""Closed forms of collective operations on two levels: the sum of those within nodes and between their leaders.

That is the time if all nodes have as many ranks. If some have fewer, their leaders begin before the others, or
have less to do after them, and in Hockney's model ranks are followed through the steps (``on_levels``). In LogGOPS all
nodes are taken to have as many ranks as the largest.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import (
    AlgorithmForm,
    Ints,
    OnNodes,
    register_algorithm_form,
)
from simcodesign.analytic.collectives.all_to_all import sent_to_each_other
from simcodesign.analytic.collectives.allgather import allgather_ring
from simcodesign.analytic.collectives.allreduce import allreduce_recursive_doubling, sent_by_doubling, some_fold
from simcodesign.analytic.collectives.barrier import barrier_dissemination, sent_by_signals
from simcodesign.analytic.collectives.broadcast import broadcast_binomial
from simcodesign.analytic.collectives.gather import gather_binomial
from simcodesign.analytic.collectives.reduce import reduce_binomial
from simcodesign.analytic.collectives.scatter import sent_by_others
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost
from simcodesign.analytic.messages.node_levels import LevelCosts, NodeLevels
from simcodesign.analytic.messages.ordered_steps import NodeMembers, Steps
from simcodesign.analytic.messages.rounds import tree_blocks
from simcodesign.analytic.messages.trees import halving_down_s
from simcodesign.core.units import FloatOrArray

#: Up a binomial tree, each message reduced.
_REDUCED = partial(ordered_steps.tree, up=True, reduced=1.0)


def broadcast_two_level(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Between leaders, until every leader can send on; then within nodes."""
    m = levels.between.message(size)
    far, near = broadcast_binomial(size, levels.between), broadcast_binomial(size, levels.within)
    ready_s = halving_down_s(levels.between.ranks, lambda _: m, then_sends=True)
    time_s = np.where(np.asarray(levels.within.ranks) > 1, ready_s + near.time_s, far.time_s)
    return LevelCosts(time_s, _by_others(near, size, levels), far)


def reduce_two_level(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Within nodes, then between leaders."""
    near, far = reduce_binomial(size, levels.within), reduce_binomial(size, levels.between)
    return LevelCosts(near.time_s + far.time_s, _by_others(near, size, levels, reduces=True), far)


def allreduce_two_level(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Return a reduce within nodes, recursive doubling between leaders, a broadcast within nodes."""
    first, last = reduce_binomial(size, levels.within), broadcast_binomial(size, levels.within)
    far = allreduce_recursive_doubling(size, levels.between)
    time_s = first.time_s + far.time_s + last.time_s
    once = _by_others(first, size, levels, reduces=True)
    return LevelCosts(time_s, replace(once, messages=2 * once.messages, message_bytes=2 * once.message_bytes), far)


def barrier_two_level(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Signals up within nodes, dissemination between leaders, signals down within nodes."""
    first, last = gather_binomial(size, levels.within), broadcast_binomial(size, levels.within)
    far = barrier_dissemination(size, levels.between)
    time_s = first.time_s + far.time_s + last.time_s
    once = _by_others(first, size, levels)
    return LevelCosts(time_s, replace(once, messages=2 * once.messages, message_bytes=2 * once.message_bytes), far)


def allgather_two_level(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Return a gather within nodes, a ring of leaders with the blocks of whole nodes.

    A broadcast of all blocks within.
    """
    every, most = levels.ranks * size, levels.within.ranks * size
    first, last = gather_binomial(size, levels.within), broadcast_binomial(every, levels.within)
    far = allgather_ring(most, levels.between)
    time_s = first.time_s + far.time_s + last.time_s
    blocks: FloatOrArray = levels.between.ranks * tree_blocks(levels.within.ranks)
    if levels.nodes is not None:
        blocks = np.sum(tree_blocks(levels.nodes.astype(np.float64)))
    within = Cost(first.time_s + last.time_s, 2 * levels.others, blocks * size + levels.others * every)
    return LevelCosts(time_s, within, replace(far, message_bytes=(levels.between.ranks - 1) * every))


def _by_others(cost: Cost, size: FloatOrArray, levels: NodeLevels, reduces: bool = False) -> Cost:
    """Add the costs of the ranks of one node, each of which sends or receives once, except for the leaders."""
    sent = levels.others * size
    return Cost(cost.time_s, levels.others, sent, cost.reduction_s, sent if reduces else 0.0)


def _broadcast_steps(node: Ints) -> Steps:
    nodes = NodeMembers.of(node)
    yield from nodes.between(ordered_steps.tree)
    yield from nodes.within(ordered_steps.tree)


def _reduce_steps(node: Ints) -> Steps:
    nodes = NodeMembers.of(node)
    yield from nodes.within(_REDUCED)
    yield from nodes.between(_REDUCED)


def _allreduce_steps(node: Ints) -> Steps:
    nodes = NodeMembers.of(node)
    yield from nodes.within(_REDUCED)
    yield from nodes.between(ordered_steps.hypercube)
    yield from nodes.within(ordered_steps.tree)


def _barrier_steps(node: Ints) -> Steps:
    nodes = NodeMembers.of(node)
    yield from nodes.within(partial(ordered_steps.tree, up=True))
    yield from nodes.between(ordered_steps.dissemination)
    yield from nodes.within(ordered_steps.tree)


def _allgather_steps(node: Ints) -> Steps:
    nodes = NodeMembers.of(node)
    yield from nodes.within(partial(ordered_steps.tree, up=True, in_blocks=True))
    yield from nodes.between(nodes.ring_of_nodes)
    yield from nodes.within(ordered_steps.tree, float(len(node)))


# Where every rank has a node for itself, it is the algorithm between leaders.
register_algorithm_form(
    "broadcast",
    "two_level",
    AlgorithmForm(
        broadcast_binomial,
        ordered_steps.tree,
        "log2(P)",
        "log2(P)",
        sent_by_others,
        on_nodes=OnNodes(broadcast_two_level, _broadcast_steps),
    ),
)
register_algorithm_form(
    "reduce",
    "two_level",
    AlgorithmForm(
        reduce_binomial,
        _REDUCED,
        "log2(P)",
        "log2(P)",
        sent_by_others,
        on_nodes=OnNodes(reduce_two_level, _reduce_steps),
    ),
)
register_algorithm_form(
    "allreduce",
    "two_level",
    AlgorithmForm(
        allreduce_recursive_doubling,
        ordered_steps.hypercube,
        "log2(P)",
        "log2(P)",
        sent_by_doubling,
        least_in_loggops=some_fold,
        folds=True,
        on_nodes=OnNodes(allreduce_two_level, _allreduce_steps),
    ),
)
register_algorithm_form(
    "allgather",
    "two_level",
    AlgorithmForm(
        allgather_ring,
        ordered_steps.ring,
        "P - 1",
        "P - 1",
        sent_to_each_other,
        on_nodes=OnNodes(allgather_two_level, _allgather_steps),
    ),
)
register_algorithm_form(
    "barrier",
    "two_level",
    AlgorithmForm(
        barrier_dissemination,
        ordered_steps.dissemination,
        "log2(P)",
        "log2(P)",
        sent_by_signals,
        on_nodes=OnNodes(barrier_two_level, _barrier_steps),
    ),
)
