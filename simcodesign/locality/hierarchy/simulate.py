"""A hierarchy of set-associative caches, driven by a trace: what hits where, and what goes to memory and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from simcodesign.core.errors import CapacityError, InputError
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.counts import NON_INCLUSIVE, HierarchyCounts, Policy
from simcodesign.locality.traces.trace import Accesses, Trace, as_trace

#: Levels that a hierarchy may have.
MOST_LEVELS = 16


class Simulator(Protocol):
    """A hierarchy that continues from one chunk of a trace to the next."""

    def run(self, chunk: Accesses) -> None:
        """Perform the accesses one after another. Accesses without kinds are loads."""

    def counts(self) -> HierarchyCounts:
        """Return the counts since the hierarchy was empty."""


def simulate_hierarchy(
    trace: Trace | Any,
    geometries: Sequence[CacheGeometry],
    *,
    inclusion: str = NON_INCLUSIVE,
    write_allocate: bool = True,
) -> HierarchyCounts:
    """Count the hits of a hierarchy of true LRU, write-back caches that is empty at first.

    ``geometries`` from level 1 outward.

    ``trace`` is a Trace or an array of addresses in bytes; accesses without kinds are loads. All levels have lines of
    the same size; if the trace has sizes, an access across lines is one to each of them. It goes level by level outward
    until one holds its line, where the line becomes the most recently used of its set. A modify is a load and a store
    of one line and one access: its line is fetched as for a load and is dirty then. An instruction fetch counts as a
    load does.

    Lines in several levels, by ``inclusion``:

    - ``non_inclusive``: the line is put into every level that missed, the outermost first. What one level evicts stays
      in the others.
    - ``inclusive``: the same, but a line that a level evicts leaves all levels before it as well (``removals``).
      Where their copy was dirty, its data goes out with the victim: each level whose copy was dirty counts a
      write-back, and the level that evicts one.
    - ``exclusive``: a line is in one level only. It enters level 1, from memory or from the level that held it
      (``removals`` there; still dirty if it was); the line evicted for it moves, clean or dirty, to the next level as
      its most recently used line, and so on; the last level's victim goes to memory if it is dirty.

    Stores mark the line in level 1 as dirty, and only there (write-back). With ``write_allocate`` a store that misses
    fetches the line as a load does. Without, it continues to the next level as a store until one holds the line, makes
    it dirty there and brings it nowhere; if none does, it is one single store to memory. A modify always fetches.

    A dirty line that is evicted is written back (``writebacks`` of the level): to the next level outward that holds
    it, which has a dirty line then, or to memory. That is no access of that level, does not change its order of use
    and allocates nothing; so hits do not depend on what is dirty. Dirty lines left at the end are not written back;
    they are counted apart (``dirty_lines``).

    Memory is needed only for the geometries, so that a trace may be of any length. Some 200 million accesses
    a second are simulated if most hit (50 to 250 million if inclusive, exclusive or of more than 16 ways), 20 million
    if all miss three large levels.

    Raises InputError for no levels, lines of several sizes, an unknown ``inclusion`` and a trace that cannot be read;
    CapacityError for caches too large for this machine.
    """
    simulator = simulator_of(geometries, Policy(inclusion, write_allocate))
    for chunk in as_trace(trace).by_line(geometries[0].line_bytes):
        simulator.run(chunk)
    return simulator.counts()


def lru_hits(trace: Trace | Any, lines: int, line_bytes: int = 64) -> tuple[int, int]:
    """Hits and misses of one fully associative LRU cache of ``lines`` lines: hits have a stack distance below that."""
    if not isinstance(lines, int) or lines < 1:
        raise InputError("a cache needs a whole number of lines", value=lines, allowed="1 or more")
    cache = CacheGeometry(lines * line_bytes, line_bytes)
    from simcodesign.locality.hierarchy.engine import LruEngine

    with _enough_memory([cache]):
        engine = LruEngine(cache)
    for chunk in as_trace(trace).by_line(line_bytes):
        engine.run(chunk)
    return engine.accesses - engine.misses, engine.misses


def simulator_of(geometries: Sequence[CacheGeometry], policy: Policy) -> Simulator:
    """Return an empty hierarchy. Errors as ``simulate_hierarchy``."""
    levels = tuple(geometries)
    if not 0 < len(levels) <= MOST_LEVELS:
        raise InputError(
            "a cache hierarchy has a wrong number of levels", value=len(levels), allowed=f"1 to {MOST_LEVELS}"
        )
    sizes = [level.line_bytes for level in levels]
    if len(set(sizes)) > 1:
        what = "the levels of a cache hierarchy have different line_bytes"
        raise InputError(what, value=sizes, allowed="one size for all")
    from simcodesign.locality.hierarchy.engine import HierarchyEngine

    with _enough_memory(levels):
        return HierarchyEngine(levels, policy)


@contextmanager
def _enough_memory(levels: Sequence[CacheGeometry]) -> Iterator[None]:
    """CapacityError where the lines of these caches do not fit in memory."""
    try:
        yield
    except MemoryError:
        lines = [level.lines for level in levels]
        raise CapacityError("the levels of a cache hierarchy have too many lines for memory", value=lines) from None
