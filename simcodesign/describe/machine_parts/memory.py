"""The memory of a node and its caches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.keys.forms import (
    ABOVE_0,
    FROM_0,
    FROM_1,
    Amount,
    Bytes,
    Choice,
    Constant,
    Flag,
    OneOf,
    Quantity,
    Whole,
)
from simcodesign.describe.keys.key import Key
from simcodesign.describe.keys.section import Section, bandwidth
from simcodesign.locality.associativity import METHODS
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hits_by_level import SETS

#: Methods that compute the shares of accesses that caches serve.
HITS = (*METHODS, SETS)
#: Transfers between the levels of a memory hierarchy: at the same time at all of them, or at one after another.
OVERLAP, IN_TURN = TRANSFERS = ("overlap", "in_turn")
#: Controller of its node that has the data of a rank: its own, or page by page one after another.
FIRST_TOUCH = "first_touch"
POLICIES = (FIRST_TOUCH, "interleaved")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CacheLevel:
    """One level of the caches: an access that finds its line here takes ``latency_s``.

    ``ways`` None: fully associative. ``shared_by`` consecutive processors of a node have one such cache together, of
    ``size_bytes``.

    A byte that goes between it and what is one nearer to the core takes ``per_byte_s``: lines, in both directions, from
    the second level on; of the first level what is loaded, for stores leave the core on a path of their own. None: no
    limit. For a shared cache this is the path of each of its processors, on which it does not wait for others.

    ``clock_hz``: the clock at which it has this latency, if given in cycles; at another clock it takes as many cycles.
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
    shared_by: int = 1

    def latency_cycles(self, clock_hz: FloatOrArray) -> FloatOrArray:
        """Return the latency in cycles of a clock, or of its own if it has one."""
        return self.latency_s * (clock_hz if self.clock_hz is None else self.clock_hz)

    def clocked(self, clock_hz: FloatOrArray) -> CacheLevel:
        """Return the level at another clock."""
        level = self
        if self.clock_hz is not None and not np.array_equal(self.clock_hz, clock_hz):
            level = replace(level, latency_s=self.latency_cycles(clock_hz) / clock_hz, clock_hz=clock_hz)
        own_hz = self.bandwidth_clock_hz
        if own_hz is None or self.per_byte_s is None or np.array_equal(own_hz, clock_hz):
            return level
        return replace(level, per_byte_s=self.per_byte_s * (own_hz / clock_hz), bandwidth_clock_hz=clock_hz)


@dataclass(frozen=True)
class Prefetcher:
    """Hardware that fetches lines of memory ahead of a processor that goes through them in sequence.

    Upwards or downwards: of the last ``streams`` sequences that it has seen, with up to ``depth`` lines under way.
    """

    streams: FloatOrArray
    depth: FloatOrArray


@dataclass(frozen=True)
class RemoteMemory:
    """Memory at another controller of the node: an access takes ``latency_s``.

    Between each controller and the other sockets a byte takes ``per_byte_s`` in addition. None: as at the own
    controller; no limit.
    """

    latency_s: FloatOrArray | None = None
    per_byte_s: FloatOrArray | None = None


@dataclass(frozen=True)
class Memory:
    """The memory of a node and the caches before it, ``caches`` from the nearest outward.

    All with lines of ``line_bytes``.

    An access that no cache serves takes ``latency_s``; a byte that goes between the last cache and memory occupies a
    controller of the node for ``per_byte_s``. There is one, or ``controllers``, each at a socket of its own with as
    many of the processors: ``policy`` determines which one has the data of a rank unless the rank specifies it,
    ``remote`` what another one than its own costs. ``prefetch``: what is fetched ahead of the processors; None:
    nothing. For a demand that does not state its own ``blocking``, ``outstanding`` accesses are in flight
    concurrently, and their latencies pass together. ``hits``: how shares of accesses are computed, by the stack model
    (``auto``, ``full``, ``binomial``: see ``locality.associativity``), or with the trace itself (``sets``). A rank
    draws ``dynamic_power_w`` in its memory demands.

    ``transfers``: whether transfers between the levels take place at all of them concurrently (``overlap``, so that the
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
    prefetch: Prefetcher | None = None
    controllers: int = 1
    remote: RemoteMemory | None = None
    policy: str = FIRST_TOUCH

    @property
    def has_shared_caches(self) -> bool:
        """Whether some cache belongs to several processors."""
        return any(level.shared_by > 1 for level in self.caches)

    @property
    def remote_share(self) -> float:
        """The fraction of a rank's data that is at other controllers than its own, by the policy."""
        return 0.0 if self.policy == FIRST_TOUCH else 1 - 1 / self.controllers

    def station_name(self, unit: int, nodes: int) -> str:
        """``memory 3`` of node 3.

        ``memory 3.1`` of its socket 1, and ``memory link 3.1`` of what passes between that one's controller and other
        sockets, which are numbered after the controllers of all ``nodes``.
        """
        if self.controllers == 1:
            return f"memory {unit}"
        is_link, number = divmod(unit, nodes * self.controllers)
        node, socket = divmod(number, self.controllers)
        return f"memory {'link ' if is_link else ''}{node}.{socket}"

    def geometries(self, line_bytes: int | None = None) -> tuple[CacheGeometry, ...]:
        """Return the shapes of the caches; with lines of another size if ``line_bytes`` is given."""
        line = self.line_bytes if line_bytes is None else line_bytes
        return tuple(CacheGeometry(level.size_bytes, line, level.ways) for level in self.caches)

    @property
    def level_names(self) -> tuple[str, ...]:
        """Names of every cache, and ``memory``."""
        return (*(level.name for level in self.caches), "memory")

    @property
    def latencies_s(self) -> tuple[FloatOrArray, ...]:
        """Latencies of every cache and of memory."""
        return (*(level.latency_s for level in self.caches), self.latency_s)


#: Keys of a cache, of which ``yaml.memory`` reads latency and bandwidth by their units.
CACHE = Section(
    Key(
        "size",
        Bytes(),
        "bytes, of a shared cache in all",
        range="whole bytes; a multiple of a line times its ways",
        required=True,
        field="size_bytes",
    ),
    Key(
        "ways",
        OneOf(Choice({"full": None}), Whole(1)),
        "associativity, or `full` for a fully associative cache",
        "full",
    ),
    Key(
        "latency",
        OneOf(Quantity("cycles"), Quantity("time")),
        "time or cycles of an access that it serves",
        range=FROM_0,
        required=True,
    ),
    Key(
        "bandwidth",
        OneOf(Quantity("bandwidth"), Quantity("bytes_per_cycle")),
        "towards the cache before it, or the core; in B/s or in B/cycle",
        "no limit",
        ABOVE_0,
        field="per_byte_s",
    ),
    Key("per_byte", Constant("per_byte"), "time per byte, instead of `bandwidth`", "no limit", field="per_byte_s"),
    Key("shared_by", Whole(1), "consecutive processors that have one such cache together", "1"),
)
_PREFETCH = Section(
    Key("streams", Constant("count", FROM_1), "sequences that it follows concurrently", required=True),
    Key("depth", Constant("count", FROM_1), "lines under way of one sequence", required=True),
    make=Prefetcher,
)
_REMOTE = Section(
    Key("latency", Constant("time"), "time of an access", "as `memory.latency`", field="latency_s"),
    *bandwidth("bandwidth", "per_byte", "per_byte_s", "bytes per second between sockets", "no limit"),
    make=RemoteMemory,
)
#: Keys of ``memory``.
MEMORY = Section(
    Key(
        "latency",
        Constant("time"),
        "time of an access that no cache serves",
        "required, unless only `capacity` is stated",
        required=True,
        field="latency_s",
    ),
    *bandwidth(
        "bandwidth",
        "per_byte",
        "per_byte_s",
        "bytes per second of one controller",
        "required, unless only `capacity` is stated",
        required=True,
    ),
    Key(
        "outstanding",
        Constant("count", FROM_1),
        "accesses of a processor in flight concurrently; their latencies pass together",
        "1",
    ),
    Key("prefetch", _PREFETCH, "hardware that fetches lines ahead", "none"),
    Key("remote", _REMOTE, "what memory at another controller of the node costs"),
    Key("dynamic_power", Constant("power"), "what it draws for a rank that accesses it", field="dynamic_power_w"),
    Key("line", Bytes(), "bytes of a line of all caches", "64 B", "a power of two", field="line_bytes"),
    Key(
        "hits",
        Choice(HITS),
        "how hits are computed: by the stack model (`auto`, `full`, `binomial`) or by running the trace (`sets`)",
        "auto",
    ),
    Key("capacity", Amount("size", ABOVE_0), "bytes of a node", "not stated", field="capacity_bytes"),
    Key(
        "transfers",
        Choice(TRANSFERS),
        "whether bytes move between all levels concurrently, or level after level (Execution-Cache-Memory model)",
        OVERLAP,
    ),
    Key("writebacks", Flag(), "whether the stack model counts write-backs", "false"),
    Key("controllers", Whole(1), "controllers of a node, each at a socket with as many processors", "1"),
    Key("policy", Choice(POLICIES), "controller of data: the rank's own, or all round robin", FIRST_TOUCH),
)


def caches_of(memory: Memory, node: Ints, place: Ints, per_node: int) -> Ints:
    """Return the number of the cache that each rank has at each level, (levels, P).

    It follows from the rank's node and its ``place`` there, among ``per_node`` processors at most.
    """
    return np.array(
        [node * -(-per_node // level.shared_by) + place // level.shared_by for level in memory.caches], dtype=np.int64
    )


def sharers_of(caches: Ints, present: NDArray[np.bool_] | None = None) -> Ints:
    """(levels, P) how many ranks, of those ``present``, have the same cache; 1 at least."""
    shared = np.empty(caches.shape, np.int64)
    for level, numbers in enumerate(caches):
        which, index = np.unique(numbers, return_inverse=True)
        shared[level] = np.bincount(index, present, len(which))[index]
    return np.maximum(shared, 1)
