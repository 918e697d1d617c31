"""Exact stack and reuse distances of address traces, of single accesses and counted.

The conventions are defined in ``trace``: a key is ``address >> log2(line_bytes)``. A stack distance is the number of
distinct other keys accessed strictly between two uses of a key (Mattson et al. 1970), a reuse distance the number of
accesses; both are 0 if a key is touched twice in succession, and -1 (``COLD``) at first touches, which profiles count
apart. All accesses that a trace has are counted, whatever their kind.

Traces are read in chunks, once: what is kept is at most 100 bytes for each distinct key, and the wanted output. Tens
of millions of accesses a second are counted; of loops whose turns repeat their distances, only turns that differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.locality.profile import COLD, StackDistanceProfile
from simcodesign.locality.traces.trace import Accesses, Addresses, Trace, as_trace, line_shift

if TYPE_CHECKING:
    import pandas as pd

#: Distances that occurred, ascending, how often each did, and first touches.
Histogram: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], int]
#: Rows of a tally that are added up together, unless what is added up already is more.
_ROWS = 1 << 22


class Meter(Protocol):
    """Measures distances chunk by chunk."""

    def measure(self, address: Addresses) -> NDArray[np.int64]:
        """Return the stack distances of these addresses, the next of a trace."""


class Counter(Meter, Protocol):
    """Counts stack distances chunk by chunk."""

    @property
    def cold(self) -> int:
        """Return the number of first touches."""

    @property
    def histogram(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distances that occurred, and how often each did."""

    def add(self, address: Addresses) -> None:
        """Count the next addresses of a trace."""


def stack_counter(line_bytes: int = 64) -> Counter:
    """Return a counter of stack distances for keys of this size."""
    from simcodesign.locality.stack.engine import StackCounter

    return StackCounter(line_shift(line_bytes))


def reuse_meter(line_bytes: int = 64) -> Meter:
    """Return a meter of reuse distances for keys of this size."""
    from simcodesign.locality.stack.reuse import ReuseMeter

    return ReuseMeter(line_shift(line_bytes))


def stack_distances(trace: Trace | Any, line_bytes: int = 64) -> NDArray[np.int64]:
    """Stack distance of each of the n accesses of a trace or array of addresses, int64 (n,), -1 for first touches."""
    return _measured(stack_counter(line_bytes), as_trace(trace), line_bytes)


def reuse_distances(trace: Trace | Any, line_bytes: int = 64) -> NDArray[np.int64]:
    """Reuse distance of each of the n accesses of a trace or array of addresses, int64 (n,), -1 for first touches."""
    return _measured(reuse_meter(line_bytes), as_trace(trace), line_bytes)


def stack_profile(trace: Trace | Any, line_bytes: int = 64) -> StackDistanceProfile:
    """How often each stack distance occurs in a trace or array of addresses."""
    source, counter = as_trace(trace), stack_counter(line_bytes)
    parts = source.repeated(line_bytes)
    if parts is None:
        distance, count, cold = _counted(counter, source.by_line(line_bytes))
    else:
        one, two, three = (_counted(counter, part) for part in parts[:3])
        distance = three[0]  # every distance that has occurred so far
        count = three[1] + parts.more * (_at(distance, *two[:2]) - _at(distance, *one[:2]))
        cold = three[2] + parts.more * (two[2] - one[2])
    return StackDistanceProfile(distance, count.astype(np.float64), float(cold), line_bytes)


def _counted(counter: Counter, chunks: Iterable[Accesses]) -> Histogram:
    """Distances, how often each occurred, and first touches, of all that was counted up to the end of these chunks."""
    for chunk in chunks:
        counter.add(chunk.address)
    return *counter.histogram, counter.cold


def _at(distance: NDArray[np.int64], some: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each distance occurred, where only ``some`` of them did."""
    every = np.zeros(len(distance), np.int64)
    every[np.searchsorted(distance, some)] = count
    return every


def reuse_profile(trace: Trace | Any, line_bytes: int = 64) -> StackDistanceProfile:
    """How often each reuse distance occurs in a trace or array of addresses."""
    meter, tally = reuse_meter(line_bytes), _Tally()
    for chunk in as_trace(trace).by_line(line_bytes):
        tally.add(np.zeros(len(chunk), np.uint64), meter.measure(chunk.address))
    return tally.profiles(line_bytes)[0]


def group_profiles(trace: Trace | Any, line_bytes: int = 64) -> dict[int, StackDistanceProfile]:
    """How often each stack distance occurs at each instruction, by its address, ascending.

    Distances are within the whole trace; added up, the profiles equal the profile of the trace. InputError for a trace
    that does not say which instruction issued an access.
    """
    source = as_trace(trace)
    counter, tally = stack_counter(line_bytes), _Tally()
    for chunk in source.by_line(line_bytes):
        if chunk.group is None:
            allowed = "a trace with addresses of instructions, such as valgrind's lackey writes"
            raise InputError("the trace has no instruction groups", Place(source.name), allowed=allowed)
        tally.add(chunk.group, counter.measure(chunk.address))
    return tally.profiles(line_bytes)


def _measured(meter: Meter, trace: Trace, line_bytes: int) -> NDArray[np.int64]:
    parts = [meter.measure(chunk.address) for chunk in trace.by_line(line_bytes)]
    return np.concatenate([*parts, np.empty(0, np.int64)])


class _Tally:
    """Counts of distances in groups. Most groups have few distances, so that pairs are kept instead of a table."""

    def __init__(self) -> None:
        self._parts: list[pd.DataFrame] = []

    def add(self, group: Addresses, distance: NDArray[np.int64]) -> None:
        """Count distances of accesses of groups, both (n,)."""
        import pandas as pd

        self._parts.append(_summed(pd.DataFrame({"group": group, "distance": distance, "count": 1})))
        if sum(map(len, self._parts[1:])) > max(_ROWS, len(self._parts[0])):
            self._parts = [_summed(pd.concat(self._parts))]

    def profiles(self, line_bytes: int) -> dict[int, StackDistanceProfile]:
        """Return the profile of each group."""
        import pandas as pd

        rows = _summed(pd.concat(self._parts)).sort_values(["group", "distance"])
        columns = (rows["group"].to_numpy(), rows["distance"].to_numpy(), rows["count"].to_numpy(np.float64))
        groups, first = np.unique(columns[0], return_index=True)
        bounds = [*first.tolist(), len(rows)]
        profiles = {}
        for group, start, end in zip(groups.tolist(), bounds, bounds[1:], strict=False):
            distance, count = columns[1][start:end], columns[2][start:end]
            warm = int(distance[0] == COLD)
            cold = float(count[0]) if warm else 0.0
            profiles[group] = StackDistanceProfile(distance[warm:], count[warm:], cold, line_bytes)
        return profiles


def _summed(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.groupby(["group", "distance"], sort=False, as_index=False).sum()
