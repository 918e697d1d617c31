"""Messages of collective operations in libraries for accelerators, in which each rank has an interface of its own.

``ring_channels``: the data go around several rings, which visit nodes in one order and leave each from another rank, so
that every ring uses another interface. As in NCCL: S. Jeaugey, "Optimized inter-GPU collective operations with NCCL 2",
GTC 2017; NVIDIA/nccl, ``src/graph/rings.cc``. There are as many channels as the smallest node has ranks; what a rank
passes on in several channels to the same rank travels as one message.

``hierarchical``: within every node, and between the ranks of the same number on all nodes. M. Cho et al., "BlueConnect:
Decomposing All-Reduce for Deep Learning on Heterogeneous Network Hierarchy", SysML 2019; of an all-to-all, NVIDIA,
"Doubling all2all performance with NVIDIA Collective Communication Library 2.12" (PXN), 2022. Where nodes have different
numbers of ranks, it is the ring, or the pairwise exchange, of all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.all_to_all import all_to_all_pairwise
from simcodesign.generate.messages.collectives.allgather import allgather_ring
from simcodesign.generate.messages.collectives.allreduce import allreduce_ring
from simcodesign.generate.messages.collectives.reduce_scatter import reduce_scatter_ring
from simcodesign.generate.messages.collectives.two_level import Int64s, Levels


def ring_in_channels(ranks: Ranks, block_bytes: float, node: Int64s | None, reduces: bool) -> None:
    """P - 1 times: pass on the block of every channel that came last, and combine the arriving one."""
    members = Levels(ranks, node).members
    channels, nodes = min(len(several) for several in members), len(members)
    within, count_within = np.arange(ranks.count, dtype=np.int32), np.zeros(ranks.count)
    to_next, from_last = np.full((2, ranks.count), -1, np.int32)
    for place, several in enumerate(members):
        within[several] = np.roll(several, -1)
        count_within[several] = channels
        if nodes > 1:
            first, last = members[(place + 1) % nodes][:channels], np.roll(several, 1)[:channels]
            to_next[last], from_last[first] = first, last
            count_within[last] -= 1
    count_within[within == np.arange(ranks.count)] = 0
    before = np.argsort(within).astype(np.int32)  # the rank of whose node a rank is the next one
    between = [np.flatnonzero(one >= 0).astype(np.int32) for one in (to_next, from_last)]
    inside = [np.flatnonzero(one > 0).astype(np.int32) for one in (count_within, count_within[before])]
    part_bytes = block_bytes / channels
    far, near = len(between[0]) > 0, len(inside[0]) > 0
    together = far + near
    for _ in range(ranks.count - 1):
        if far:
            ranks.send(to_next[between[0]], part_bytes, between[0], until=2 * together)
        if near:
            sent_bytes = part_bytes * count_within[inside[0]]
            ranks.send(within[inside[0]], sent_bytes, inside[0], until=together + 1)
        if far:
            ranks.receive(from_last[between[1]], part_bytes, match=-together, who=between[1])
        if near:
            source = before[inside[1]]
            ranks.receive(source, part_bytes * count_within[source], match=-together, who=inside[1])
        if reduces:
            ranks.reduce(block_bytes)


@register_messages("allreduce", "ring_channels", lambda p: 4 * p * (p - 1))
def allreduce_ring_channels(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Reduce-scatter and allgather in channels, a P-th of the data at a time in all of them."""
    ring_in_channels(ranks, size_bytes / ranks.count, node, reduces=True)
    ring_in_channels(ranks, size_bytes / ranks.count, node, reduces=False)


@register_messages("reduce_scatter", "ring_channels", lambda p: 2 * p * (p - 1))
def reduce_scatter_ring_channels(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Combine a P-th of the data at a time in all channels."""
    ring_in_channels(ranks, size_bytes / ranks.count, node, reduces=True)


@register_messages("allgather", "ring_channels", lambda p: 2 * p * (p - 1))
def allgather_ring_channels(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Pass on the data of a rank at a time in all channels."""
    ring_in_channels(ranks, size_bytes, node, reduces=False)


class Rails(Levels):
    """Nodes with as many ranks each."""

    @property
    def are_even(self) -> bool:
        """Whether all nodes have as many ranks."""
        return bool((self.sizes == self.sizes[0]).all())

    def across(self, write: Callable[[Ranks], None]) -> None:
        """Write the operations of the ranks with the same number on all nodes."""
        self._write(np.stack(self.members).T, write)


@register_messages("allreduce", "hierarchical", lambda p: 2 * p * (p - 1))
def allreduce_hierarchical(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Do a reduce-scatter within nodes, an allreduce between ranks of the same number, an allgather within nodes."""
    rails = Rails(ranks, node)
    if not rails.are_even:
        return allreduce_ring(ranks, size_bytes)
    part_bytes = size_bytes / int(rails.sizes[0])
    rails.within(lambda local: reduce_scatter_ring(local, size_bytes))
    rails.across(lambda rail: allreduce_ring(rail, part_bytes))
    return rails.within(lambda local: allgather_ring(local, part_bytes))


@register_messages("reduce_scatter", "hierarchical", lambda p: p * (p - 1))
def reduce_scatter_hierarchical(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Do a reduce-scatter within nodes, then of what is left between ranks of the same number."""
    rails = Rails(ranks, node)
    if not rails.are_even:
        return reduce_scatter_ring(ranks, size_bytes)
    rails.within(lambda local: reduce_scatter_ring(local, size_bytes))
    return rails.across(lambda rail: reduce_scatter_ring(rail, size_bytes / int(rails.sizes[0])))


@register_messages("allgather", "hierarchical", lambda p: p * (p - 1))
def allgather_hierarchical(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Do an allgather between ranks of the same number, then of what each has within nodes."""
    rails = Rails(ranks, node)
    if not rails.are_even:
        return allgather_ring(ranks, size_bytes)
    rails.across(lambda rail: allgather_ring(rail, size_bytes))
    return rails.within(lambda local: allgather_ring(local, len(rails.members) * size_bytes))


@register_messages("all_to_all", "hierarchical", lambda p: p * (p - 1))
def all_to_all_hierarchical(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Within nodes, to each rank all that is for ranks of its number on any node; then between these."""
    rails = Rails(ranks, node)
    if not rails.are_even:
        return all_to_all_pairwise(ranks, size_bytes)
    rails.within(lambda local: all_to_all_pairwise(local, len(rails.members) * size_bytes))
    return rails.across(lambda rail: all_to_all_pairwise(rail, int(rails.sizes[0]) * size_bytes))
