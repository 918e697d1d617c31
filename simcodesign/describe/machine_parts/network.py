"""The network of a machine, with the constants of its cost models."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_parts.interfaces import DIRECTION, Interfaces
from simcodesign.describe.machine_parts.size_segments import SizeSegment
from simcodesign.describe.topology.base import MINIMAL, ROUTINGS, VALIANT, Topology
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.describe.topology.routing import mean_hops_through

#: Hops of a message when its route is not looked at: none, one, log2 P or sqrt P for P ranks, or the mean over the
#: topology.
DISTANCES = ("one", "log2", "sqrt", "mean", "none")
SWITCHINGS = ("cut_through", "store_and_forward")
#: How a rank sends in Hockney's model: each message holds it until its last byte has left; or its startup alone does,
#: and the bytes of all of its messages then flow side by side.
BLOCKING, NONBLOCKING = SENDS = ("blocking", "nonblocking")
#: How links and interfaces are shared: by one message after another, first come, first served; by all at once with
#: max-min fair shares; or by messages in packets, one packet of each in turn (round robin).
SHARINGS = ("fcfs", "max_min", "round_robin")
#: The shares of ``sharing: max_min``: all equal, or in proportion to 1 / latency of the route.
EQUAL, BY_LATENCY = SHARES = ("equal", "by_latency")
#: The packets of ``sharing: round_robin``, unless it says another size.
PACKET_BYTES = 4096.0
#: The queues by which ``routing: ugal`` chooses: those at the next link of both routes, or all along them.
NEXT_LINK, ALONG_ROUTE = QUEUES = ("next_link", "along_route")
#: Fields of a network that are one of a few words.
CHOICES = {
    "model": ("hockney", "loggop"),
    "startup_per": ("message", "hop"),
    "sends": SENDS,
    "distance": DISTANCES,
    "switching": SWITCHINGS,
    "sharing": SHARINGS,
    "routing": ROUTINGS,
}


@dataclass(frozen=True)
class Ugal:
    """How ``routing: ugal`` chooses: by ``queues``, a message takes the minimal route unless the queue at its next
    link, times the links of the route, or all queues along it together, exceed those of the other by more than
    ``threshold``."""

    threshold: int = 0
    queues: str = NEXT_LINK


@dataclass(frozen=True)
class LocalMessages:
    """What a message of m bytes costs its sender that passes no link of the network: ``startup_s + m per_byte_s``,
    by the one of its ``segments`` that has m bytes if it has any."""

    startup_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0
    segments: tuple[SizeSegment, ...] = ()


@dataclass(frozen=True)
class Network:
    """What a message of m bytes over h hops costs, and what it occupies on its way.

    ``model = "hockney"``: the sender is charged ``startup_s + h hop_latency_s + m per_byte_s``, the receiver
    ``receive_overhead_s``. With ``startup_per = "hop"`` every hop repeats the startup (software relays).
    Unless ``hops_hold_sender``, the sender is charged ``startup_s + m per_byte_s``, and what the hops add (latency,
    repeated startups, bytes stored again) delays the arrival alone. With ``sends = "nonblocking"``, the sender is
    charged ``startup_s`` alone, and the bytes delay the arrival as well: those of several messages flow side by side.
    Beyond ``rendezvous_above_bytes`` (S) what comes after a send, and after the messages posted together with it, waits
    until the receiver takes the message up.

    ``model = "loggop"`` (LogGOPS: Hoefler, Schneider, Lumsdaine, HPDC 2010; LogGP: Alexandrov et al., SPAA 1995), with
    x = max(m - 1, 0): the sender is busy for ``overhead_s + x overhead_per_byte_s`` (o, O), the first byte is there
    ``overhead_s + latency_s + h hop_latency_s`` (L) after the send began, and keeps the receiver busy for ``overhead_s
    + x max(overhead_per_byte_s, per_byte_s)``; the interface sends (receives) again ``gap_s + x per_byte_s`` (g, G)
    after this message at the earliest. Beyond ``rendezvous_above_bytes`` (S) a sender goes on only when its message is
    taken up. Who has the processor when is as in LogGOPSim (docs/messages.md).

    ``segments``: the constants of either model by the size of a message, in place of those above; only
    ``receive_overhead_s`` may stand beside them.

    A link is occupied for ``m link_per_byte_s`` and a network interface for ``m interfaces.per_byte_s``; both default
    to ``per_byte_s``, with segments to the smallest of these. Constants of the other model must be left at their
    defaults. Where the topology gives its links bandwidths or latencies of their own, these count in place of
    ``link_per_byte_s`` and ``hop_latency_s``, and a message is no faster than the slowest link of its route.

    Messages between ranks of one node cost the same, without hops where these are counted; or, in Hockney's model, what
    ``node`` says: startup and bytes, no hops. ``socket`` says it of messages from one of the ``sockets_per_node``
    sockets of a node to another; those within a socket cost what ``node`` says.

    With ``sharing = "max_min"``, messages that use a link or an interface at the same time share its bandwidth (max-min
    fair ``shares``, equal ones or in proportion to 1 / latency of the route), and a sender of Hockney's model is held
    until its last byte has passed. With ``"round_robin"``, which is for Hockney's model alone, so is a sender, and
    messages take turns packet by packet, of ``packet_bytes`` each; with ``switching = "store_and_forward"`` it is
    packets that are stored, not messages. Else messages take turns.

    ``routing``: which way messages take (``topology.routing``): the minimal route of their pair of nodes, one of all
    minimal ones, one through a random node, or of the first and the last the one with the shorter queues (``ugal``).

    A rank that combines m bytes it has received with its own (operator of a reduction) computes for
    ``m reduction_per_byte_s``; by default it takes no time.

    ``rails``: copies of the whole topology. Interface i of every node is on rail i mod ``rails``: a message takes the
    links of the rail of the interface by which it leaves, and arrives on the same rail. The links of rail r have the
    numbers from r L on, L links in each.

    ``saturation``: the share of the time that a link is busy at most, in forecasts of open streams: what finite buffers
    let through was measured on the network, or by a simulator that has them (docs/buffers.md).

    A rank that sends or receives draws ``dynamic_power_w`` (not while it waits), and a byte that is sent takes
    ``energy_per_byte_j``.
    """

    topology: Topology
    startup_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0
    receive_overhead_s: FloatOrArray = 0.0
    hop_latency_s: FloatOrArray = 0.0
    link_per_byte_s: FloatOrArray | None = None
    startup_per: str = "message"
    hops_hold_sender: bool = True
    sends: str = NONBLOCKING
    distance: str = "one"
    switching: str = "cut_through"
    sharing: str = "fcfs"
    routing: str = MINIMAL
    ugal: Ugal = field(default=Ugal())
    packet_bytes: float = PACKET_BYTES
    shares: str = EQUAL
    model: str = "hockney"
    latency_s: FloatOrArray = 0.0
    overhead_s: FloatOrArray = 0.0
    gap_s: FloatOrArray = 0.0
    overhead_per_byte_s: FloatOrArray = 0.0
    rendezvous_above_bytes: FloatOrArray | None = None
    dynamic_power_w: FloatOrArray | None = None
    energy_per_byte_j: FloatOrArray | None = None
    interfaces: Interfaces = field(default=Interfaces())
    rails: int = 1
    node: LocalMessages | None = None
    socket: LocalMessages | None = None
    sockets_per_node: int = 1
    reduction_per_byte_s: FloatOrArray | None = None
    saturation: float = 1.0
    segments: tuple[SizeSegment, ...] = ()

    @property
    def has_segments(self) -> bool:
        """Whether what some messages cost is piecewise by their size."""
        return any(part is not None and part.segments for part in (self, self.node, self.socket))

    @property
    def has_receive_overhead(self) -> bool:
        """Hockney: whether some message keeps its receiver busy."""
        overheads = [self.receive_overhead_s, *(one.receive_overhead_s for one in self.segments)]
        return any(value is not None and np.any(np.asarray(value) != 0) for value in overheads)

    @property
    def least_s_per_byte(self) -> FloatOrArray:
        """Seconds per byte of messages over the network: of the fastest, where they differ by size."""
        if not self.segments:
            return self.per_byte_s
        return functools.reduce(np.minimum, (segment.per_byte_s for segment in self.segments))

    @property
    def mean_hops(self) -> float:
        """Mean hops between different nodes, by its routing; of ``ugal`` those of minimal routes, which it takes where
        nobody waits."""
        return mean_hops_through(self.topology) if self.routing == VALIANT else self.topology.mean_hops()

    @property
    def bytes_hold_sender(self) -> bool:
        """Hockney: whether a message holds its sender beyond the startup."""
        return self.sends == BLOCKING

    @property
    def reduction_s_per_byte(self) -> FloatOrArray:
        """Seconds for which the operator of a reduction is at work on one byte."""
        return 0.0 if self.reduction_per_byte_s is None else self.reduction_per_byte_s

    @property
    def reduces(self) -> bool:
        """Whether the operators of reductions take any time."""
        return bool(np.any(np.asarray(self.reduction_s_per_byte) > 0))

    @property
    def flight_holds_sender(self) -> bool:
        """Hockney: whether what the hops add holds the sender, too."""
        return self.hops_hold_sender and self.bytes_hold_sender

    @property
    def stored_bytes(self) -> float:
        """Of a message at most so many bytes are stored at a node before they go on; infinite for a whole message."""
        return self.packet_bytes if self.sharing == "round_robin" else np.inf

    @property
    def paths_differ(self) -> bool:
        """Whether the cost of a message depends on who sends it to whom, even if hops are not counted."""
        return self.node is not None or self.links_differ

    @property
    def routes_matter(self) -> bool:
        """Whether the time of a message may depend on its route: on its hops, or on how fast its links are."""
        takes_time = self.startup_per == "hop" or any(
            np.any(np.asarray(one) > 0) for one in (self.hop_latency_s, *self.link_latencies_s)
        )
        return takes_time or self.paths_differ or self.has_own_links

    @property
    def has_own_links(self) -> bool:
        """Whether the topology says how fast some links are, so that they may slow messages down."""
        return any(group.is_own for group in self.topology.link_groups)

    @property
    def links_differ(self) -> bool:
        """Whether some links have another bandwidth or latency than others."""
        present = [group for group in self.topology.link_groups if group.links]
        return len({(group.per_byte_s, group.latency_s, group.taper) for group in present}) > 1

    @property
    def links_s_per_byte(self) -> tuple[FloatOrArray, ...]:
        """Seconds for which one byte occupies a link of each of the topology's groups."""
        common = self.least_s_per_byte if self.link_per_byte_s is None else self.link_per_byte_s
        return tuple(
            (common if group.taper == 1 else common * group.taper) if group.per_byte_s is None else group.per_byte_s
            for group in self.topology.link_groups
        )

    @property
    def link_latencies_s(self) -> tuple[FloatOrArray, ...]:
        """The latency of a hop over a link of each of the topology's groups."""
        groups = self.topology.link_groups
        return tuple(self.hop_latency_s if group.latency_s is None else group.latency_s for group in groups)

    @property
    def link_count(self) -> int:
        """Number of directed links, of all rails."""
        return self.rails * self.topology.link_count

    def link_group(self, link: IntArray) -> IntArray:
        """The place among the topology's groups of every link, shape (n,), whatever its rail."""
        return self.topology.group_of(link % max(1, self.topology.link_count))

    def link_name(self, link: int) -> str:
        """``link host 3 -> host 4``, of several rails ``rail 1: link host 3 -> host 4``."""
        rail, within = divmod(link, max(1, self.topology.link_count))
        return (f"rail {rail}: " if self.rails > 1 else "") + f"link {self.topology.link_name(within)}"

    @property
    def link_occupancy_s_per_byte(self) -> FloatOrArray:
        """Seconds for which one byte occupies a link: the slowest, where links differ."""
        common = self.least_s_per_byte if self.link_per_byte_s is None else self.link_per_byte_s
        return self._most(self.links_s_per_byte, common)

    @property
    def longest_hop_latency_s(self) -> FloatOrArray:
        """The latency of a hop: the longest, where links differ."""
        return self._most(self.link_latencies_s, self.hop_latency_s)

    def _most(self, values: tuple[FloatOrArray, ...], common: FloatOrArray) -> FloatOrArray:
        """The largest of the groups that have links; the common value of a network without links of their own."""
        groups = self.topology.link_groups
        present = [value for value, group in zip(values, groups, strict=True) if group.links]
        return functools.reduce(np.maximum, present) if self.has_own_links and present else common

    @property
    def interface_occupancy_s_per_byte(self) -> FloatOrArray:
        """Seconds for which one byte occupies a network interface, in each direction if it is full duplex."""
        return self.least_s_per_byte if self.interfaces.per_byte_s is None else self.interfaces.per_byte_s

    @property
    def interfaces_have_directions(self) -> bool:
        """Whether each interface is that of a direction, as stated or because a node has one for each."""
        if self.interfaces.assignment is not None:
            return self.interfaces.assignment == DIRECTION
        return self.rails == 1 and self.interfaces.count == self.topology.directions > 0
