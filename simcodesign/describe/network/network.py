"""The network of a machine, with the constants of its cost models."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import Choice, Constant, Number, Whole
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section, bandwidth
from simcodesign.describe.network.interfaces import DIRECTION, INTERFACES, MAX_INTERFACES, Interfaces, Tunings
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.message_models.hockney import Hockney, HockneySegment
from simcodesign.describe.network.routing import Minimal, Routing
from simcodesign.describe.network.sharing import Fcfs, Sharing
from simcodesign.describe.topology.base import Topology
from simcodesign.describe.topology.link_loads import IntArray

#: Hops of a message when its route is not looked at: none, one, log2 P or sqrt P for P ranks, or the mean over the
#: topology.
DISTANCES = ("one", "log2", "sqrt", "mean", "none")
CUT_THROUGH, STORE_AND_FORWARD = SWITCHINGS = ("cut_through", "store_and_forward")
#: Fields of a network that are one of a few words.
CHOICES = {"distance": DISTANCES, "switching": SWITCHINGS}

#: A relative difference of two bandwidths that is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class LocalMessages:
    """Cost for the sender of a message of m bytes that passes no link of the network.

    ``startup_s + m per_byte_s``, by the segment in ``segments`` for m bytes if it has any.
    """

    startup_s: FloatOrArray = 0.0
    per_byte_s: FloatOrArray = 0.0
    segments: tuple[HockneySegment, ...] = ()


@dataclass(frozen=True)
class Network:
    """Cost of a message of m bytes over h hops, and the parts that it occupies on its route.

    ``message_model``: what it costs its sender and its receiver, with the constants of that; ``sharing``: how links and
    interfaces are shared; ``routing``: which way it takes.

    A link is occupied for ``m link_per_byte_s`` and a network interface for ``m interfaces.per_byte_s``; both default
    to the time per byte of the model, with segments to the smallest of these. Where the topology gives its links
    bandwidths or latencies of their own, these count instead of ``link_per_byte_s`` and ``hop_latency_s``, and a
    message is no faster than the slowest link of its route. With ``switching = "store_and_forward"`` a link has all of
    a message, or of a packet, before the next one begins.

    Messages between ranks of one node cost the same, without hops if these are counted; or, in a model that
    ``has_local_costs``, the cost in ``node``: startup and bytes, no hops. ``socket`` gives the cost of messages from
    one of the ``sockets_per_node`` sockets of a node to another; messages within a socket then cost what ``node``
    gives.

    A rank that combines m bytes it has received with its own (operator of a reduction) computes for
    ``m reduction_per_byte_s``; by default it takes no time. A rank that copies a block of m bytes within its memory,
    as algorithms do that pack several blocks into one message, computes for ``packing_s + m packing_per_byte_s``.

    Switches that combine messages of m bytes on the way (``in_switch``) take ``switch_latency_s + m switch_per_byte_s``
    longer than such a message; None: these switches cannot.

    A receive examines each message that arrived at its rank before its own and still waits, in ``matching_s``.

    ``rails``: copies of the whole topology. Interface i of every node is on rail i mod ``rails``: a message takes the
    links of the rail of the interface by which it leaves, and arrives on the same rail. The links of rail r have the
    numbers from r L on, L links in each.

    ``saturation``: the fraction of the time that a link is busy at most, in forecasts of open streams: what finite
    buffers let through was measured on the network, or by a simulator that has them (docs/buffers.md).

    ``tunings``: what collective algorithms have of their own, by operation and algorithm.

    A rank that sends or receives draws ``dynamic_power_w`` (not while it waits), and a sent byte takes
    ``energy_per_byte_j``.
    """

    topology: Topology
    message_model: MessageModel = field(default=Hockney())
    sharing: Sharing = field(default=Fcfs())
    routing: Routing = field(default=Minimal())
    distance: str = "one"
    switching: str = CUT_THROUGH
    hop_latency_s: FloatOrArray = 0.0
    link_per_byte_s: FloatOrArray | None = None
    interfaces: Interfaces = field(default=Interfaces())
    rails: int = 1
    tunings: Tunings = field(default_factory=dict, hash=False)
    node: LocalMessages | None = None
    socket: LocalMessages | None = None
    sockets_per_node: int = 1
    reduction_per_byte_s: FloatOrArray | None = None
    packing_s: FloatOrArray | None = None
    packing_per_byte_s: FloatOrArray | None = None
    switch_latency_s: FloatOrArray | None = None
    switch_per_byte_s: FloatOrArray | None = None
    matching_s: FloatOrArray | None = None
    saturation: float = 1.0
    dynamic_power_w: FloatOrArray | None = None
    energy_per_byte_j: FloatOrArray | None = None

    @property
    def has_segments(self) -> bool:
        """Whether what some messages cost is piecewise by their size."""
        return any(part is not None and part.segments for part in (self.message_model, self.node, self.socket))

    @property
    def mean_hops(self) -> float:
        """Mean hops between different nodes, by its routing, if nothing waits."""
        return self.routing.mean_hops(self.topology)

    def sending(self, sends: str | None, used: int | None = None) -> Network:
        """Return the network whose messages are sent so, through ``used`` interfaces of a rank."""
        interfaces = replace(self.interfaces, used=used)
        return replace(self, message_model=self.message_model.sending(sends), interfaces=interfaces)

    @property
    def reduction_s_per_byte(self) -> FloatOrArray:
        """Seconds for which the operator of a reduction is at work on one byte."""
        return 0.0 if self.reduction_per_byte_s is None else self.reduction_per_byte_s

    @property
    def packing_s_per_block(self) -> FloatOrArray:
        """Seconds for which a rank copies one block, whatever its size."""
        return 0.0 if self.packing_s is None else self.packing_s

    @property
    def packing_s_per_byte(self) -> FloatOrArray:
        """Seconds for which a rank copies one byte of a block, in addition."""
        return 0.0 if self.packing_per_byte_s is None else self.packing_per_byte_s

    @property
    def combines_in_switches(self) -> bool:
        """Whether its switches can combine messages on the way."""
        return self.switch_latency_s is not None

    @property
    def search_s(self) -> FloatOrArray:
        """Seconds in which a receive examines one waiting message."""
        return 0.0 if self.matching_s is None else self.matching_s

    @property
    def copies_take_time(self) -> bool:
        """Whether copies of blocks take any time."""
        return any(np.any(np.asarray(one) > 0) for one in (self.packing_s_per_block, self.packing_s_per_byte))

    @property
    def processes_data(self) -> bool:
        """Whether the operators of reductions, or copies of blocks, take any time."""
        return bool(np.any(np.asarray(self.reduction_s_per_byte) > 0)) or self.copies_take_time

    @property
    def is_stored(self) -> bool:
        """Whether every link has all of a message, or of a packet, before the next one begins."""
        return self.switching == STORE_AND_FORWARD

    @property
    def paths_differ(self) -> bool:
        """Whether the cost of a message depends on its source and target, even if hops are not counted."""
        return self.node is not None or self.links_differ

    @property
    def routes_matter(self) -> bool:
        """Whether the time of a message may depend on its route: on its hops, or on how fast its links are."""
        takes_time = self.message_model.starts_at_every_hop or any(
            np.any(np.asarray(one) > 0) for one in (self.hop_latency_s, *self.link_latencies_s)
        )
        return takes_time or self.paths_differ or self.has_own_links

    @property
    def has_own_links(self) -> bool:
        """Whether the topology gives the speed of some links, so that they may slow messages down."""
        return any(group.is_own for group in self.topology.link_groups)

    @property
    def links_differ(self) -> bool:
        """Whether some links have another bandwidth or latency than others."""
        present = [group for group in self.topology.link_groups if group.links]
        return len({(group.per_byte_s, group.latency_s, group.taper) for group in present}) > 1

    @property
    def links_s_per_byte(self) -> tuple[FloatOrArray, ...]:
        """Seconds for which one byte occupies a link of each of the topology's groups."""
        common = self.message_model.least_s_per_byte if self.link_per_byte_s is None else self.link_per_byte_s
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
        """Return the place among the topology's groups of every link, shape (n,), whatever its rail."""
        return self.topology.group_of(link % max(1, self.topology.link_count))

    def link_name(self, link: int) -> str:
        """``link host 3 -> host 4``, of several rails ``rail 1: link host 3 -> host 4``."""
        rail, within = divmod(link, max(1, self.topology.link_count))
        return (f"rail {rail}: " if self.rails > 1 else "") + f"link {self.topology.link_name(within)}"

    @property
    def link_occupancy_s_per_byte(self) -> FloatOrArray:
        """Seconds for which one byte occupies a link: the slowest, where links differ."""
        common = self.message_model.least_s_per_byte if self.link_per_byte_s is None else self.link_per_byte_s
        return self._most(self.links_s_per_byte, common)

    @property
    def longest_hop_latency_s(self) -> FloatOrArray:
        """The latency of a hop: the longest, where links differ."""
        return self._most(self.link_latencies_s, self.hop_latency_s)

    def _most(self, values: tuple[FloatOrArray, ...], common: FloatOrArray) -> FloatOrArray:
        """Return the largest of the groups that have links.

        The common value of a network without links of their own.
        """
        groups = self.topology.link_groups
        present = [value for value, group in zip(values, groups, strict=True) if group.links]
        return functools.reduce(np.maximum, present) if self.has_own_links and present else common

    @property
    def interface_occupancy_s_per_byte(self) -> FloatOrArray:
        """Return the seconds for which one byte of a message that passes alone occupies a network interface.

        In each direction if it is full duplex.
        """
        interfaces, message = self.interfaces, self.message_model.least_s_per_byte
        if interfaces.per_byte_s is not None:
            return interfaces.per_byte_s
        return message if interfaces.loaded_per_byte_s is None else np.minimum(message, interfaces.loaded_per_byte_s)

    @property
    def loaded_interface_s_per_byte(self) -> FloatOrArray:
        """Time per byte of an interface if several messages pass it concurrently."""
        loaded = self.interfaces.loaded_per_byte_s
        return self.interface_occupancy_s_per_byte if loaded is None else loaded

    @property
    def interfaces_have_directions(self) -> bool:
        """Whether each interface belongs to a direction, as stated or because a node has one for each."""
        if self.interfaces.assignment is not None:
            return self.interfaces.assignment == DIRECTION
        return self.rails == 1 and self.interfaces.count == self.topology.directions > 0

    @property
    def interfaces_have_one_link(self) -> bool:
        """Whether all messages from a node, here node 0, leave it by one link, as on a fat tree.

        On a crossbar each target has a link of its own. Up to 4,096 targets are looked at.
        """
        topology = self.topology
        if self.rails > 1 or topology.directions or topology.node_count == 1:
            return False
        last = topology.node_count - 1
        target = np.unique(np.linspace(1, last, min(last, 4096)).astype(np.int64))
        _, first = topology.step(np.zeros_like(target), target)
        return len(np.unique(first)) == 1

    @property
    def interfaces_share_a_link(self) -> bool:
        """Whether the interfaces of a node are on one link, which is slower than all of them together."""
        topology, count = self.topology, self.interfaces.count
        if count == 1 or not self.interfaces_have_one_link:
            return False
        _, first = topology.step(np.array([0]), np.array([topology.node_count - 1]))
        link_s_per_byte = self.links_s_per_byte[int(topology.group_of(first)[0])]
        return bool(np.any(link_s_per_byte * count > self.interface_occupancy_s_per_byte * (1 + ROUNDING)))


#: Keys of ``network`` that do not depend on its model of messages, its topology and its rules.
NETWORK = Section(
    Key("hop_latency", Constant("time"), "time that each hop adds to a message", "0 s", field="hop_latency_s"),
    Key(
        "S",
        Constant("size"),
        "bytes above which a sender waits for its receiver (rendezvous)",
        "none do",
        field="message_model.rendezvous_above_bytes",
    ),
    *bandwidth(
        "reduction",
        "reduction_per_byte",
        "reduction_per_byte_s",
        "bytes per second that a rank combines in a reduction",
        "no time",
    ),
    Key(
        "packing",
        Constant("time"),
        "time in which a rank copies one block of its data to pack or unpack messages (docs/collectives.md)",
        "no time",
        field="packing_s",
    ),
    *bandwidth(
        "packing_bandwidth",
        "packing_per_byte",
        "packing_per_byte_s",
        "bytes per second that a rank copies to pack or unpack messages, in addition to `network.packing`",
        "no time",
    ),
    Key(
        "in_switch",
        Section(
            Key(
                "latency",
                Constant("time"),
                "time that combining messages in switches adds to a message",
                required=True,
                field="switch_latency_s",
            ),
            *bandwidth(
                "bandwidth",
                "per_byte",
                "switch_per_byte_s",
                "bytes per second that switches combine, in addition to the time of a message",
                "no time",
            ),
        ),
        "switches that combine messages: `algorithm: in_switch` (docs/collectives.md)",
        "they cannot",
        field="",
    ),
    Key(
        "matching",
        Constant("time"),
        "time in which a receive examines a message that arrived before its own and still waits (docs/messages.md)",
        "no time",
        field="matching_s",
    ),
    *bandwidth(
        "link_bandwidth", "link_per_byte", "link_per_byte_s", "bytes per second of a link", "as `network.bandwidth`"
    ),
    Key("interfaces", INTERFACES, "the network interfaces of a node (docs/interfaces.md)"),
    Key("dynamic_power", Constant("power"), "what a rank draws while it sends or receives", field="dynamic_power_w"),
    Key("energy_per_byte", Constant("energy_per_byte"), "energy of each sent byte", field="energy_per_byte_j"),
    Key(
        "distance",
        Choice(DISTANCES),
        "hops that the forecast counts: none, one, log2 or sqrt of P, or the topology's mean; inside nodes, P is at"
        " most the processors of a node",
        "one",
    ),
    Key(
        "switching",
        Choice(SWITCHINGS),
        "whether a switch forwards a message as it comes, or stores it first",
        CUT_THROUGH,
    ),
    Key("rails", Whole(1, MAX_INTERFACES), "whole copies of the topology (docs/interfaces.md)", "1"),
    Key(
        "saturation",
        Number(),
        "fraction of the time that a link can be busy, of open streams (docs/buffers.md)",
        "1",
        "above 0 and up to 1",
    ),
)
