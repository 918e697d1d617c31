"""Messages of collective operations on two levels: within each node, between the leaders of the nodes, within again.

A node's leader is its first rank, counted from the root of the operation (rank 0 here), so that the root is a leader.
Nodes come in the order of their leaders. Where every rank has a node for itself, what is left is the algorithm between
leaders. As in hierarchical collectives of MPI libraries: X. Luo et al., "HAN: a hierarchical autotuned collective
communication framework", IEEE Cluster 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.allgather import allgather_ring
from simcodesign.generate.messages.collectives.allreduce import allreduce_recursive_doubling
from simcodesign.generate.messages.collectives.barrier import barrier_dissemination
from simcodesign.generate.messages.collectives.broadcast import broadcast_binomial
from simcodesign.generate.messages.collectives.gather import gather_binomial
from simcodesign.generate.messages.collectives.patterns import powers_of_two
from simcodesign.generate.messages.collectives.reduce import reduce_binomial
from simcodesign.generate.messages.group_columns import EqualGroups

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Levels:
    """Ranks and the ``node`` (P,) of each; None if every rank has a node for itself."""

    ranks: Ranks
    node: Int64s | None

    @cached_property
    def members(self) -> list[Int64s]:
        """The ranks of every node, its leader first; nodes in the order of their leaders."""
        if self.node is None:
            return list(np.arange(self.ranks.count)[:, None])
        order = np.argsort(self.node, kind="stable")
        nodes = np.split(order, np.flatnonzero(np.diff(self.node[order])) + 1)
        return sorted(nodes, key=lambda several: int(several[0]))

    @cached_property
    def sizes(self) -> Int64s:
        """Ranks of every node."""
        return np.array([len(several) for several in self.members])

    def within(self, write: Callable[[Ranks], None]) -> None:
        """Write the operations of the ranks of every node, from its leader on."""
        for size in np.unique(self.sizes[self.sizes > 1]):
            self._write(np.stack([several for several in self.members if len(several) == size]), write)

    def between(self, write: Callable[[Ranks], None]) -> None:
        """Write the operations of the leaders."""
        self._write(np.array([[several[0] for several in self.members]]), write)

    def _write(self, members: Int64s, write: Callable[[Ranks], None]) -> None:
        groups = EqualGroups(members.astype(np.int32), {}, self.ranks.data_costs)
        write(groups.ranks)
        self.ranks.columns += groups.columns(self.ranks.count)


@register_messages("broadcast", "two_level", lambda p: p - 1)
def broadcast_two_level(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Down a binomial tree of the leaders, then down one within every node."""
    levels = Levels(ranks, node)
    levels.between(lambda leaders: broadcast_binomial(leaders, size_bytes))
    levels.within(lambda local: broadcast_binomial(local, size_bytes))


@register_messages("reduce", "two_level", lambda p: p - 1)
def reduce_two_level(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Up a binomial tree within every node, then up one of the leaders."""
    levels = Levels(ranks, node)
    levels.within(lambda local: reduce_binomial(local, size_bytes))
    levels.between(lambda leaders: reduce_binomial(leaders, size_bytes))


@register_messages("allreduce", "two_level", lambda p: p * len(powers_of_two(p)) + p)
def allreduce_two_level(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Do a reduce within nodes, recursive doubling between the leaders, a broadcast within nodes."""
    levels = Levels(ranks, node)
    levels.within(lambda local: reduce_binomial(local, size_bytes))
    levels.between(lambda leaders: allreduce_recursive_doubling(leaders, size_bytes))
    levels.within(lambda local: broadcast_binomial(local, size_bytes))


@register_messages("allgather", "two_level", lambda p: p * (p - 1))
def allgather_two_level(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Do a gather within every node, a ring of whole nodes' blocks among the leaders, a broadcast within every node."""
    levels = Levels(ranks, node)
    levels.within(lambda local: gather_binomial(local, size_bytes))
    levels.between(lambda leaders: allgather_ring(leaders, levels.sizes.astype(np.float64) * size_bytes))
    levels.within(lambda local: broadcast_binomial(local, ranks.count * size_bytes))


@register_messages("barrier", "two_level", lambda p: p * len(powers_of_two(p)) + p)
def barrier_two_level(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Signals up a binomial tree within every node, dissemination between the leaders, signals down the trees."""
    levels = Levels(ranks, node)
    levels.within(lambda local: gather_binomial(local, size_bytes))
    levels.between(lambda leaders: barrier_dissemination(leaders, size_bytes))
    levels.within(lambda local: broadcast_binomial(local, size_bytes))
