"""A prefetcher that recognises sequential streams of lines: which lines it fetches ahead of their processor.

It has a table of streams, of each the line that came last. A line that follows the last one of a stream, upwards or
downwards, belongs to it and was fetched ahead; any other begins a stream, which replaces the least recently seen one.
So n alternating streams are fetched ahead with n entries, and with fewer none is: each has lost its
entry when its next line comes. The prefetchers of Intel's cores do so for up to 32 streams, upwards or downwards, one
in a page (Intel 64 and IA-32 Architectures Optimization Reference Manual, on the streamer of the second-level cache).
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from simcodesign.core.native.records import Record
from simcodesign.core.native.shared_library import required_library
from simcodesign.locality.stack.distances import stack_counter
from simcodesign.locality.traces.trace import Trace, line_shift

#: The line of a stream that has not begun: next to none.
NO_LINE = -(2**62)


class Prefetcher(Record):
    """Tables of streams, one for each processor; ``shared_caches.c`` has the loops."""

    struct = "prefetcher"
    use = "a prefetcher"


def prefetcher_for(processors: int, streams: int) -> Prefetcher:
    """Return tables in which no stream has begun."""
    last = np.full((processors, streams), NO_LINE, np.int64)
    return Prefetcher(last=last, since=np.zeros((processors, streams), np.int64), streams=streams)


def sequential_share(trace: Trace, line_bytes: int, lines: int, streams: int) -> float:
    """Return the fraction of the lines from memory that a prefetcher fetches ahead.

    With ``streams`` entries, if accesses with a stack distance below ``lines`` find theirs in a cache. 0 if none comes.
    """
    counter, prefetcher = stack_counter(line_bytes), prefetcher_for(1, streams)
    missed = ahead = 0
    for chunk in trace.by_line(line_bytes):
        distance = counter.measure(chunk.address)
        address = np.ascontiguousarray(chunk.address[(distance < 0) | (distance >= lines)])
        ahead += _functions().follow_streams(prefetcher, address, len(address), line_shift(line_bytes), missed)
        missed += len(address)
    return ahead / missed if missed else 0.0


@cache
def _functions() -> ctypes.CDLL:
    library = required_library("a prefetcher")
    addresses, number = np.ctypeslib.ndpointer(np.uint64, flags="C"), ctypes.c_int64
    library.follow_streams.argtypes = [ctypes.POINTER(Prefetcher), addresses, number, number, number]
    library.follow_streams.restype = number
    return library
