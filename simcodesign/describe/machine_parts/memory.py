"""The memory of a node and its caches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simcodesign.core.units import FloatOrArray
from simcodesign.locality.associativity import METHODS
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hits_by_level import SETS

#: Methods that compute the shares of accesses that caches serve.
HITS = (*METHODS, SETS)
#: What moves between the levels of a memory hierarchy: at the same time at all of them, or at one after another.
OVERLAP, IN_TURN = TRANSFERS = ("overlap", "in_turn")


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
