"""The network interfaces of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Choice, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section, bandwidth
from simcodesign.describe.topology.link_loads import IntArray

#: Whether an interface sends and receives at the same time, or one after the other.
DUPLEXES = ("full", "half")
#: Which of a node's interfaces a message takes: its rank's own, all of them one after another, by its first and
#: last link, or its rank's own among the interfaces of the rank's socket.
RANK, ROUND_ROBIN, DIRECTION, NEAREST = ASSIGNMENTS = ("rank", "round_robin", "direction", "nearest")


@dataclass(frozen=True)
class Interfaces:
    """The network interfaces of a node.

    ``count`` that are alike, each occupied for ``per_byte_s`` by every byte (None: as fast as a message), and by every
    byte of several concurrent messages for ``loaded_per_byte_s`` (None: as alone).

    With ``duplex = "full"`` an interface is two stations, one for what is sent (injection) and one for what is received
    (ejection); with ``"half"`` it is one. ``assignment`` is the rule by which messages take one of several:

    - ``rank``: interface k mod ``count`` for all messages of the rank at place k of its node. Where a node has more
      interfaces than processors (n), this rank has k, k + n, k + 2n, ..., which its messages take one after another.
    - ``nearest``: the same among the ranks and the interfaces of a socket.
    - ``round_robin``: (k + j) mod ``count`` for the j-th message that the rank sends to other nodes, and for the j-th
      that it receives.
    - ``direction``, for a mesh or torus with an interface for each direction: the interface of its first link where a
      message leaves, and of its last link at its target.

    None: ``Machine.interface_assignment``. With ``used``, the messages of a rank take this many of its interfaces one
    after another, from its first one on; None: all of them.
    """

    count: int = 1
    duplex: str = "full"
    per_byte_s: FloatOrArray | None = None
    loaded_per_byte_s: FloatOrArray | None = None
    assignment: str | None = None
    used: int | None = None

    @property
    def is_full_duplex(self) -> bool:
        """Whether it sends and receives at the same time."""
        return self.duplex == "full"

    def stations(self, nodes: int) -> int:
        """Return the number of stations of the interfaces of ``nodes`` nodes.

        Those of all nodes for injection come first, then those for ejection.
        """
        return nodes * self.count * (2 if self.is_full_duplex else 1)

    def injection(self, node: IntArray, interface: IntArray | int = 0) -> IntArray:
        """Return the stations by which messages leave nodes, through these of their interfaces."""
        return node * self.count + interface

    def ejection(self, node: IntArray, nodes: int, interface: IntArray | int = 0) -> IntArray:
        """Return the stations by which messages reach nodes, ``nodes`` in all."""
        return self.injection(node + nodes if self.is_full_duplex else node, interface)

    def station_name(self, station: int, nodes: int) -> str:
        """``injection 3``, ``ejection 3`` of node 3; ``interface 3`` if half duplex; ``injection 3.0`` of several."""
        node, interface = divmod(station, self.count)
        side = "interface" if not self.is_full_duplex else "injection" if node < nodes else "ejection"
        return f"{side} {node % nodes}" + (f".{interface}" if self.count > 1 else "")


@dataclass(frozen=True)
class AlgorithmTuning:
    """How the messages of a collective algorithm are sent on a machine.

    A rank's messages through ``interfaces`` of its network interfaces, None: through all of them. ``segment``: bytes of
    the largest segment, by the bytes ``n`` of the operation, where the program states none; None: data are passed on as
    a whole.
    """

    interfaces: int | None = None
    segment: Expression | None = None


#: Tuning by operation and algorithm.
Tunings = Mapping[tuple[str, str], AlgorithmTuning]


@dataclass(frozen=True)
class OwnInterfaces:
    """The interfaces that ranks use, (P,) each.

    The j-th message of a rank takes ``first + step ((skip + j) mod number)`` of the ``count`` of its node. With
    ``rails`` a message arrives on the rail on which it left; ``any_of_rail``: by the receiver's own interface if that
    is on the rail, otherwise (and always without it) by the interface of the sender's number.
    """

    first: IntArray
    step: IntArray
    skip: IntArray
    number: IntArray
    any_of_rail: IntArray
    count: IntArray
    rails: int = 1

    @classmethod
    def of(
        cls, interfaces: Interfaces, assignment: str, rails: int, place: IntArray, sockets: tuple[int, int]
    ) -> OwnInterfaces:
        """Assign interfaces to the ranks at these places of their nodes (P,), in order.

        ``sockets``: how many a node has, and processors in each.
        """
        count, zero = interfaces.count, np.zeros_like(place)
        if assignment == ROUND_ROBIN:
            return cls(zero, zero + 1, place, zero + count, zero, zero + count, rails)
        parts, processors = sockets if assignment == NEAREST else (1, sockets[0] * sockets[1])
        socket, within = np.divmod(place, processors)
        each = max(1, count // parts)
        step, own = min(processors, each), within % each
        first = socket * count // parts + own
        return cls(first, zero + step, zero, -((own - each) // step), zero + 1, zero + count, rails)

    @classmethod
    def chosen(cls, each: Sequence[OwnInterfaces], number: IntArray) -> OwnInterfaces:
        """Return for every rank the interfaces of the ``number``-th (P,)."""
        names = ("first", "step", "skip", "number", "any_of_rail", "count")
        own = {name: np.choose(number, [getattr(one, name) for one in each]) for name in names}
        return cls(**own, rails=each[0].rails)

    @property
    def is_fixed(self) -> bool:
        """Whether every message of a rank takes the same interface."""
        return bool(np.all(self.number == 1))

    def leaving(self, rank: IntArray, turn: IntArray | int = 0) -> IntArray:
        """Return the interfaces by which messages of these ranks leave: of each rank the ``turn``-th message."""
        return self.first[rank] + self.step[rank] * ((self.skip[rank] + turn) % self.number[rank])

    def coming(self, rank: IntArray, leaves: IntArray, turn: IntArray | int = 0) -> IntArray:
        """Return the interfaces by which messages reach these ranks, given the interface ``leaves`` at their source."""
        own = self.leaving(rank, turn)
        if self.rails == 1:
            return own
        is_own = (self.any_of_rail[rank] > 0) & (own % self.rails == leaves % self.rails)
        return np.where(is_own, own, leaves % self.count[rank])


#: Interfaces of a node.
MAX_INTERFACES = 1024
#: Keys of ``interfaces`` of every network; only the network between the nodes has the loaded bandwidth.
INTERFACES = Section(
    Key("count", Whole(1, MAX_INTERFACES), "interfaces of a node", "as `rails`"),
    Key("duplex", Choice(DUPLEXES), "`full`: sends and receives concurrently; `half`: one at a time", "full"),
    Key(
        "assignment",
        Choice(ASSIGNMENTS),
        "which of several interfaces a message takes",
        "`direction` if there is one for each, `rank` if processors share them evenly, otherwise `round_robin`",
    ),
    *bandwidth(
        "bandwidth",
        "per_byte",
        "per_byte_s",
        "bytes per second of one interface in each direction",
        "as `network.bandwidth`",
    ),
    *bandwidth(
        "loaded_bandwidth",
        "loaded_per_byte",
        "loaded_per_byte_s",
        "bytes per second of all messages that pass an interface concurrently, with `sharing: max_min`",
        "as `bandwidth`",
    ),
    make=Interfaces,
)
