"""The network interfaces of a node."""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.topology.link_loads import IntArray

#: Whether an interface sends and receives at the same time, or one after the other.
DUPLEXES = ("full", "half")
#: Which of the several interfaces of a node a message takes: one after another, or that of its first and last link.
ROUND_ROBIN, DIRECTION = ASSIGNMENTS = ("round_robin", "direction")


@dataclass(frozen=True)
class Interfaces:
    """The network interfaces of a node: ``count`` that are alike, each occupied for ``per_byte_s`` by every byte (None:
    as fast as a message).

    With ``duplex = "full"`` an interface is two stations, one for what is sent (injection) and one for what is received
    (ejection); with ``"half"`` it is one. ``assignment`` says by which of several a message goes. ``round_robin``: the
    j-th message that leaves a rank for other nodes takes interface (p + j) mod ``count``, where p is the place of the
    rank among those of its node, and the j-th that it receives likewise. ``direction``, for a mesh or torus with an
    interface for each direction: that of its first link, and of its last. None: ``Network.interface_assignment``.
    """

    count: int = 1
    duplex: str = "full"
    per_byte_s: FloatOrArray | None = None
    assignment: str | None = None

    @property
    def is_full_duplex(self) -> bool:
        """Whether it sends and receives at the same time."""
        return self.duplex == "full"

    def stations(self, nodes: int) -> int:
        """How many stations the interfaces of so many nodes are: of all nodes for injection, then for ejection."""
        return nodes * self.count * (2 if self.is_full_duplex else 1)

    def injection(self, node: IntArray, interface: IntArray | int = 0) -> IntArray:
        """The stations by which messages leave nodes, through these of their interfaces."""
        return node * self.count + interface

    def ejection(self, node: IntArray, nodes: int, interface: IntArray | int = 0) -> IntArray:
        """The stations by which messages come to nodes, ``nodes`` in all."""
        return self.injection(node + nodes if self.is_full_duplex else node, interface)

    def station_name(self, station: int, nodes: int) -> str:
        """``injection 3``, ``ejection 3`` of node 3; ``interface 3`` if half duplex; ``injection 3.0`` of several."""
        node, interface = divmod(station, self.count)
        side = "interface" if not self.is_full_duplex else "injection" if node < nodes else "ejection"
        return f"{side} {node % nodes}" + (f".{interface}" if self.count > 1 else "")
