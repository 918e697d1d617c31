"""The levels of a machine: the network between its nodes, that of every node, and that of every socket.

A message uses the network of the innermost level that has both of its ends, and nothing on any other level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.network import Network
from simcodesign.describe.network.routing import Minimal, Routing
from simcodesign.describe.topology.link_loads import IntArray

Ints = NDArray[np.int64]
#: Those between nodes, inside a node, inside a socket.
Networks = tuple[Network, Network | None, Network | None]
#: Where the network of each level stands in a machine file, outermost first.
PATHS = ("network", "node.network", "socket.network")
#: What only the network between the nodes has, and what a level has in its place.
ONLY_OUTSIDE: dict[str, Any] = {
    "rails": 1,
    "node": None,
    "socket": None,
    "routing": Minimal(),
    "saturation": 1.0,
    "reduction_per_byte_s": None,
    "packing_s": None,
    "dynamic_power_w": None,
    "energy_per_byte_j": None,
}


@dataclass(frozen=True)
class Level:
    """The network of a level, of which there are ``copies``: 1 between the nodes, one in every node, one in every
    socket. The hosts of all copies together, their interfaces and their links are numbered after those of the levels
    before. ``unit_ranks``: processors among which a copy joins its hosts."""

    network: Network
    number: int
    copies: int
    unit_ranks: int
    first_host: int = 0
    first_interface: int = 0
    first_link: int = 0

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
        return ranks if self.number == 0 else np.minimum(ranks, float(self.unit_ranks))

    def split(self, host: IntArray) -> tuple[Ints, Ints]:
        """The copies and the hosts within them of numbers among all hosts of the machine."""
        copy, within = np.divmod(host - self.first_host, self.network.topology.node_count)
        return copy, within

    def interface_name(self, unit: int, sockets: int) -> str:
        """``node 3: injection 5``; between the nodes ``injection 3``."""
        station, interfaces = unit - self.first_interface, self.network.interfaces
        if self.number == 0:
            return interfaces.station_name(station, self.hosts)
        hosts = self.network.topology.node_count
        host, interface = divmod(station, interfaces.count)
        copy, within = divmod(host % self.hosts, hosts)
        # Of one copy by itself, so that hosts are numbered within it.
        side = hosts if host >= self.hosts else 0
        name = interfaces.station_name((within + side) * interfaces.count + interface, hosts)
        return f"{self._unit_name(copy, sockets)}: {name}"

    def link_name(self, unit: int, sockets: int) -> str:
        """``node 3: link host 1 -> host 2``."""
        if self.number == 0:
            return self.network.link_name(unit - self.first_link)
        copy, within = divmod(unit - self.first_link, self.network.link_count)
        return f"{self._unit_name(copy, sockets)}: {self.network.link_name(within)}"

    def _unit_name(self, copy: int, sockets: int) -> str:
        if self.number == 1:
            return f"node {copy}"
        node, socket = divmod(copy, sockets)
        return f"node {node}, socket {socket}"


def levels_of(networks: Networks, nodes: int, sockets: int, processors: int) -> tuple[Level, ...]:
    """The levels of so many nodes with so many sockets and processors each, outermost first."""
    copies, ranks = (1, nodes, nodes * sockets), (nodes * processors, processors, processors // sockets)
    first, found = (0, 0, 0), list[Level]()
    for number, network in enumerate(networks):
        if network is not None:
            level = Level(network, number, copies[number], ranks[number], *first)
            found.append(level)
            first = (
                level.first_host + level.hosts,
                level.first_interface + level.interfaces,
                level.first_link + level.links,
            )
    return tuple(found)


def level_of_ends(shape: tuple[int, ...], source: Sequence[Ints], target: Sequence[Ints]) -> NDArray[np.int8]:
    """The place among the levels of the innermost that has both ends of messages, of this shape: of both the nodes, and
    the sockets within them, as far as these have a network inside."""
    together, level = np.ones(shape, bool), np.zeros(shape, np.int8)
    for here, there in zip(source, target, strict=True):
        together = together & (here == there)
        level += together
    return level


def host_of_ranks(level: Level, node: Ints, place: Ints, processors: int) -> Ints:
    """The host of every rank on a level, among all hosts of all levels, by its node and its place among the
    ``processors`` there, which fill socket after socket."""
    if level.number == 0:
        return node
    each = level.unit_ranks // level.network.topology.node_count
    return np.asarray(level.first_host + node * (processors // each) + place // each)


def level_at(levels: Sequence[Level], start: str, unit: IntArray | int) -> NDArray[np.int64]:
    """Of numbers of hosts, interfaces or links (``start``: ``first_link`` ...), the places of their levels."""
    starts = np.array([getattr(level, start) for level in levels], dtype=np.int64)
    return np.asarray(np.searchsorted(starts, unit, side="right") - 1, dtype=np.int64)


def check_levels(networks: Networks, processors: int, place: Place) -> None:
    """InputError for networks inside nodes that cannot be, or that differ from the outer one where they may not."""
    outer, node, socket = networks
    check_outer(outer, place)
    if node is None and socket is None:
        return
    both = next((name for name in ("node", "socket") if getattr(outer, name) is not None), None)
    if both is not None:
        what = f"messages within a node are said twice, by network.{both} and by a network of the node"
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
        what = f"hosts of socket.network, where each of {sockets} sockets has {processors // sockets} processors"
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
            what = f"{path}.{key} is said of the network between the nodes alone"
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
    """What a level has as the network between the nodes has it."""
    model, sharing = network.message_model, network.sharing
    of_all = (key for key in (*model.choices, *model.flags) if key not in model.flags_of_level)
    words = {key: getattr(model, key) for key in of_all}
    rule = {field.name: getattr(sharing, field.name) for field in fields(sharing)}
    return {"model": model.name, "sharing": sharing.name, **rule, **words, "switching": network.switching}
