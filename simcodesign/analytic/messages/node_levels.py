"""The two levels on which some collective operations work: messages within nodes, and between the nodes' leaders."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, price, selected, with_switches
from simcodesign.analytic.messages.route_links import links_within_nodes, modelled_hops, slowest_links
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluation import EvaluatedStep
from simcodesign.describe.machine_parts.levels import Switches

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LevelCosts:
    """Cost of an operation in ``time_s``, and by its messages ``within`` nodes and ``between`` them."""

    time_s: FloatOrArray
    within: Cost
    between: Cost

    @property
    def whole(self) -> Cost:
        """All of it."""
        both = ((getattr(self.within, one.name), getattr(self.between, one.name)) for one in fields(Cost))
        return replace(Cost(*(near + far for near, far in both)), time_s=self.time_s)

    def or_where(self, there: NDArray[np.bool_], other: LevelCosts) -> LevelCosts:
        """Return these costs, or the other ones if ``there``."""
        within, between = (
            selected([(~there, mine), (there, its)])
            for mine, its in ((self.within, other.within), (self.between, other.between))
        )
        return LevelCosts(np.where(there, other.time_s, self.time_s), within, between)


@dataclass(frozen=True)
class NodeLevels:
    """``ranks`` ranks, of which a node has no more than ``within.ranks``, on ``between.ranks`` nodes.

    Prices of messages within a node, and among the leaders. ``nodes``: the ranks of every node, None if all nodes have
    as many.
    """

    ranks: FloatOrArray
    within: MessageCosts
    between: MessageCosts
    nodes: Ints | None = None

    @classmethod
    def of(
        cls,
        ranks: FloatOrArray,
        within: MessageCosts,
        between: MessageCosts,
        switches: Switches,
        nodes: Ints | None = None,
    ) -> NodeLevels:
        """Return the levels with prices on networks with these switches."""
        return cls(ranks, with_switches(within, switches.within), with_switches(between, switches.between), nodes)

    @property
    def others(self) -> FloatOrArray:
        """Ranks that are no leaders."""
        return self.ranks - self.between.ranks


def levels_at(step: EvaluatedStep) -> NodeLevels:
    """Return the levels of an operation of all ranks at this place of the program.

    As if all nodes had as many ranks.
    """
    machine, ranks = step.machine, step.evaluation.ranks
    network, hops, placement = machine.network, modelled_hops(machine.network, ranks), machine.placement
    within = price(network, placement.most_on_a_node(ranks), hops, links_within_nodes(machine, ranks)).copied_late
    between = price(network, placement.nodes_used(ranks), hops, slowest_links(network))
    return NodeLevels.of(ranks, within, between, machine.switches)
