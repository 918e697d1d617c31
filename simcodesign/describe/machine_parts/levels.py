"""The levels of a machine: the network between its nodes, the network of every node, and the network of every socket.

A message uses the network of the innermost level that has both of its ends, and nothing on any other level. Nodes of
different kinds have levels of their own: the levels inside a node are the levels of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_parts.memory import CacheLevel
from simcodesign.describe.network.network import Network
from simcodesign.describe.network.routing import Minimal, Routing
from simcodesign.describe.topology.link_loads import IntArray

Ints = NDArray[np.int64]
#: Networks between nodes, inside a node, inside a socket.
Networks = tuple[Network, Network | None, Network | None]
#: Path of the network of each level in a machine file, outermost first.
PATHS = ("network", "node.network", "socket.network")
#: Fields that only the network between the nodes has, and their values at other levels.
ONLY_OUTSIDE: dict[str, Any] = {
    "rails": 1,
    "node": None,
    "socket": None,
    "routing": Minimal(),
    "saturation": 1.0,
    "reduction_per_byte_s": None,
    "packing_s": None,
    "packing_per_byte_s": None,
    "matching_s": None,
    "dynamic_power_w": None,
    "energy_per_byte_j": None,
}


@dataclass(frozen=True)
class NodeKind:
    """``nodes`` nodes from ``first_node`` on that are alike inside.

    Processors and sockets of each, its network interfaces, and the networks that join the processors; None: messages
    within a node cost what others do. ``caches``: of its processors; None: the caches of the machine's memory.
    """

    first_node: int
    nodes: int
    processors: int
    sockets: int = 1
    node_network: Network | None = None
    socket_network: Network | None = None
    interfaces: int = 1
    caches: tuple[CacheLevel, ...] | None = None

    @property
    def networks(self) -> tuple[Network, ...]:
        """Networks inside its nodes, outermost first."""
        return tuple(one for one in (self.node_network, self.socket_network) if one is not None)

    def has(self, node: Ints) -> NDArray[np.bool_]:
        """Which of these nodes are of this kind."""
        return (node >= self.first_node) & (node < self.first_node + self.nodes)


@dataclass(frozen=True)
class Level:
    """The network of a level, the ``number``-th of a machine.

    At ``depth`` 0 between all nodes, 1 in every node and 2 in every socket of a ``kind``. The hosts of all copies
    together, their interfaces and their links are numbered after the hosts of the previous levels.
    """

    network: Network
    number: int
    depth: int
    kind: NodeKind
    first_host: int = 0
    first_interface: int = 0
    first_link: int = 0

    @property
    def copies(self) -> int:
        """How many such networks there are: 1 between the nodes, otherwise one in every node or in every socket."""
        return (1, self.kind.nodes, self.kind.nodes * self.kind.sockets)[self.depth]

    @property
    def unit_ranks(self) -> int:
        """Processors of the node or the socket whose hosts a copy joins."""
        return self.kind.processors if self.depth < 2 else self.kind.processors // self.kind.sockets

    @property
    def hosts(self) -> int:
        """Hosts of all copies."""
        return self.copies * self.network.topology.node_count

    @property
    def interfaces(self) -> int:
        """Stations that all interfaces are."""
        return self.network.interfaces.stations(self.hosts)

    @property
    def links(self) -> int:
        """Links of all copies."""
        return self.copies * self.network.link_count

    def law_ranks(self, ranks: FloatOrArray) -> FloatOrArray:
        """P of the distance law: the ranks of the run, inside a node or socket at most its processors."""
        return ranks if self.depth == 0 else np.minimum(ranks, float(self.unit_ranks))

    def split(self, host: IntArray) -> tuple[Ints, Ints]:
        """Return the copies and the hosts within them of numbers among all hosts of the machine."""
        copy, within = np.divmod(host - self.first_host, self.network.topology.node_count)
        return copy, within

    def interface_name(self, unit: int) -> str:
        """``node 3: injection 5``; between the nodes ``injection 3``."""
        station, interfaces = unit - self.first_interface, self.network.interfaces
        if self.number == 0:
            return interfaces.station_name(station, self.hosts)
        hosts = self.network.topology.node_count
        host, interface = divmod(station, interfaces.count)
        copy, within = divmod(host % self.hosts, hosts)
        # Within one copy, so that hosts are numbered within it.
        side = hosts if host >= self.hosts else 0
        name = interfaces.station_name((within + side) * interfaces.count + interface, hosts)
        return f"{self._unit_name(copy)}: {name}"

    def link_name(self, unit: int) -> str:
        """``node 3: link host 1 -> host 2``."""
        if self.number == 0:
            return self.network.link_name(unit - self.first_link)
        copy, within = divmod(unit - self.first_link, self.network.link_count)
        return f"{self._unit_name(copy)}: {self.network.link_name(within)}"

    def _unit_name(self, copy: int) -> str:
        if self.depth == 1:
            return f"node {self.kind.first_node + copy}"
        node, socket = divmod(copy, self.kind.sockets)
        return f"node {self.kind.first_node + node}, socket {socket}"


def levels_of(outer: Network, kinds: Sequence[NodeKind]) -> tuple[Level, ...]:
    """Return the levels of a machine.

    The network between the nodes, then those inside the nodes of each kind, outermost first.
    """
    found = [Level(outer, 0, 0, kinds[0])]
    for kind in kinds:
        for depth, network in enumerate(kind.networks, start=1):
            last = found[-1]
            first = (
                last.first_host + last.hosts,
                last.first_interface + last.interfaces,
                last.first_link + last.links,
            )
            found.append(Level(network, len(found), depth, kind, *first))
    return tuple(found)


def units_of_ranks(levels: Sequence[Level], kinds: Sequence[NodeKind], node: Ints, socket: Ints) -> Ints:
    """Return what every rank is in, (L - 1, P), by its node and its socket there.

    Two ranks that are in the same of the first k units, and of no more, are on level k with each other.
    """
    if len(levels) == 1:
        return np.zeros((0, len(node)), np.int64)
    nodes = max(kind.first_node + kind.nodes for kind in kinds)
    sockets = nodes + node * max(kind.sockets for kind in kinds) + socket
    alone = nodes * (1 + max(kind.sockets for kind in kinds)) + np.arange(len(node))
    units = np.empty((len(levels) - 1, len(node)), np.int64)
    for kind in kinds:
        here = kind.has(node)
        own = [level for level in levels if level.depth and level.kind is kind]
        for number, row in enumerate(units, start=1):
            inside = next((level.depth for level in own if level.number >= number), 0)
            row[here] = (alone, node, sockets)[inside][here]
    return units


def level_of_ends(source: Ints, target: Ints) -> NDArray[np.int8]:
    """Return the levels of messages (n,) between ranks in these units, (L - 1, n) each."""
    together: NDArray[np.int8] = np.logical_and.accumulate(source == target, axis=0).sum(axis=0, dtype=np.int8)
    return together


def host_of_ranks(level: Level, node: Ints, place: Ints) -> Ints:
    """Return the host of every rank on a level, among all hosts of all levels.

    It follows from the rank's node and its place among the processors there, which fill socket after socket; the first
    one for ranks on nodes of other kinds.
    """
    if level.depth == 0:
        return node
    each = level.unit_ranks // level.network.topology.node_count
    first = level.first_host
    hosts = first + (node - level.kind.first_node) * (level.kind.processors // each) + place // each
    return np.where(level.kind.has(node), hosts, first)


def level_at(levels: Sequence[Level], start: str, unit: IntArray | int) -> NDArray[np.int64]:
    """Return the places of the levels of hosts, interfaces or links by their numbers.

    ``start``: ``first_link`` ...
    """
    starts = np.array([getattr(level, start) for level in levels], dtype=np.int64)
    return np.asarray(np.searchsorted(starts, unit, side="right") - 1, dtype=np.int64)


def check_levels(networks: Networks, processors: int, place: Place) -> None:
    """InputError for networks inside nodes that cannot be, or that differ from the outer one in ways not allowed."""
    outer, node, socket = networks
    check_outer(outer, place)
    if node is None and socket is None:
        return
    both = next((name for name in ("node", "socket") if getattr(outer, name) is not None), None)
    if both is not None:
        what = f"messages within a node are described twice, by network.{both} and by a network of the node"
        raise InputError(what, place, value=f"network.{both}", allowed="node.network, or network.node")
    if node is None:
        what = "socket.network needs node.network, which joins the sockets of a node"
        raise InputError(what, place, allowed="node.network as well")
    sockets = node.topology.node_count
    if socket is not None and processors % sockets:
        what = f"sockets of a node with {processors} processors: hosts of node.network"
        raise InputError(what, place, value=sockets, allowed=f"a divisor of {processors}")
    if socket is None and sockets != processors:
        what = f"hosts of node.network, where a node has {processors} processors"
        raise InputError(what, place, value=sockets, allowed=f"{processors}; or a socket.network inside")
    if socket is not None and socket.topology.node_count != processors // sockets:
        what = f"hosts of socket.network, although each of {sockets} sockets has {processors // sockets} processors"
        raise InputError(what, place, value=socket.topology.node_count, allowed=str(processors // sockets))
    for path, network in zip(PATHS[1:], (node, socket), strict=True):
        if network is not None:
            check_level(network, outer, path, place)


def check_outer(outer: Network, place: Place) -> None:
    """InputError for what the network between the nodes states of its messages, and only networks inside can have."""
    for key in outer.message_model.flags_of_level:
        if getattr(outer.message_model, key):
            what = f"network.{key}: messages between nodes do not, their interfaces move the bytes"
            raise InputError(what, place, value=True, allowed=f"false; or node.network.{key}, socket.network.{key}")


def check_level(network: Network, outer: Network, path: str, place: Place) -> None:
    """InputError for what only the network between the nodes has, and what a level must have as it has."""
    for name, without in ONLY_OUTSIDE.items():
        if getattr(network, name) != without:
            key = name.removesuffix("_s").removesuffix("_w").removesuffix("_j")
            what = f"{path}.{key} applies only to the network between the nodes"
            value = getattr(network, name)
            value = value.name if isinstance(value, Routing) else value
            raise InputError(what, place, value=value, allowed=without.name if key == "routing" else f"no {path}.{key}")
    outside = _as_outside(outer)
    for name, value in _as_outside(network).items():
        if outside.get(name, value) != value:
            what = f"{path}.{name} is the same on all levels of a machine"
            raise InputError(what, place, value=value, allowed=f"{outside[name]}, as network.{name}")
    if network.interfaces.count > 1 and not network.interfaces_have_directions:
        what = f"interfaces of a host inside a node, {path}.interfaces.count"
        allowed = "1, as fast as all together; or one for each direction of a mesh or torus"
        raise InputError(what, place, value=network.interfaces.count, allowed=allowed)


def _as_outside(network: Network) -> dict[str, Any]:
    """Properties of a level that the network between the nodes determines."""
    model, sharing = network.message_model, network.sharing
    of_all = (key for key in (*model.choices, *model.flags) if key not in model.flags_of_level)
    words = {key: getattr(model, key) for key in of_all}
    rule = {field.name: getattr(sharing, field.name) for field in fields(sharing)}
    return {"model": model.name, "sharing": sharing.name, **rule, **words, "switching": network.switching}


@dataclass(frozen=True)
class Switches:
    """The networks between the nodes and inside each node, if their switches combine messages; otherwise None.

    InfiniBand SHARP between nodes (Graham et al., COM-HPC 2016), NVLink SHARP inside them (Klenk et al., ISCA 2020).
    """

    between: Network | None = None
    within: Network | None = None

    @classmethod
    def of(cls, network: Network, kinds: Sequence[NodeKind]) -> Switches:
        """Return the networks of a machine with these kinds of nodes."""
        inside = kinds[0].node_network
        return cls(
            network if network.combines_in_switches else None,
            inside if inside is not None and inside.combines_in_switches else None,
        )


def check_switches(network: Network, place: Place, path: str) -> None:
    """InputError for switches that combine at a rate, but without a latency, or where processors copy messages."""
    if network.switch_per_byte_s is not None and network.switch_latency_s is None:
        what = f"{path}.in_switch.bandwidth without a latency"
        raise InputError(what, place, value=network.switch_per_byte_s, allowed=f"{path}.in_switch.latency as well")
    if network.combines_in_switches and network.message_model.holds_both_ends:
        what = f"{path}.in_switch, although messages there hold both ends: processors copy them"
        raise InputError(what, place, value=network.switch_latency_s, allowed=f"no {path}.in_switch")


def needs_switches(network: Network, kinds: Sequence[NodeKind], machine: str, label: str, place: Place) -> None:
    """InputError for an operation in switches of a machine whose switches cannot combine, or differ from node to node.

    ``label``: the operation.
    """
    inside = [one for kind in kinds for one in kind.networks]
    if not network.combines_in_switches and not any(one.combines_in_switches for one in inside):
        what = f"{label} needs switches that combine messages, and {machine} states none"
        raise InputError(what, place, allowed="network.in_switch or node.network.in_switch of the machine")
    if any(one.combines_in_switches for one in inside):
        times = {(_bits(kind.node_network), kind.socket_network is None) for kind in kinds}
        if len(times) > 1 or not next(iter(times))[1]:
            what = f"{label} on {machine}, with networks inside sockets or different networks inside nodes"
            raise InputError(what, place, allowed="one node.network with in_switch, or only network.in_switch")


def _bits(network: Network | None) -> tuple[bytes, ...]:
    """Return the times of switches inside nodes, as values that compare equal."""
    times = () if network is None else (network.switch_latency_s, network.switch_per_byte_s)
    return tuple(b"" if one is None else np.asarray(one, dtype=np.float64).tobytes() for one in times)
