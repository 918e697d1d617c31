"""Messages of collective operations whose data switches combine on the way, or hand to all ranks.

On every level of the machine whose switches can (``in_switch`` of its network), a rank gives its bytes to the switches
and takes the result: all ranks meet, each sends one message to the next rank and receives one from the last, and none
is done before all are. Such messages load each interface, and each link of a tree on which the ranks are in order, once
per direction, as the data on their way up and down the tree of switches do. A message has the bytes of the busier
direction. On other levels, the ranks do it themselves, by a ring or a binomial tree.

Several ranks on a node reduce and scatter within it, then work on a part between the ranks of the same number on all
nodes, and gather within the node, as ``hierarchical``. NCCL: NVLS in a node, CollNet (SHARP) between nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from simcodesign.describe.machine import Machine
from simcodesign.describe.network.network import Network
from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.accelerators import Rails
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages
from simcodesign.generate.messages.collectives.allgather import allgather_ring
from simcodesign.generate.messages.collectives.allreduce import allreduce_ring
from simcodesign.generate.messages.collectives.barrier import barrier_dissemination
from simcodesign.generate.messages.collectives.broadcast import broadcast_binomial
from simcodesign.generate.messages.collectives.patterns import powers_of_two
from simcodesign.generate.messages.collectives.reduce import reduce_binomial
from simcodesign.generate.messages.collectives.reduce_scatter import reduce_scatter_ring
from simcodesign.generate.messages.collectives.two_level import Int64s

Write = Callable[[Ranks, float], None]


def through_switches(ranks: Ranks, size_bytes: float, network: Network) -> None:
    """All meet, send to the next rank and receive from the last, and meet again after what the switches take longer."""
    if ranks.count == 1:
        return
    ranks.meet()
    ranks.exchange((ranks.rank + 1) % ranks.count, (ranks.rank - 1) % ranks.count, size_bytes)
    assert network.switch_latency_s is not None
    per_byte_s = network.switch_per_byte_s
    ranks.meet(network.switch_latency_s if per_byte_s is None else network.switch_latency_s + size_bytes * per_byte_s)


def _every_byte(ranks: Ranks, size_bytes: float) -> float:
    return size_bytes


def _others_bytes(ranks: Ranks, size_bytes: float) -> float:
    return (ranks.count - 1) * size_bytes


#: For each operation, the bytes that a rank sends to its switch or gets back, whichever are more, and the messages of
#: ranks without such switches.
_PARTS: dict[str, tuple[Callable[[Ranks, float], float], Write]] = {
    "allreduce": (_every_byte, allreduce_ring),
    "reduce_scatter": (_every_byte, reduce_scatter_ring),
    "allgather": (_others_bytes, allgather_ring),
    "broadcast": (_every_byte, broadcast_binomial),
    "reduce": (_every_byte, reduce_binomial),
    "barrier": (_every_byte, barrier_dissemination),
}


def _part(operation: str, size_bytes: float, network: Network | None) -> Callable[[Ranks], None]:
    """Return what writes an operation of some ranks, in the switches of their network if these can."""
    bytes_of, write = _PARTS[operation]
    if network is None:
        return lambda ranks: write(ranks, size_bytes)
    return lambda ranks: through_switches(ranks, bytes_of(ranks, size_bytes), network)


def _most_on(ranks: int, machine: Machine) -> int:
    """Return the messages of rings on levels without such switches, one in switches for each of three parts, and waits.

    A message has two operations, a wait is one; there are six meetings.
    """
    switches, others = machine.switches, ranks - 1
    if switches.between is not None:
        on_a_node = int(machine.placement.most_on_a_node(float(ranks)))
        others = 0 if switches.within is not None else on_a_node - 1
    return 2 * ranks * others + ranks * (6 + 3 * len(powers_of_two(ranks)))


_in_switch = partial(register_messages, algorithm="in_switch", most_on=_most_on)


class _Levels(Rails):
    """Ranks on their nodes, and the switches of both levels."""

    def in_nodes(self, operation: str, size_bytes: float) -> None:
        """Write an operation of the ranks of every node."""
        self.within(_part(operation, size_bytes, self.ranks.data_costs.switches.within))

    def on_rails(self, operation: str, size_bytes: float) -> None:
        """Write an operation of the ranks of the same number on all nodes."""
        self.across(_part(operation, size_bytes, self.ranks.data_costs.switches.between))

    def of_leaders(self, operation: str, size_bytes: float) -> None:
        """Write an operation of the leaders of the nodes."""
        self.between(_part(operation, size_bytes, self.ranks.data_costs.switches.between))

    @property
    def is_one_node(self) -> bool:
        """Whether all ranks are on one node."""
        return len(self.members) == 1


@_in_switch("allreduce", most=lambda p: 2 * p * (p - 1))
def allreduce_in_switch(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Do a reduce-scatter within nodes, an allreduce between ranks of the same number, an allgather within nodes.

    If nodes have different numbers of ranks, the leaders of the nodes do it for all.
    """
    levels = _Levels(ranks, node)
    if levels.is_one_node:
        return levels.in_nodes("allreduce", size_bytes)
    if not levels.are_even:
        return _by_leaders(levels, size_bytes)
    part_bytes = size_bytes / int(levels.sizes[0])
    levels.in_nodes("reduce_scatter", size_bytes)
    levels.on_rails("allreduce", part_bytes)
    return levels.in_nodes("allgather", part_bytes)


def _by_leaders(levels: _Levels, size_bytes: float) -> None:
    """Do an allreduce within nodes, then between their leaders, which pass the result on within nodes."""
    levels.in_nodes("allreduce", size_bytes)
    levels.of_leaders("allreduce", size_bytes)
    levels.in_nodes("broadcast", size_bytes)


@_in_switch("reduce_scatter", most=lambda p: p * (p - 1))
def reduce_scatter_in_switch(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Within nodes, then of what is left between ranks of the same number; as allreduce if nodes are uneven."""
    levels = _Levels(ranks, node)
    if not levels.are_even:
        return _by_leaders(levels, size_bytes)
    levels.in_nodes("reduce_scatter", size_bytes)
    if levels.is_one_node:
        return None
    return levels.on_rails("reduce_scatter", size_bytes / int(levels.sizes[0]))


@_in_switch("allgather", most=lambda p: p * (p - 1))
def allgather_in_switch(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Between ranks of the same number, then of what each has within nodes.

    If nodes have different numbers of ranks, between the leaders, in blocks of the largest node.
    """
    levels = _Levels(ranks, node)
    if levels.are_even:
        if not levels.is_one_node:
            levels.on_rails("allgather", size_bytes)
        return levels.in_nodes("allgather", len(levels.members) * size_bytes)
    levels.in_nodes("allgather", size_bytes)
    levels.of_leaders("allgather", int(np.max(levels.sizes)) * size_bytes)
    return levels.in_nodes("broadcast", ranks.count * size_bytes)


@_in_switch("broadcast", most=lambda p: p - 1)
def broadcast_in_switch(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Between the leaders of the nodes, then within nodes."""
    levels = _Levels(ranks, node)
    if not levels.is_one_node:
        levels.of_leaders("broadcast", size_bytes)
    levels.in_nodes("broadcast", size_bytes)


@_in_switch("reduce", most=lambda p: p - 1)
def reduce_in_switch(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Within nodes, then between their leaders."""
    levels = _Levels(ranks, node)
    levels.in_nodes("reduce", size_bytes)
    if not levels.is_one_node:
        levels.of_leaders("reduce", size_bytes)


@_in_switch("barrier", most=lambda p: 2 * p * len(powers_of_two(p)))
def barrier_in_switch(ranks: Ranks, size_bytes: float, node: Int64s | None = None) -> None:
    """Within nodes, between their leaders, and within nodes again."""
    levels = _Levels(ranks, node)
    levels.in_nodes("barrier", size_bytes)
    if not levels.is_one_node:
        levels.of_leaders("barrier", size_bytes)
        levels.in_nodes("barrier", size_bytes)
