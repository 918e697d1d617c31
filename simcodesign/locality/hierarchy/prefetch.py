"""A prefetcher that recognises sequential streams of lines, compiled: which lines it fetches ahead of their processor.

It has a table of streams, of each the line that came last. A line that follows the last one of a stream, upwards or
downwards, belongs to it and was fetched ahead; any other begins a stream, in place of the one that was not seen for the
longest time. So n streams that come in turn are fetched ahead with n entries, and with fewer none is: each has lost its
entry when its next line comes. The prefetchers of Intel's cores do so for up to 32 streams, upwards or downwards, one
in a page (Intel 64 and IA-32 Architectures Optimization Reference Manual, on the streamer of the second-level cache).
"""

from __future__ import annotations

import numpy as np

from simcodesign.core.jit import compiled_without_arrays, inlined
from simcodesign.locality.hierarchy.sets import NONE, Array, key_of
from simcodesign.locality.stack.distances import stack_counter
from simcodesign.locality.traces.trace import Trace, line_shift

#: The line of a stream that has not begun: next to none.
NO_LINE = -(2**62)


def empty_tables(processors: int, streams: int) -> Array:
    """(processors, 2, streams): the last line of every stream, and when it came."""
    tables = np.zeros((processors, 2, streams), np.int64)
    tables[:, 0] = NO_LINE
    return tables


@inlined
def fetched_ahead(tables: Array, processor: int, key: int, now: int) -> bool:
    """Whether a line that comes from memory was fetched ahead; it is the last of its stream from ``now`` on. Where two
    streams are next to it, it belongs to the one that was seen last."""
    found, oldest = NONE, 0
    for stream in range(tables.shape[2]):
        last, since = tables[processor, 0, stream], tables[processor, 1, stream]
        if (last == key - 1 or last == key + 1) and (found == NONE or since > tables[processor, 1, found]):
            found = stream
        if since < tables[processor, 1, oldest]:
            oldest = stream
    here = oldest if found == NONE else found
    tables[processor, 0, here], tables[processor, 1, here] = key, now
    return bool(found != NONE)


def sequential_share(trace: Trace, line_bytes: int, lines: int, streams: int) -> float:
    """The share of the lines that come from memory which a prefetcher of so many streams fetches ahead, where accesses
    with a stack distance below ``lines`` find theirs in a cache. 0 where none comes."""
    counter, tables, counts = stack_counter(line_bytes), empty_tables(1, streams), np.zeros(3, np.int64)
    for chunk in trace.by_line(line_bytes):
        distance = counter.measure(chunk.address)
        missed = chunk.address[(distance < 0) | (distance >= lines)]
        _follow(np.ascontiguousarray(missed), line_shift(line_bytes), tables, counts)
    return float(counts[1] / counts[0]) if counts[0] else 0.0


@compiled_without_arrays
def _follow(address: Array, shift: int, tables: Array, counts: Array) -> None:
    """Lines that come from memory in turn: how many so far, and how many of them were fetched ahead."""
    for n in range(len(address)):
        counts[0] += 1
        counts[1] += fetched_ahead(tables, 0, key_of(address, n, shift), counts[0])
