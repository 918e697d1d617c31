"""Closed forms of collective operations whose data switches combine on the way, or hand to all ranks.

A rank gives its bytes to the switches of its network and takes the result. The switches combine at the speed of the
links, and pass on what all ranks below have given. So from when the last rank has come, n bytes take as long as one
message of n bytes, through the same links, in addition to what the network states for its switches:

    T = D(n) + latency + n / bandwidth

with D as in ``message_costs`` for ranks that send and receive together. The direction with more bytes counts: n of an
allreduce, a reduce, a broadcast and a reduce-scatter of n bytes, (P - 1) n of an allgather. Source: R. Graham et al.,
"Scalable Hierarchical Aggregation Protocol (SHArP)", COM-HPC 2016; B. Klenk et al., "An In-Network Architecture for
Accelerating Shared-Memory Multiprocessor Collectives", ISCA 2020.

On several nodes with several ranks, the times of the parts within nodes and between them add up, since all ranks of a
part wait for one another: exact in Hockney's model. Ranks whose network has no such switches use a ring or a binomial
tree in a part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from simcodesign.analytic.collectives.accelerators import NOTHING, OfLevels, added, of_groups
from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, Ints, OnNodes, register_algorithm_form
from simcodesign.analytic.collectives.all_to_all import sent_to_each_other
from simcodesign.analytic.collectives.allgather import allgather_ring
from simcodesign.analytic.collectives.allreduce import allreduce_ring, sent_both_ways
from simcodesign.analytic.collectives.barrier import barrier_dissemination, sent_by_signals
from simcodesign.analytic.collectives.broadcast import broadcast_binomial
from simcodesign.analytic.collectives.reduce import reduce_binomial
from simcodesign.analytic.collectives.reduce_scatter import reduce_scatter_in_steps
from simcodesign.analytic.collectives.scatter import sent_by_others
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.node_levels import LevelCosts, NodeLevels
from simcodesign.analytic.messages.ordered_steps import NodeMembers, Step, Steps
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_parts.levels import Switches
from simcodesign.describe.network.network import Network


def through_switches(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Return the cost of ranks that give ``size`` bytes to their switches and take as many."""
    ranks: FloatOrArray = np.asarray(p.ranks, dtype=np.float64)
    later_s = 0.0 if p.combined_later_s is None else p.combined_later_s(size)
    several = ranks > 1
    messages = np.where(several, ranks, 0.0)
    return Cost(np.where(several, p.message(size).exchange_s + later_s, 0.0), messages, messages * size)


@dataclass(frozen=True)
class Part:
    """An operation of the ranks of one level: its cost and steps without such switches.

    ``bytes_of(ranks)``: how many times its bytes a rank gives to switches, or takes, if these combine.
    """

    cost: Callable[[FloatOrArray, MessageCosts], Cost]
    steps: Callable[[int], Steps]
    bytes_of: Callable[[FloatOrArray], FloatOrArray] = lambda ranks: 1.0

    def at(self, size: FloatOrArray, p: MessageCosts) -> Cost:
        """Return the cost, in switches if these combine messages."""
        if p.combined_later_s is None:
            return self.cost(size, p)
        return through_switches(size * self.bytes_of(p.ranks), p)

    def steps_with(self, network: Network | None, count: int) -> Steps:
        """Return the steps of ``count`` ranks, in the switches of a network if there is one."""
        if network is None:
            return self.steps(count)
        return ordered_steps.in_switches(count, network, float(self.bytes_of(float(count))))


ALLREDUCE = Part(allreduce_ring, ordered_steps.ring_twice)
REDUCE_SCATTER = Part(reduce_scatter_in_steps, ordered_steps.parts_around_the_ring)
ALLGATHER = Part(allgather_ring, ordered_steps.ring, lambda ranks: ranks - 1.0)
BROADCAST = Part(broadcast_binomial, ordered_steps.tree)
REDUCE = Part(reduce_binomial, partial(ordered_steps.tree, up=True, reduced=1.0))
BARRIER = Part(barrier_dissemination, ordered_steps.dissemination)
#: Where the ranks of a part are: on one node, of the same number on all nodes, or the first of each node.
WITHIN, RAILS, LEADERS = "within nodes", "between ranks of the same number", "between leaders"


class Stage(NamedTuple):
    """A part of an operation, with ``blocks(P, ranks of a node, nodes)`` times its bytes."""

    where: str
    part: Part
    blocks: Callable[[FloatOrArray, FloatOrArray, FloatOrArray], FloatOrArray] = lambda ranks, most, nodes: 1.0


_BY_LEADERS = (Stage(WITHIN, ALLREDUCE), Stage(LEADERS, ALLREDUCE), Stage(WITHIN, BROADCAST))
_IN_PART = (lambda ranks, most, nodes: 1.0 / most,)
#: For each operation, its stages on nodes with the same number of ranks each, and on others.
STAGES: dict[str, tuple[tuple[Stage, ...], tuple[Stage, ...]]] = {
    "allreduce": (
        (
            Stage(WITHIN, REDUCE_SCATTER),
            Stage(RAILS, ALLREDUCE, *_IN_PART),
            Stage(WITHIN, ALLGATHER, *_IN_PART),
        ),
        _BY_LEADERS,
    ),
    "reduce_scatter": ((Stage(WITHIN, REDUCE_SCATTER), Stage(RAILS, REDUCE_SCATTER, *_IN_PART)), _BY_LEADERS),
    "allgather": (
        (Stage(RAILS, ALLGATHER), Stage(WITHIN, ALLGATHER, lambda ranks, most, nodes: nodes)),
        (
            Stage(WITHIN, ALLGATHER),
            Stage(LEADERS, ALLGATHER, lambda ranks, most, nodes: most),
            Stage(WITHIN, BROADCAST, lambda ranks, most, nodes: ranks),
        ),
    ),
    "broadcast": ((Stage(LEADERS, BROADCAST), Stage(WITHIN, BROADCAST)),) * 2,
    "reduce": ((Stage(WITHIN, REDUCE), Stage(LEADERS, REDUCE)),) * 2,
    "barrier": ((Stage(WITHIN, BARRIER), Stage(LEADERS, BARRIER), Stage(WITHIN, BARRIER)),) * 2,
}
#: Operations that take a single part on one node.
_ON_ONE_NODE = {"allreduce": ALLREDUCE, "barrier": BARRIER}


def _cost(operation: str) -> OfLevels:
    even, uneven = STAGES[operation]
    one_node = (Stage(WITHIN, _ON_ONE_NODE[operation]),) if operation in _ON_ONE_NODE else even

    def cost(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
        are_even = levels.nodes is None or len({*levels.nodes.tolist()}) == 1
        several = _sum_of_stages(even if are_even else uneven, size, levels)
        return several.or_where(np.asarray(levels.between.ranks) == 1, _sum_of_stages(one_node, size, levels))

    return cost


def _sum_of_stages(stages: Sequence[Stage], size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Add the stages; each takes as long as on the largest node."""
    counts = levels.ranks, levels.within.ranks, levels.between.ranks
    time_s: FloatOrArray = 0.0
    within = between = NOTHING
    for stage in stages:
        part_bytes = size * stage.blocks(*counts)
        if stage.where == WITHIN:
            one = stage.part.at(part_bytes, levels.within)
            within = added(within, _of_every_node(stage.part, part_bytes, one, levels))
        else:
            one = stage.part.at(part_bytes, levels.between)
            between = added(between, one if stage.where == LEADERS else of_groups(one, levels.within.ranks))
        time_s = time_s + one.time_s
    return LevelCosts(time_s, within, between)


def _of_every_node(part: Part, size: FloatOrArray, largest: Cost, levels: NodeLevels) -> Cost:
    """Return the cost of a part on the largest node, with the messages of all nodes."""
    if levels.nodes is None:
        return of_groups(largest, levels.between.ranks)
    total = replace(largest, messages=0.0, message_bytes=0.0, reduced_bytes=0.0)
    for ranks, nodes in zip(*np.unique(levels.nodes, return_counts=True), strict=True):
        one = of_groups(part.at(size, replace(levels.within, ranks=float(ranks))), float(nodes))
        total = added(total, replace(one, reduction_s=0.0))
    return total


def _steps(operation: str, switches: Switches, node: Ints) -> Steps:
    """Yield the messages of an operation of members on their nodes."""
    even, uneven = STAGES[operation]
    nodes = NodeMembers.of(node)
    count, most = len(nodes.members), max(len(several) for several in nodes.members)
    stages = even if nodes.are_even else uneven
    if count == 1 and operation in _ON_ONE_NODE:
        stages = (Stage(WITHIN, _ON_ONE_NODE[operation]),)
    for stage in stages:
        blocks = float(stage.blocks(float(len(node)), float(most), float(count)))
        of_part = partial(stage.part.steps_with, switches.within if stage.where == WITHIN else switches.between)
        if stage.where == WITHIN:
            yield from nodes.within(of_part, blocks)
        elif stage.where == RAILS:
            yield from nodes.across(of_part, blocks)
        else:
            yield from nodes.between(partial(_scaled, of_part, blocks))


def _scaled(steps: Callable[[int], Steps], blocks: float, count: int) -> Steps:
    """Yield the steps of ``count`` ranks with ``blocks`` times the blocks."""
    for step in steps(count):
        assert isinstance(step, Step)
        yield step.scaled(blocks)


for _operation, _part, _sent in (
    ("allreduce", ALLREDUCE, sent_both_ways),
    ("reduce_scatter", REDUCE_SCATTER, sent_by_others),
    ("allgather", ALLGATHER, sent_to_each_other),
    ("broadcast", BROADCAST, sent_by_others),
    ("reduce", REDUCE, sent_by_others),
    ("barrier", BARRIER, sent_by_signals),
):
    register_algorithm_form(
        _operation,
        "in_switch",
        AlgorithmForm(
            _part.at,
            _part.steps,
            "1",
            "1",
            _sent,
            synchronises=True,
            on_nodes=OnNodes(_cost(_operation), partial(_steps, _operation, Switches()), partial(_steps, _operation)),
        ),
    )
