"""The parts of a machine: processors, caches and memory, disks, the network, with the constants of their cost models.

Constants may be arrays, so that one forecast covers many machines; the structure may not.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.link_loads import IntArray
from simcodesign.locality.associativity import METHODS
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hits_by_level import SETS

#: Hops of a message when its route is not looked at: none, one, log2 P or sqrt P for P ranks, or the mean over the
#: topology.
DISTANCES = ("one", "log2", "sqrt", "mean", "none")
SWITCHINGS = ("cut_through", "store_and_forward")
#: How a rank sends in Hockney's model: each message holds it until its last byte has left; or its startup alone does,
#: and the bytes of all of its messages then flow side by side.
ONE_BY_ONE, TOGETHER = SENDS = ("one_by_one", "together")
#: How links and interfaces are shared: by one message after another, by all at once with max-min fair shares, or by
#: messages in packets, one packet of each in turn.
SHARINGS = ("messages", "fair", "packets")
#: The shares of ``sharing: fair``: all equal, or in proportion to 1 / latency of the route.
EQUAL, BY_LATENCY = SHARES = ("equal", "by_latency")
#: The packets of ``sharing: packets``, unless it says another size.
PACKET_BYTES = 4096.0
#: Whether an interface sends and receives at the same time, or one after the other.
DUPLEXES = ("full", "half")
#: Which of the several interfaces of a node a message takes: one after another, or that of its first and last link.
ROUND_ROBIN, DIRECTION = ASSIGNMENTS = ("round_robin", "direction")
#: Fields of a network that are one of a few words.
CHOICES = {
    "model": ("hockney", "loggop"),
    "startup_per": ("message", "hop"),
    "sends": SENDS,
    "distance": DISTANCES,
    "switching": SWITCHINGS,
    "sharing": SHARINGS,
}
#: Methods that compute the shares of accesses that caches serve.
HITS = (*METHODS, SETS)
#: What moves between the levels of a memory hierarchy: at the same time at all of them, or at one after another.
OVERLAP, IN_TURN = TRANSFERS = ("overlap", "in_turn")


@dataclass(frozen=True)
class Processor:
    """``rate_flop_per_s`` prices operations; ``clock_hz`` and ``cycles_per_instruction`` price instructions. A rank
    that computes draws ``dynamic_power_w``."""

    rate_flop_per_s: FloatOrArray
    clock_hz: FloatOrArray | None = None  # only a demand in instructions needs it
    cycles_per_instruction: FloatOrArray = 1.0
    dynamic_power_w: FloatOrArray | None = None


@dataclass(frozen=True)
class LocalMessages:
    """What a message of m bytes costs its sender that passes no link of the network: ``startup_s + m per_byte_s``."""

    startup_s: float
    per_byte_s: float


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


@dataclass(frozen=True)
class Network:
    """What a message of m bytes over h hops costs, and what it occupies on its way.

    ``model = "hockney"``: the sender is charged ``startup_s + h hop_latency_s + m per_byte_s``, the receiver
    ``receive_overhead_s``. With ``startup_per = "hop"`` every hop repeats the startup (software relays).
    Unless ``hops_hold_sender``, the sender is charged ``startup_s + m per_byte_s``, and what the hops add (latency,
    repeated startups, bytes stored again) delays the arrival alone. With ``sends = "together"``, the sender is charged
    ``startup_s`` alone, and the bytes delay the arrival as well: those of several messages flow side by side.
    Beyond ``rendezvous_above_bytes`` (S) what comes after a send, and after the messages posted together with it, waits
    until the receiver takes the message up.

    ``model = "loggop"`` (LogGOPS: Hoefler, Schneider, Lumsdaine, HPDC 2010; LogGP: Alexandrov et al., SPAA 1995), with
    x = max(m - 1, 0): the sender is busy for ``overhead_s + x overhead_per_byte_s`` (o, O), the first byte is there
    ``overhead_s + latency_s + h hop_latency_s`` (L) after the send began, and keeps the receiver busy for ``overhead_s
    + x max(overhead_per_byte_s, per_byte_s)``; the interface sends (receives) again ``gap_s + x per_byte_s`` (g, G)
    after this message at the earliest. Beyond ``rendezvous_above_bytes`` (S) a sender goes on only when its message is
    taken up. Who has the processor when is as in LogGOPSim (docs/messages.md).

    A link is occupied for ``m link_per_byte_s`` and a network interface for ``m interfaces.per_byte_s``; both default
    to ``per_byte_s``. Constants of the other model must be left at their defaults. Where the topology gives its links
    bandwidths or latencies of their own, these count in place of ``link_per_byte_s`` and ``hop_latency_s``, and a
    message is no faster than the slowest link of its route.

    Messages between ranks of one node cost the same, without hops where these are counted; or, in Hockney's model, what
    ``node`` says: startup and bytes, no hops. ``socket`` says it of messages from one of the ``sockets_per_node``
    sockets of a node to another; those within a socket cost what ``node`` says.

    With ``sharing = "fair"``, messages that use a link or an interface at the same time share its bandwidth (max-min
    fair ``shares``, equal ones or in proportion to 1 / latency of the route), and a sender of Hockney's model is held
    until its last byte has passed. With ``"packets"``, which is for Hockney's model alone, so is a sender, and messages
    take turns packet by packet, of ``packet_bytes`` each; with ``switching = "store_and_forward"`` it is packets that
    are stored, not messages. Else messages take turns.

    A rank that combines m bytes it has received with its own (operator of a reduction) computes for
    ``m reduction_per_byte_s``; by default it takes no time.

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
    sends: str = TOGETHER
    distance: str = "one"
    switching: str = "cut_through"
    sharing: str = "messages"
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
    interfaces: Interfaces = Interfaces()
    node: LocalMessages | None = None
    socket: LocalMessages | None = None
    sockets_per_node: int = 1
    reduction_per_byte_s: FloatOrArray | None = None
    saturation: float = 1.0

    @property
    def bytes_hold_sender(self) -> bool:
        """Hockney: whether a message holds its sender beyond the startup."""
        return self.sends == ONE_BY_ONE

    @property
    def reduction_s_per_byte(self) -> FloatOrArray:
        """Seconds for which the operator of a reduction is at work on one byte."""
        return 0.0 if self.reduction_per_byte_s is None else self.reduction_per_byte_s

    @property
    def flight_holds_sender(self) -> bool:
        """Hockney: whether what the hops add holds the sender, too."""
        return self.hops_hold_sender and self.bytes_hold_sender

    @property
    def stored_bytes(self) -> float:
        """Of a message at most so many bytes are stored at a node before they go on; infinite for a whole message."""
        return self.packet_bytes if self.sharing == "packets" else np.inf

    @property
    def paths_differ(self) -> bool:
        """Whether the cost of a message depends on who sends it to whom, even if hops are not counted."""
        return self.node is not None or self.links_differ

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
        common = self.per_byte_s if self.link_per_byte_s is None else self.link_per_byte_s
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
    def link_occupancy_s_per_byte(self) -> FloatOrArray:
        """Seconds for which one byte occupies a link: the slowest, where links differ."""
        common = self.per_byte_s if self.link_per_byte_s is None else self.link_per_byte_s
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
        return self.per_byte_s if self.interfaces.per_byte_s is None else self.interfaces.per_byte_s

    @property
    def interface_assignment(self) -> str:
        """Which of a node's interfaces a message takes: as stated; else by direction where there is one for each."""
        if self.interfaces.assignment is not None:
            return self.interfaces.assignment
        return DIRECTION if self.interfaces.count == self.topology.directions > 0 else ROUND_ROBIN

    @property
    def interfaces_in_turn(self) -> bool:
        """Whether a node has several interfaces, which its messages take one after another."""
        return self.interfaces.count > 1 and self.interface_assignment == ROUND_ROBIN


@dataclass(frozen=True)
class Disk:
    """A disk: an access of m bytes takes ``startup + m per_byte_s``; ``shared_by`` consecutive nodes use one disk,
    which serves ``spindles`` accesses at a time in the order of their arrival. Each draws ``dynamic_power_w``."""

    read_startup_s: FloatOrArray
    write_startup_s: FloatOrArray
    per_byte_s: FloatOrArray
    shared_by: int = 1
    spindles: int = 1
    dynamic_power_w: FloatOrArray | None = None


@dataclass(frozen=True)
class CacheLevel:
    """One level of the caches that every processor has for itself: an access that finds its line here takes
    ``latency_s``. ``ways`` None: fully associative.

    A byte that goes between it and what is one nearer to the core takes ``per_byte_s``: lines, in both directions, from
    the second level on; of the first level what is loaded, for stores leave the core on a path of their own. None: no
    limit.

    ``clock_hz``: the clock at which it takes so long, of a latency in cycles; at another clock it takes as many cycles.
    None: a latency that no clock changes. On a machine, this is the clock of its processor. ``bandwidth_clock_hz``: the
    same of a bandwidth in bytes per cycle.
    """

    name: str
    size_bytes: int
    latency_s: FloatOrArray
    ways: int | None = None
    clock_hz: FloatOrArray | None = None
    per_byte_s: FloatOrArray | None = None
    bandwidth_clock_hz: FloatOrArray | None = None

    def latency_cycles(self, clock_hz: FloatOrArray) -> FloatOrArray:
        """The latency in cycles of a clock, or of its own where it has one."""
        return self.latency_s * (clock_hz if self.clock_hz is None else self.clock_hz)

    def clocked(self, clock_hz: FloatOrArray) -> CacheLevel:
        """The same level at another clock."""
        level = self
        if self.clock_hz is not None and not np.array_equal(self.clock_hz, clock_hz):
            level = replace(level, latency_s=self.latency_cycles(clock_hz) / clock_hz, clock_hz=clock_hz)
        own_hz = self.bandwidth_clock_hz
        if own_hz is None or self.per_byte_s is None or np.array_equal(own_hz, clock_hz):
            return level
        return replace(level, per_byte_s=self.per_byte_s * (own_hz / clock_hz), bandwidth_clock_hz=clock_hz)


@dataclass(frozen=True)
class Memory:
    """The memory of a node and the caches before it, ``caches`` from the nearest outward, all with lines of
    ``line_bytes``.

    An access that no cache serves takes ``latency_s``; a byte that goes between the last cache and memory occupies the
    controller of the node for ``per_byte_s``. Of a demand that does not state its own ``blocking``, ``outstanding``
    accesses are under way at once, and their latencies pass together. ``hits``: how shares of accesses are computed, by
    the stack model (``auto``, ``full``, ``binomial``: see ``locality.associativity``), or with the trace itself
    (``sets``). A rank draws ``dynamic_power_w`` in its memory demands.

    ``transfers``: whether what moves between the levels does so at all of them at once (``overlap``, so that the
    slowest counts), or at one after another (``in_turn``, so that the times add up: the Execution-Cache-Memory model of
    Stengel, Treibig, Hager, Wellein, ICS 2015). ``writebacks``: whether the stack model counts the lines that go back,
    of kernels, whose stores are known; with ``sets`` they always count.
    """

    latency_s: FloatOrArray
    per_byte_s: FloatOrArray
    caches: tuple[CacheLevel, ...] = ()
    line_bytes: int = 64
    hits: str = "auto"
    dynamic_power_w: FloatOrArray | None = None
    outstanding: FloatOrArray = 1.0
    transfers: str = OVERLAP
    writebacks: bool = False

    def geometries(self, line_bytes: int | None = None) -> tuple[CacheGeometry, ...]:
        """The shapes of the caches; with lines of another size if ``line_bytes`` is given."""
        line = self.line_bytes if line_bytes is None else line_bytes
        return tuple(CacheGeometry(level.size_bytes, line, level.ways) for level in self.caches)

    @property
    def level_names(self) -> tuple[str, ...]:
        """Of every cache, and ``memory``."""
        return (*(level.name for level in self.caches), "memory")

    @property
    def latencies_s(self) -> tuple[FloatOrArray, ...]:
        """Of every cache and of memory."""
        return (*(level.latency_s for level in self.caches), self.latency_s)
