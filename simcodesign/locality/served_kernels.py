"""Where the accesses of kernels are served, from their own streams: by stack distances, or in the sets of caches.

Results are kept, because the same kernel with the same sizes recurs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from simcodesign.core.errors import CapacityError
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hits_by_level import Served, Stream, served_by_profile, served_in_sets, served_together
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import stack_profile

#: Accesses of a kernel that are looked at, a second or two of work.
MOST_ACCESSES = 100_000_000
#: Sizes of a kernel by name.
Sizes = tuple[tuple[str, float | str], ...]
#: The cache of each rank at every level; and the accesses of each rank by serving level.
Numbers = tuple[tuple[int, ...], ...]
Outcomes = tuple[tuple[float, Served], ...]


def _trace_of(name: str, sizes: Sizes) -> Any:
    """Return the stream of a kernel, a KernelTrace, whose module takes long to import.

    CapacityError for one that is too long to be looked at.
    """
    from simcodesign.locality.streams.kernels import kernel_trace

    trace = kernel_trace(name, **dict(sizes))
    if trace.accesses > MOST_ACCESSES:
        what = f"the stream of {trace.name} has {trace.accesses:.3g} accesses, too many to look at each"
        allowed = f"up to {MOST_ACCESSES:.3g}; or stack_distance, with a formula that holds for smaller sizes"
        raise CapacityError(what, allowed=allowed)
    return trace


@lru_cache(maxsize=256)
def kernel_by_distances(
    name: str,
    sizes: Sizes,
    line_bytes: int,
    levels: tuple[CacheGeometry, ...],
    method: str,
    writebacks: bool,
    sharers: tuple[float, ...],
    streams: int,
) -> tuple[float, Served]:
    """Return accesses of a kernel, and the levels that serve them, by its stack distances.

    ``sharers``: ranks at each cache; ``streams``: streams of the prefetcher.
    """
    trace = _trace_of(name, sizes)
    profile, intervals, loads = _profiles_of_kernel(name, sizes, line_bytes, writebacks)
    served = served_by_profile(profile, levels, method, intervals, sharers)
    if streams:
        each = sharers or (1.0,) * len(levels)
        lines = max(int(level.lines // count) for level, count in zip(levels, each, strict=True))
        fetched = served.shares[-1] * _sequential_share(name, sizes, line_bytes, lines, streams)
        served = served._replace(prefetched=fetched)
    return float(trace.accesses), served._replace(loads=loads)


@lru_cache(maxsize=256)
def kernel_in_sets(name: str, sizes: Sizes, levels: tuple[CacheGeometry, ...]) -> tuple[float, Served]:
    """Serve a kernel likewise, from its stream in the sets of caches that it has for itself."""
    trace = _trace_of(name, sizes)
    return float(trace.accesses), served_in_sets(trace, levels)


@lru_cache(maxsize=256)
def kernels_in_sets(
    name: str, sizes: tuple[Sizes, ...], levels: tuple[CacheGeometry, ...], caches: Numbers, streams: int
) -> Outcomes:
    """Serve kernels of ranks with shared caches, in the order of their turns."""
    traces = [_trace_of(name, one) for one in sizes]
    served = served_together([Stream(trace, trace.span) for trace in traces], levels, np.array(caches), streams)
    return tuple((float(trace.accesses), one) for trace, one in zip(traces, served, strict=True))


@lru_cache(maxsize=64)
def _sequential_share(name: str, sizes: Sizes, line_bytes: int, lines: int, streams: int) -> float:
    """Return the fraction of the lines from memory that a prefetcher with ``streams`` entries fetches ahead.

    If caches hold ``lines`` lines.
    """
    from simcodesign.locality.hierarchy.prefetch import sequential_share

    return sequential_share(_trace_of(name, sizes), line_bytes, lines, streams)


@lru_cache(maxsize=64)
def _profiles_of_kernel(
    name: str, sizes: Sizes, line_bytes: int, writebacks: bool
) -> tuple[StackDistanceProfile, StackDistanceProfile | None, float]:
    """Return the stack distances of a kernel, which are the same for all caches.

    Also return the distances of its dirty intervals if ``writebacks``, and the fraction of loads.
    """
    trace = _trace_of(name, sizes)
    loads = 1 - trace.stores / trace.accesses
    if not writebacks:
        return stack_profile(trace, line_bytes), None, loads
    from simcodesign.locality.stack.writebacks import profiles_with_writebacks

    return *profiles_with_writebacks(trace, line_bytes), loads
