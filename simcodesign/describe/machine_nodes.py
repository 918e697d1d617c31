"""The nodes of a machine: what is inside, which ranks are on them, and what these have of networks and memories."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_checks.memory_checks import clocked
from simcodesign.describe.machine_parts.accelerator import Accelerator
from simcodesign.describe.machine_parts.background import Background
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.evidence import Evidence
from simcodesign.describe.machine_parts.levels import (
    Level,
    NodeKind,
    host_of_ranks,
    level_of_ends,
    levels_of,
    units_of_ranks,
)
from simcodesign.describe.machine_parts.memory import Memory, caches_of, sharers_of
from simcodesign.describe.machine_parts.message_memory import MessageMemory, cache_share_bytes, message_load_s_per_byte
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.machine_parts.storage import Storage
from simcodesign.describe.network.algorithm_choice import Decisions
from simcodesign.describe.network.interfaces import DIRECTION, RANK, ROUND_ROBIN, OwnInterfaces
from simcodesign.describe.network.network import Network
from simcodesign.describe.network.nodes_by_ranks import NodesByRanks
from simcodesign.describe.partitions import Partition, interface_factors, kinds_of, partitions_of
from simcodesign.describe.placement import Placement, RankMapping, placement_of
from simcodesign.describe.randomness.node_failures import Failures
from simcodesign.describe.randomness.noise import Noise
from simcodesign.describe.resources import Custom
from simcodesign.describe.topology.base import MAX_HOSTS
from simcodesign.describe.variants import Variant
from simcodesign.locality.hits_by_level import SETS


@dataclass(frozen=True)
class MachineNodes(Variant):
    """The fields of a ``Machine``, and what follows from them for nodes, processors and ranks."""

    name: str
    processor: Processor
    network: Network
    disk: Disk | None = None
    processors_per_node: int = 1
    mapping: RankMapping = "linear"
    noise: float | Noise = 0.0
    memory: Memory | None = None
    capacity_bytes: FloatOrArray | None = None
    about: str = ""
    source: str = ""
    place: Place = field(default=Place(), compare=False)
    custom: Custom = field(default=Custom(), repr=False)
    failures: Failures | None = None
    nodes_by_ranks: NodesByRanks | None = None
    accelerator: Accelerator | None = None
    storage: Storage | None = None
    background: Background | None = None
    partitions: tuple[Partition, ...] = ()
    node_network: Network | None = None
    socket_network: Network | None = None
    node_memory: MessageMemory | None = None
    collectives: Decisions = field(default_factory=dict, hash=False)
    evidence: tuple[Evidence, ...] = field(default=(), compare=False, repr=False)
    changes: tuple[str, ...] = field(default=(), compare=False, kw_only=True)

    @property
    def nodes(self) -> int:
        """Number of nodes of the network."""
        return self.network.topology.node_count

    @cached_property
    def node_kinds(self) -> tuple[NodeKind, ...]:
        """Its nodes by what is inside, in the order of their numbers: of one kind unless partitions differ in that."""
        each, inside = self.processors_per_node, (self.node_network, self.socket_network)
        kinds = kinds_of(self.partitions, NodeKind(0, self.nodes, each, 1, *inside, self.network.interfaces.count))
        controllers = 1 if self.memory is None else self.memory.controllers
        return tuple(
            replace(kind, sockets=max(self._sockets_of_messages(kind.networks), controllers)) for kind in kinds
        )

    @property
    def processors(self) -> int:
        """Number of processors."""
        return sum(kind.nodes * kind.processors for kind in self.node_kinds)

    @property
    def processors_of_nodes(self) -> int | NDArray[np.int64]:
        """Processors of a node, or of every node (nodes,) if they differ."""
        each = [kind.processors for kind in self.node_kinds]
        return each[0] if min(each) == max(each) else np.repeat(each, [kind.nodes for kind in self.node_kinds])

    def processor_of(self, ranks: int) -> NDArray[np.int64]:
        """Return the processor of every rank 0..ranks-1 among all of the machine, node after node: shape (ranks,)."""
        each, node = self.processors_of_nodes, self.node_of(ranks)
        first = node * each if isinstance(each, int) else (np.cumsum(each) - each)[node]
        return np.asarray(first + self.place_of(ranks), dtype=np.int64)

    @property
    def levels(self) -> tuple[Network, ...]:
        """Return its networks, outermost first.

        Between nodes, then inside the nodes and the sockets of each kind, as far as there are any.
        """
        return tuple(level.network for level in self.numbered_levels)

    @cached_property
    def numbered_levels(self) -> tuple[Level, ...]:
        """Its networks as in ``levels``, with the numbers of their hosts, interfaces and links."""
        return levels_of(self.network, self.node_kinds)

    def units_of(self, ranks: int) -> NDArray[np.int64]:
        """Return the units that contain each rank, shape (levels - 1, ranks).

        Two ranks in the same of the first k units, and of no more, are on level k with each other.
        """
        has_sockets = any(level.depth == 2 for level in self.numbered_levels)
        node = self.node_of(ranks)
        socket = self.socket_of(ranks) if has_sockets else np.zeros_like(node)
        return units_of_ranks(self.numbered_levels, self.node_kinds, node, socket)

    def level_of(self, ranks: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the index in ``levels`` of the network of messages from ``source`` to ``target``.

        Two of ``ranks`` ranks: the innermost network that has both.
        """
        units = self.units_of(ranks)
        return level_of_ends(units[:, source], units[:, target])

    def hosts_on(self, level: Level, ranks: int) -> NDArray[np.int64]:
        """Return the host of every rank 0..ranks-1 on a level, among all hosts of all levels; shape (ranks,)."""
        return host_of_ranks(level, self.node_of(ranks), self.place_of(ranks))

    @property
    def has_levels(self) -> bool:
        """Whether some nodes have a network inside."""
        return any(kind.node_network is not None for kind in self.node_kinds)

    @property
    def message_cache_bytes(self) -> FloatOrArray:
        """Footprint above which messages within a node pass through its memory; infinite if they never do."""
        if self.node_memory is None or self.memory is None:
            return np.inf
        return cache_share_bytes(self.node_memory, self.memory)

    @property
    def message_memory_s_per_byte(self) -> FloatOrArray:
        """Return the seconds for which a byte of a message occupies the memory of its node, if it passes that.

        One over R_m, the bytes of messages per second.
        """
        if self.node_memory is None or self.memory is None:
            return 0.0
        return message_load_s_per_byte(self.node_memory, self.memory)

    @property
    def paths_differ(self) -> bool:
        """Whether the cost of a message depends on its source and target, even if hops are not counted."""
        return self.has_levels or self.network.paths_differ

    @property
    def costs_by_level(self) -> bool:
        """Return whether there are several levels, and a message costs the same as others on its level.

        No links of a level differ.
        """
        several = self.has_levels or self.network.node is not None
        return several and not any(level.has_own_links for level in self.levels)

    @cached_property
    def placement(self) -> Placement:
        """The nodes of ranks, by the mapping."""
        return placement_of(self.mapping, self.network.topology, self.processors_of_nodes, self.place)

    @property
    def most_ranks(self) -> int:
        """The largest number of ranks: of the processors, the nodes, or the places that the mapping lists."""
        if self.nodes_by_ranks is not None:
            return MAX_HOSTS * self.placement.per_node
        return self.placement.most_ranks

    @property
    def rank_capacity_bytes(self) -> FloatOrArray | None:
        """Memory of a rank: its processor's share of the node, or all of it if each rank has a node for itself."""
        return None if self.capacity_bytes is None else self.capacity_bytes / self.placement.per_node

    @property
    def rank_accelerator_bytes(self) -> FloatOrArray | None:
        """Memory of its accelerator that a rank has: what is not reserved, divided among its ranks.

        None if it is not stated.
        """
        if self.accelerator is None or self.accelerator.capacity_bytes is None:
            return None
        left = np.maximum(self.accelerator.capacity_bytes - self.accelerator.reserved_bytes, 0.0)
        each: FloatOrArray = left / self.ranks_of_an_accelerator
        return each if np.ndim(each) else float(each)

    @property
    def ranks_of_an_accelerator(self) -> int:
        """The most ranks that one accelerator has if all processors of its node have ranks."""
        assert self.accelerator is not None
        most = self.placement.per_node
        if len(self.node_kinds) > 1:
            both = zip(self.partitions, self.node_kinds, strict=True)
            most = min(most, max(kind.processors for one, kind in both if one.has_accelerator))
        return -(-most // self.accelerator.count)

    def lacks_accelerator(self, ranks: int) -> NDArray[np.bool_]:
        """Whether the node of every rank 0..ranks-1 belongs to a partition without accelerators: shape (ranks,)."""
        if not self.partitions:
            return np.zeros(ranks, bool)
        without = np.array([not one.has_accelerator for one in self.partitions])
        return without[partitions_of(self.partitions, self.node_of(ranks))]

    def node_of(self, ranks: int) -> NDArray[np.int64]:
        """Node of every rank 0..ranks-1 by the mapping: shape (ranks,)."""
        return self.placement.node_of(ranks)

    def socket_of(self, ranks: int) -> NDArray[np.int64]:
        """Socket within its node of every rank 0..ranks-1: the ranks of a node, in order, fill socket after socket.

        Shape (ranks,).
        """
        node, place = self.node_of(ranks), self.place_of(ranks)
        here = [kind.has(node) for kind in self.node_kinds]
        return np.select(here, [place // (kind.processors // kind.sockets) for kind in self.node_kinds])

    def place_of(self, ranks: int) -> NDArray[np.int64]:
        """Place of every rank 0..ranks-1 among the ranks of its node, in order: shape (ranks,)."""
        node = self.node_of(ranks)
        order = np.argsort(node, kind="stable")
        _, first, counts = np.unique(node[order], return_index=True, return_counts=True)
        place = np.empty(ranks, np.int64)
        place[order] = np.arange(ranks) - np.repeat(first, counts)
        return place

    @property
    def has_shared_caches(self) -> bool:
        """Whether several processors share a cache."""
        memories = (self._memory_of(kind) for kind in self.node_kinds)
        return any(memory is not None and memory.has_shared_caches for memory in memories)

    def _memory_of(self, kind: NodeKind) -> Memory | None:
        """Return the memory of nodes of a kind, with its caches."""
        if kind.caches is None or self.memory is None:
            return self.memory
        return clocked(replace(self.memory, caches=kind.caches), self.processor, self.place)

    def memories(self, ranks: int) -> list[tuple[Memory, NDArray[np.bool_] | None]]:
        """Return the memories of different caches, and which of ranks 0..ranks-1 have each, (ranks,); None for all.

        One where partitions state no caches; none if there is no memory.
        """
        if self.memory is None:
            return []
        own = [kind for kind in self.node_kinds if kind.caches is not None]
        if not own:
            return [(self.memory, None)]
        node, found = self.node_of(ranks), list[tuple[Memory, NDArray[np.bool_] | None]]()
        rest = np.ones(ranks, bool)
        for kind in own:
            here, memory = kind.has(node), self._memory_of(kind)
            rest &= ~here
            if memory is not None and here.any():
                found.append((memory, here))
        return [*([(self.memory, rest)] if rest.any() else []), *found]

    def caches_of(self, ranks: int, memory: Memory | None = None) -> NDArray[np.int64]:
        """Return the number of the cache of every rank 0..ranks-1 at each level of a memory.

        None: the machine's memory. The ranks of a node, in order, have its processors; shape (levels, ranks).
        """
        memory = self.memory if memory is None else memory
        assert memory is not None
        most = int(np.max(self.processors_of_nodes))
        return caches_of(memory, self.node_of(ranks), self.place_of(ranks), most)

    def caches_differ(self, ranks: FloatOrArray) -> bool:
        """Return whether some of ``ranks`` ranks share a cache with more of them than others do.

        They also differ if a rank may find other lines in it, as each stream goes through its sets by itself.
        """
        if self.memory is None or not self.has_shared_caches:
            return False
        if self.memory.hits == SETS:
            return True
        every = [sharers_of(self.caches_of(int(count))) for count in np.unique(np.asarray(ranks))]
        return any(bool(np.any(shared != shared[:, :1])) for shared in every)

    @property
    def interface_assignment(self) -> str:
        """Which of the interfaces of its node a message takes, as stated; otherwise as on the nodes with the most."""
        return self._assignment_of(max(self.node_kinds, key=lambda kind: kind.interfaces))

    def _assignment_of(self, kind: NodeKind) -> str:
        """Return which of the interfaces of a node a message takes, as stated.

        Otherwise by direction, if a node has one for each; its rank's own, if all processors have equally many or all
        interfaces equally many processors; else one after another. A node with one processor has all of them.
        """
        network, each, count = self.network, kind.processors, kind.interfaces
        if network.interfaces.assignment is not None:
            return network.interfaces.assignment
        if network.interfaces_have_directions:
            return DIRECTION
        return RANK if each > 1 and (each % count == 0 or count % each == 0) else ROUND_ROBIN

    def interfaces_of(self, ranks: int) -> OwnInterfaces | None:
        """Return the interfaces that ranks 0..ranks-1 use, None where a node has one, or one for each direction."""
        network, kinds = self.network, self.node_kinds
        if network.interfaces.count == 1 or self.interface_assignment == DIRECTION:
            return None
        node, place = self.node_of(ranks), self.place_of(ranks)
        each = [
            OwnInterfaces.of(
                replace(network.interfaces, count=kind.interfaces),
                self._assignment_of(kind),
                network.rails,
                place,
                (kind.sockets, kind.processors // kind.sockets),
            )
            for kind in kinds
        ]
        return each[0] if len(kinds) == 1 else OwnInterfaces.chosen(each, partitions_of(self.partitions, node))

    def own_interface_of(self, ranks: int) -> OwnInterfaces | None:
        """Return the interfaces of ranks 0..ranks-1, if every message of a rank takes the same one; None otherwise."""
        own = self.interfaces_of(ranks)
        return own if own is not None and (own.is_fixed or self.network.interfaces.used == 1) else None

    def interfaces_of_nodes(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the network interfaces of each of these nodes, in their shape."""
        each = np.array([kind.interfaces for kind in self.node_kinds])
        return each[partitions_of(self.partitions, nodes) if len(each) > 1 else np.zeros_like(nodes)]

    @property
    def interfaces_by_partition(self) -> dict[str, int]:
        """The interfaces of a node of each partition, if these differ; otherwise nothing."""
        if len(self.node_kinds) == 1:
            return {}
        counts = {one.name: kind.interfaces for one, kind in zip(self.partitions, self.node_kinds, strict=True)}
        return counts if len({*counts.values()}) > 1 else {}

    @property
    def interface_factors(self) -> NDArray[np.float64] | None:
        """Return the time for which a byte occupies an interface of every node, over the network's time.

        Shape (..., nodes); None if partitions state no other.
        """
        return interface_factors(self.partitions, self.network.interface_occupancy_s_per_byte)

    @property
    def sockets_per_node(self) -> int:
        """Sockets of a node, as its messages or its memory controllers say; where both do, they agree.

        The most of any node.
        """
        return max(kind.sockets for kind in self.node_kinds)

    def _sockets_of_messages(self, inside: tuple[Network, ...]) -> int:
        """Sockets of a node with these networks inside, as its messages know them."""
        return inside[0].topology.node_count if len(inside) > 1 else self.network.sockets_per_node

    @property
    def processors_per_socket(self) -> int:
        """Processors of a node over its sockets; the most of any node."""
        return max(kind.processors // kind.sockets for kind in self.node_kinds)
