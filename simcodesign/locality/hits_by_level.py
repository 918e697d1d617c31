"""Where accesses are served: the fraction of every cache level and of memory, by the stack model or in real sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.locality.associativity import hit_probability, level_hits, method_for, shared_distance
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.traces.trace import Trace

#: The method that is no model: the trace, access by access, through the sets of a hierarchy.
SETS = "sets"
#: Likewise, with a stream made from a profile: its addresses are synthetic.
SYNTHETIC = "synthetic"
#: No method: shares as hardware counters had them.
COUNTED = "counted"


class Served(NamedTuple):
    """``shares`` of all accesses: of every level, nearest first, and of memory; they add to 1.

    ``traffic_bytes`` per access between the last level and memory. ``methods``: the method that computed each level's
    share.

    ``written_back``: lines per access that every level writes back to the next, and the last to memory; empty if
    stores are unknown or not requested. ``loads``: the fraction of all accesses that bring something to the
    core, modifies among them; 1 if that is not known. ``prefetched``: the fraction of all accesses that memory serves
    and whose lines a prefetcher fetches ahead (``streams.sequential``); 0 without one, and if nothing is known of
    the order of addresses.
    """

    shares: tuple[FloatOrArray, ...]
    traffic_bytes: FloatOrArray
    methods: tuple[str, ...]
    written_back: tuple[FloatOrArray, ...] = ()
    loads: FloatOrArray = 1.0
    prefetched: FloatOrArray = 0.0

    @property
    def lines_between(self) -> tuple[FloatOrArray, ...]:
        """Lines per access that move between each level and the next one, in either direction.

        Traffic of the memory is not among them.
        """
        caches = len(self.shares) - 1
        missed = [sum(self.shares[place:], start=np.zeros(())) for place in range(1, caches)]
        back = self.written_back or (0.0,) * caches
        return tuple(lines + written for lines, written in zip(missed, back, strict=False))


def served_by_profile(
    profile: StackDistanceProfile,
    levels: Sequence[CacheGeometry],
    method: str,
    intervals: StackDistanceProfile | None = None,
    sharers: Sequence[float] = (),
) -> Served:
    """Apply the stack model (``associativity``): a miss moves one line.

    ``intervals``: the largest distances of dirty intervals (``stack.writebacks``), of which a cache writes back those
    that it misses; None: nothing is written back. ``sharers``: how many equal streams share each level; without
    them, one.
    """
    hits = level_hits(profile, levels, method, sharers)
    served = Served(hits.fractions, hits.fractions[-1] * profile.line_bytes, hits.methods)
    if intervals is None or not levels:
        return served
    kept = np.cumsum(level_hits(intervals, levels, method, sharers).hits)
    written_back = tuple(((intervals.accesses - kept) / profile.accesses).tolist())
    traffic_bytes = served.traffic_bytes + written_back[-1] * profile.line_bytes
    return served._replace(traffic_bytes=traffic_bytes, written_back=written_back)


def served_by_distances(
    distances: Sequence[tuple[FloatOrArray, FloatOrArray]],
    moved_bytes: int,
    levels: Sequence[CacheGeometry],
    method: str,
    sharers: Sequence[FloatOrArray] = (),
) -> Served:
    """Apply the stack model to pairs of a fraction of the accesses and its stack distance: numbers or arrays.

    The rest of 1 is served by memory. A miss moves ``moved_bytes``. ``sharers``: how many equal streams share each
    level, numbers or arrays; without them, one.
    """
    shares: list[FloatOrArray] = []
    before: list[FloatOrArray] = [0.0] * len(distances)  # probability of each distance to hit one of the levels so far
    for number, level in enumerate(levels):
        hit: FloatOrArray = 0.0
        for place, (share, distance) in enumerate(distances):
            own = np.floor(distance)
            there = shared_distance(own, sharers[number]) if sharers else own
            farther = np.maximum(before[place], hit_probability(there, level, method))
            hit = hit + share * (farther - before[place])
            before[place] = farther
        shares.append(hit)
    memory = np.maximum(1.0 - sum(shares, start=np.zeros(())), 0.0)  # rounding
    return Served((*shares, memory), memory * moved_bytes, tuple(method_for(level, method) for level in levels))


def served_in_sets(trace: Trace, levels: Sequence[CacheGeometry], warmup: Trace | None = None) -> Served:
    """Run every access of a trace in a hierarchy of LRU caches (non-inclusive, write-back, write-allocate).

    ``warmup`` goes first and is not counted. Lines written back are traffic as well. InputError without
    levels.
    """
    from simcodesign.locality.hierarchy.counts import NON_INCLUSIVE, Policy
    from simcodesign.locality.hierarchy.simulate import simulator_of

    caches = simulator_of(levels, Policy(NON_INCLUSIVE, True))
    for chunk in () if warmup is None else warmup.by_line(levels[0].line_bytes):
        caches.run(chunk)
    before = caches.counts()
    for chunk in trace.by_line(levels[0].line_bytes):
        caches.run(chunk)
    after = caches.counts()
    accesses = after.levels[0].accesses - before.levels[0].accesses
    hits = np.subtract(after.hits, before.hits)
    lines = (
        after.memory_reads_lines + after.memory_writes_lines - before.memory_reads_lines - before.memory_writes_lines
    )
    shares = (*(hits / accesses).tolist(), float(accesses - hits.sum()) / accesses)
    pairs = zip(after.levels, before.levels, strict=True)
    written_back = tuple((level.writebacks - earlier.writebacks) / accesses for level, earlier in pairs)
    stores = after.levels[0].accesses_by_kind.stores - before.levels[0].accesses_by_kind.stores
    traffic_bytes, methods = lines * levels[0].line_bytes / accesses, (SETS,) * len(levels)
    return Served(shares, traffic_bytes, methods, written_back, 1 - stores / accesses)


class Stream(NamedTuple):
    """A trace, and the addresses that it stays within: the first, and the end of the last.

    ``warmup`` goes before it and is not counted.
    """

    trace: Trace
    span: tuple[int, int]
    warmup: Trace | None = None


def served_together(
    streams: Sequence[Stream], levels: Sequence[CacheGeometry], caches: NDArray[np.int64], prefetched: int
) -> list[Served]:
    """Serve several streams that alternate access by access (``hierarchy.shared``).

    Some of the streams share caches: ``caches`` (levels, streams) numbers the cache of each at each level.
    ``prefetched``: streams of lines that the prefetcher of each processor recognises; 0 without one.
    """
    from simcodesign.locality.hierarchy.shared import SharedHierarchy

    hierarchy = SharedHierarchy(levels, caches, prefetched, [stream.span for stream in streams])
    warmups = [stream.warmup for stream in streams if stream.warmup is not None]
    if warmups:
        hierarchy.run(warmups)
    before = hierarchy.counts()
    hierarchy.run([stream.trace for stream in streams])
    served = []
    for after, earlier in zip(hierarchy.counts(), before, strict=True):
        count = after.since(earlier)
        passed = np.append(count.accesses, count.misses) / count.accesses
        shares = (*(passed[:-1] - passed[1:]).tolist(), float(passed[-1]))
        lines, methods = int(count.misses[-1]) + count.back, (SETS,) * len(levels)
        traffic_bytes = lines * levels[0].line_bytes / count.accesses
        written = tuple((count.written / count.accesses).tolist())
        fetched = count.prefetched / count.accesses
        served.append(Served(shares, traffic_bytes, methods, written, 1 - count.stores / count.accesses, fetched))
    return served
