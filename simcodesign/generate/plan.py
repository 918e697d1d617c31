"""The Plan: a simulation as flat arrays of operations, which every engine walks in the same way.

Operations are numbered rank by rank, in program order within a rank, so that (rank, operation) order is plain
operation order. Durations are computed here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import KINDS, RECEIVE, SEND

#: No station, no peer, no partner; and the peer of a receive that takes a message from any source.
NONE, ANY = -1, -2
#: The tag of a receive that takes a message of any tag.
ANY_TAG = -1
DISK, CONTROLLER, ACCELERATOR, TO_ACCELERATOR, TO_HOST, STORAGE, METADATA_SERVER, PROCESSOR = range(8)
INTERFACE, LINK, MESSAGE_MEMORY, MAILBOX = range(8, 12)
STATION_KINDS = (
    *("disk", "memory", "accelerator", "link to accelerator", "link from accelerator", "storage server"),
    *("metadata server", "processor", "interface", "link", "memory of messages", "mailbox"),
)
#: Operations and stations are counted in 32 bits.
MOST_OPERATIONS = 2**31 - 2

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


#: Queueing disciplines. Both engines have a class or function for each, chosen by this number.
FIRST_COME, LIMITED = range(2)


@dataclass(frozen=True)
class Discipline:
    """How a station treats its requests: the one record that both engines dispatch on.

    FIRST_COME: first come, first served. LIMITED: the same, but at most ``capacity`` requests are waiting or in
    service; a request that finds ``capacity`` others is blocked (see the event contract).
    """

    kind: int = FIRST_COME
    capacity: int = NONE


#: First come, first served, with room for all requests.
UNLIMITED = Discipline()


@dataclass(frozen=True)
class Stations:
    """Queues of operations and messages; the station's number is its place in the order of arbitration.

    In the order of their kinds: disks, memory controllers, accelerators with their links, storage and processors, then
    interfaces, then links, memory controllers that messages pass, and mailboxes. Only disks may have a discipline other
    than FIRST_COME.
    """

    kind: NDArray[np.int8]  # (S,) DISK ... MAILBOX
    unit: Int64s  # (S,) number among its kind: of a controller its node, of an interface as in ``Interfaces``
    servers: Int32s  # (S,) 1 except for disks
    discipline: NDArray[np.int8] | None = None  # (S,) place in ``disciplines``; None: the first, everywhere
    disciplines: tuple[Discipline, ...] = (UNLIMITED,)
    service_factor: Floats | None = None  # (S,) on the service times of interfaces and links; None: 1 everywhere

    def __len__(self) -> int:
        return len(self.kind)

    def discipline_of(self, number: int) -> Discipline:
        """Return the discipline of one station."""
        return self.disciplines[0 if self.discipline is None else int(self.discipline[number])]


@dataclass(frozen=True)
class FairSharing:
    """How messages share the stations of their routes fairly: as flows with max-min fair rates.

    The message of a send sets out when the send begins. It is a flow ``delay_s`` later, until ``size_bytes`` have
    passed, and has arrived ``after_s`` after that; a message of no bytes is no flow. A send that ``holds`` its rank is
    done when its flow has ended, others after their duration. At any time the flows have the max-min fair shares of
    the capacities of the stations on their routes, where ``own_rate`` limits a flow by itself unless it is 0: shares in
    proportion to their ``weight``. Rates are whole numbers of units, ``unit`` of which make a byte per second (a power
    of two), and multiples of the weight.
    """

    delay_s: Floats  # (N,)
    after_s: Floats  # (N,)
    size_bytes: Floats  # (N,)
    holds: NDArray[np.bool_]  # (N,) not without bytes
    own_rate: Int64s  # (N,) in units
    weight: Int32s  # (N,) 1 or more
    capacity: Int64s  # (S,) in units, for a flow alone; meaningless for stations on no route
    loaded: Int64s  # (S,) for several together, at most that
    unit: float


@dataclass(frozen=True)
class PacketSharing:
    """How messages pass the stations of their routes as packets, each with a head and a tail of its own.

    The message of a send consists of ``count`` packets; their costs are in row ``cost[op]`` of the Routes, and the
    costs of the last one in the next row. The head of the first one sets out ``inject_s`` after the start of the send,
    the head of every other one with the tail of the previous one. A packet requests a station when its head is
    there and the packet before has been served there, so that a station serves messages in round robin. A send that
    ``holds`` its rank is done when its last packet has arrived or, with ``until_away``, has passed the first station;
    others after their duration.
    """

    count: Int32s  # (N,) 1 at least
    holds: NDArray[np.bool_]  # (N,)
    until_away: bool = False


@dataclass(frozen=True)
class AlternativeRoutes:
    """Messages that choose between two routes.

    ``Routes.route``, the minimal one, and row ``route[op]``, if that is not NONE.

    They are the same for the first ``fork[op]`` stations. When the head of the message reaches the fork, it
    takes the alternative if q h > q' h' + ``threshold`` there, otherwise the minimal route: q messages wait or are in
    service at the next station of the minimal route, which has ``links[r]`` = h of them, q' and h' belong to the
    alternative.
    With ``along_route`` it takes the alternative if q > q' + ``threshold``, q and q' being the sums over all stations
    from there on.
    """

    route: Int32s  # (N,) or NONE
    fork: Int32s  # (N,)
    links: Int32s  # (R,) of every route
    threshold: int = 0
    along_route: bool = False


@dataclass(frozen=True)
class Routes:
    """Stations that messages visit one after another.

    Message ``op`` takes ``station[start[r]:start[r+1]]``, r = ``route[op]``.

    A message has a head, which asks for the stations one after another, and a tail, its last byte. The head sets out
    ``inject_s`` after the start of the send, the tail ``tail_s`` later. A station that was granted at g lets the tail
    pass when it has come and when it has been served: max(tail, g + service). Both then travel for
    ``after_interface_s`` after an interface and for ``latency_s`` after a link; with ``store_and_forward`` the head
    waits for the tail between two links. The message has arrived when its tail has passed the last station. Alone on
    the network, that is when its sender is done with it (in Hockney's model, if hops hold the sender), unless it is
    stored and its receiver's interface is slower than the last link.

    These times form a table of K costs, since many messages cost the same: message ``op`` has row ``cost[op]``.
    If links differ, service and latency of a link have a column for each group of links: station s has column
    ``group[s]``. Memory controllers that messages pass (MESSAGE_MEMORY) count as links of a group of their own; they
    serve operations as well, in the same order.
    """

    route: Int32s  # (N,) or NONE
    cost: Int32s  # (N,) meaningless without a route
    start: Int64s  # (R + 1,)
    station: Int32s
    inject_s: Floats  # (K,)
    tail_s: Floats  # (K,)
    interface_s: Floats  # (K,) service of an interface
    link_s: Floats  # (K,) service of a link, or (K, G)
    after_interface_s: Floats  # (K,) flight after an interface
    latency_s: Floats  # (K,) flight after a link, or (K, G)
    store_and_forward: bool = False
    group: Int32s | None = None  # group of each link by station number; None: one for all
    fair: FairSharing | None = None  # where messages share stations fairly; the costs have no meaning then
    packets: PacketSharing | None = None  # where messages pass as packets
    adaptive: AlternativeRoutes | None = None  # where messages choose between two routes

    @property
    def holds(self) -> NDArray[np.bool_] | None:
        """(N,) sends that are done when their messages are, not after their duration; None if there are none."""
        sharing = self.fair or self.packets
        return None if sharing is None else sharing.holds


@dataclass(frozen=True)
class BackgroundMessages:
    """Messages of other jobs, B of them in the order in which they set out, which no rank of the job sends or receives.

    They have the numbers N to N + B - 1 among messages: arrays of ``Routes`` that are (N,), by the number of a send,
    are (N + B,) then.
    """

    sets_out_s: Floats  # (B,) as the beginning of a send; ascending
    size_bytes: Floats  # (B,)

    @property
    def until_s(self) -> float:
        """Up to this time it is known what others send."""
        return float(self.sets_out_s[-1])


@dataclass(frozen=True)
class LogGOPS:
    """A Plan by the rules of LogGOPSim (the event contract states them): processors, network interfaces, messages.

    ``station`` is then the processor of every operation; ``duration_s`` of a send how long it has that;
    ``flight_s`` from its beginning until its first byte arrives, ``gap_s`` until the interface sends (receives) again.
    An operation that queues at a disk or a memory controller has its processor until it is done there.
    """

    interface: Int32s  # (N,) of a send: the network interface through which its message leaves
    receiver: Int32s  # (N,) of a send: the processor that its message occupies at its target
    receiver_interface: Int32s  # (N,) of a send: the network interface through which it comes
    receive_s: Floats  # (N,) of a send: for how long
    spread_s: Floats  # (N,) of a send: how far its last byte is behind the first
    rendezvous: NDArray[np.bool_]  # (N,) of a send: it is done when a receive takes its message
    box: Int32s  # (N,) of a send or receive: the queue in which messages meet receives, first come, first served
    line: Int32s  # (N,) of all but receives: operations of a line wait for the same processor and interface
    message_line: Int32s  # (N,) of a send: the line in which its message waits
    interfaces: int
    boxes: int
    lines: int
    served_at: Int32s | None = None  # (N,) the disk or memory controller that serves the operation, or NONE


@dataclass(frozen=True)
class Edges:
    """Dependencies other than program order, also of operations of other ranks (``Ranks.meet``).

    ``target[start[op]:start[op+1]]`` wait until ``op`` is done, or, if ``early``, until it begins. A receive begins
    when it takes its message up; in a Plan with ``loggops``, when it is posted.
    """

    start: Int64s  # (N + 1,)
    target: Int32s
    early: NDArray[np.bool_]


@dataclass(frozen=True)
class Polls:
    """Parts of ranks that begin when they are polled, not when they are started.

    A part begins and ends with an operation of no time. If it has not begun when an operation polls it, and the message
    of its first receive has arrived, or it sends first, the part begins then, and the operation is done when the part
    is. If the message has not arrived, the operation is done, unless it waits. If the part is done already, so is the
    operation.
    """

    part: Int32s  # (N,) of an operation that polls: the first operation of the part that it polls, or NONE
    end: Int32s  # (N,) of the first operation of a part: the last one, or NONE
    receive: Int32s  # (N,) of the first operation of a part: the receive that it does first, or NONE
    waits: NDArray[np.bool_]  # (N,) whether it polls until the part is done


@dataclass(frozen=True)
class Accounts:
    """Data for counters in addition to the operations; a Plan holds it only if counters are wanted.

    ``tally``: by counter, what ranks do whatever time it takes, (P, phases); a counter that is missing is 0.
    """

    tally: Mapping[str, Floats]
    clock_hz: float  # of the machine, NaN without one
    frequency_hz: Floats  # (phases,) as ``RankCounters`` has it
    op_clock_hz: Floats | None  # (N,) of every operation, if some phase replaces the clock
    collective: NDArray[np.int8] | None  # (N,) 1 for operations of a collective; None if there is none


@dataclass(frozen=True)
class Powers:
    """Power of operations.

    ``op`` has the pieces ``start[r]:start[r+1]``, r = ``row[op]``: ``watts`` from one share of its duration to another;
    and ``per_byte_j`` for each of its bytes, if it is a send.
    """

    row: Int32s  # (N,) or NONE
    start: Int64s  # (K + 1,)
    since: Floats
    until: Floats
    watts: Floats
    per_byte_j: Floats  # (K,)


@dataclass(frozen=True)
class OpenStream:
    """The R requests of a program of arrivals.

    Each arrives when operation ``arrives`` is done, and has left when operation ``leaves`` is done, or when its message
    has arrived.
    """

    arrives: Int64s  # (R,)
    leaves: Int64s  # (R,)
    source: Int32s  # (R,) rank that it comes from


@dataclass(frozen=True)
class SourceLines:
    """The line of every operation of a recorded program: of its one file, or of the file of its rank."""

    files: tuple[str, ...]
    line: Int32s  # (N,)

    def place_of(self, op: int, rank: int) -> str:
        """Position of an operation of a rank."""
        return f"{self.files[rank if len(self.files) > 1 else 0]}:{self.line[op]}"


@dataclass(frozen=True)
class DemandOrder:
    """Which operations belong to which demand.

    Every rank has ``counts[v]`` of variant v, (P,) or one number for all; a demand has one variant, or several where
    the iterations of a loop differ. ``turns`` are the variants in the order in which they are done; ``demand`` is the
    number of the demand of each variant.
    """

    turns: Int32s
    counts: tuple[Int64s, ...]
    demand: Int32s

    @property
    def demands(self) -> int:
        """D, the number of demands."""
        return int(self.demand.max(initial=-1)) + 1


@dataclass(frozen=True)
class Plan:
    """N operations of P ranks.

    An operation is ready when the previous one in its rank is done (unless ``follows_previous`` is False) and all that
    it waits for by ``edges``, and, at the beginning of a part that is polled, when a poll begins it (``polls``). A
    receive then waits for its message: given by ``match`` (receive -> its send, send -> its receive), or, with a
    ``mailbox``, the first that comes there. With ``tag``, a receive takes the first message there from its ``peer``,
    unless that is ANY, with its tag, unless that is ANY_TAG; with ``loggops``, in its box. An operation with a
    ``station`` queues for it. It begins, and is done ``duration_s`` later. A message without a route arrives when its
    send is done, or, with ``flight_s``, that long after the send has begun. A Plan with ``loggops`` has its own rules.
    """

    first: Int64s  # (P + 1,) first operation of each rank
    kind: NDArray[np.int8]
    phase: NDArray[np.int16]
    rank: Int32s
    peer: Int32s
    size_bytes: Floats
    duration_s: Floats
    match: Int32s
    follows_previous: NDArray[np.bool_]  # (N + 1,)
    phases: tuple[str, ...]
    stations: Stations
    station: Int32s | None = None  # (N,) station that serves the operation for its duration, or NONE
    routes: Routes | None = None
    edges: Edges | None = None
    polls: Polls | None = None
    mailbox: Int32s | None = None  # (N,) station number of the mailbox of a send or receive, or NONE
    tag: Int32s | None = None  # (N,) if messages that arrive at one mailbox or box do not suit all of its receives
    taken_by: Int32s | None = None  # (N,) of a send to a mailbox: what waits until its message is taken up, or NONE
    matching_s: float = 0.0  # what a receive takes longer for each message in its mailbox that arrived before its own
    gap_s: Floats | None = None  # (N,) with ``loggops``
    flight_s: Floats | None = None  # (N,)
    loggops: LogGOPS | None = None  # how processors, gaps and messages behave, if not as above
    train: Floats | None = None  # (N,) messages that travel together as one; 1 each, if None
    holds: NDArray[np.bool_] | None = None  # (N,) sends whose bytes hold the sender, where only some do
    unit: NDArray[np.int16] | None = None  # (N,) the part of its rank that does it, if several work; 0: the processor
    work: Mapping[str, float] = field(default_factory=dict)  # flops and instructions of all ranks
    served: Mapping[str, float] = field(default_factory=dict)  # accesses by level of the caches, and by memory
    hit_methods: Mapping[str, str] = field(default_factory=dict)  # how the accesses of each level were counted
    prefetched: Mapping[str, float] = field(default_factory=dict)  # accesses to memory that were fetched ahead
    limits_s: Mapping[str, float] = field(default_factory=dict)  # on accelerators, by what limits kernels and copies
    processor_limits_s: Mapping[str, float] = field(default_factory=dict)  # on processors, where memory is used
    accounts: Accounts | None = None
    used: Mapping[str, float] = field(default_factory=dict)  # amounts of the machine's resources
    powers: Powers | None = None  # if the machine states powers
    requests: OpenStream | None = None  # of a program of arrivals
    demands: DemandOrder | None = None  # if every operation follows the previous one in its rank
    lines: SourceLines | None = None
    background: BackgroundMessages | None = None  # what others send on the same links
    class_of: Int32s | None = None  # of each rank of the program, the rank here that does the same; None: one rank each

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.first) - 1

    @property
    def copies(self) -> Int64s | None:
        """(N,) how many ranks of the program do each operation; None: one each."""
        return None if self.class_of is None else np.bincount(self.class_of, minlength=self.ranks)[self.rank]

    @property
    def message_bytes(self) -> Floats:
        """(N,) bytes of messages by the number of their send, (N + B,) with messages of others."""
        if self.background is None:
            return self.size_bytes
        return np.concatenate([self.size_bytes, self.background.size_bytes])

    def describe(self, op: int) -> str:
        """Return an operation in words, for messages."""
        text = f"{KINDS[self.kind[op]]}"
        if self.kind[op] in (SEND, RECEIVE):
            peer = "anyone" if self.peer[op] == ANY else f"rank {self.peer[op]}"
            text += f" {'to' if self.kind[op] == SEND else 'from'} {peer}"
        number = op - self.first[self.rank[op]]
        line = "" if self.lines is None else f", {self.lines.place_of(op, int(self.rank[op]))}"
        return f"{text} (operation {number}, phase {self.phases[self.phase[op]]!r}{line})"
