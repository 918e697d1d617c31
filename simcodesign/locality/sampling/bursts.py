"""Stack distances sampled in bursts, per instruction, as for the requirements paper.

Calotoiu et al., "Lightweight requirements engineering for exascale co-design", CLUSTER 2018, sampled memory accesses in
bursts, left out groups of instructions with fewer than 100 samples, and took medians.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.to_json import attributes_of
from simcodesign.locality.profile import COLD, StackDistanceProfile
from simcodesign.locality.stack.distances import stack_distances
from simcodesign.locality.traces.trace import Accesses, Trace, as_trace, at_least, line_shift

#: Samples that a group needs, as in the paper.
LEAST_SAMPLES = 100
#: Accesses from one burst to the next, at most.
MOST_APART = 2**62
#: Rows of (group, distance, count) that are kept before equal ones are added up.
_ROWS = 1 << 20
_BURST, _KEY, _GROUP, _DISTANCE, _COUNT = "burst", "key", "group", "distance", "count"


@dataclass(frozen=True, eq=False)
class BurstProfiles:
    """Profiles of the accesses inside bursts, by the address of their instruction (0 where the trace has none).

    A distance is known where both uses of a key are in the same burst, and it is exact there. An access whose earlier
    use is outside its burst, or nowhere, counts as ``cold``: its distance is not a sample. So distances never exceed
    the keys of one burst; where ``outside`` is large, the median is too low and bursts should be longer.
    """

    groups: dict[int, StackDistanceProfile]  # those with enough samples, by ascending address
    dropped: dict[int, int]  # samples of those with fewer
    program: StackDistanceProfile  # of all groups that were kept
    bursts: int
    first_access: int  # where in each stretch of ``every_accesses`` the burst begins

    @property
    def medians(self) -> dict[int, float]:
        """Median distance of each group, over its samples."""
        return {group: profile.median for group, profile in self.groups.items()}

    @property
    def median(self) -> float:
        """Median distance over the samples of all groups that were kept; NaN without any."""
        return self.program.median

    @property
    def outside(self) -> dict[int, float]:
        """Share of the accesses of each group whose earlier use is not in the same burst."""
        return {group: profile.cold / profile.accesses for group, profile in self.groups.items()}

    def json_fields(self) -> dict[str, Any]:
        """How much was looked at, and left out."""
        dropped = {"dropped_groups": len(self.dropped), "dropped_samples": sum(self.dropped.values())}
        return attributes_of(self, "bursts", "first_access", accesses="program.accesses") | dropped


def burst_profiles(
    trace: Trace | ArrayLike,
    line_bytes: int,
    burst_accesses: int,
    every_accesses: int,
    seed: int,
    least_samples: int = LEAST_SAMPLES,
) -> BurstProfiles:
    """Profiles from bursts of ``burst_accesses`` in a row, one in every ``every_accesses``.

    The first access of the bursts is drawn once, evenly from 0 to ``every_accesses`` - 1, by a generator of this seed,
    so that every access is in a burst with the same probability; the first and the last burst may be cut off by the
    ends of the trace. Groups with fewer than ``least_samples`` distances are dropped and listed. Reads the trace once;
    memory for a chunk, a burst and the profiles.

    InputError for bursts that are longer than the stretch that holds one, and for a trace so short that none is in it.
    """
    source, every = as_trace(trace), at_least("accesses from burst to burst", every_accesses, 1)
    burst, least = (
        at_least("accesses of a burst", burst_accesses, 2),
        at_least("samples of a group", least_samples, 0),
    )
    line_shift(line_bytes)
    if burst > every:
        what = "a burst has more accesses than lie between the beginnings of two bursts"
        raise InputError(what, value=burst, allowed=f"at most {every}")
    if every > MOST_APART:
        raise InputError("bursts are too far apart", value=every, allowed=f"up to {MOST_APART:,} accesses")
    first = int(np.random.default_rng(at_least("seed of bursts", seed, 0)).integers(every))
    tally, bursts = _Tally(), 0
    for table in _whole_bursts(source, line_bytes, burst, every, first):
        bursts += table[_BURST].nunique()
        tally.add(table[_GROUP].to_numpy(), _distances(table))
    if not bursts:
        what = f"the trace ends before its first burst, which begins at access {first}"
        raise InputError(what, value=source.name, allowed="a longer trace, or fewer accesses from burst to burst")
    kept, dropped = {}, {}
    for group, profile in tally.profiles(line_bytes):
        if profile.reuses >= least:
            kept[group] = profile
        else:
            dropped[group] = int(profile.reuses)
    nothing = StackDistanceProfile.from_distances(np.zeros(0, np.int64), line_bytes)
    return BurstProfiles(kept, dropped, StackDistanceProfile.merged([nothing, *kept.values()]), bursts, first)


def _whole_bursts(trace: Trace, line_bytes: int, burst: int, every: int, first: int) -> Iterator[pd.DataFrame]:
    """Yield the accesses in bursts, several bursts at a time and each of them whole."""
    shift, start = np.uint64(line_shift(line_bytes)), 0
    kept = None
    for chunk in trace.by_line(line_bytes):
        number, place = np.divmod(np.arange(start, start + len(chunk)) - first, every)
        table = _table(chunk, number, place < burst, shift)
        table = table if kept is None else pd.concat([kept, table], ignore_index=True)
        # The burst that the chunk ends in may continue in the next one.
        open_one = table[_BURST].to_numpy() == number[-1] if place[-1] < burst - 1 else np.zeros(len(table), bool)
        kept, start = table[open_one], start + len(chunk)
        if not open_one.all():
            yield table[~open_one]
    if kept is not None and len(kept):
        yield kept


def _table(chunk: Accesses, number: NDArray[np.int64], inside: NDArray[np.bool_], shift: np.uint64) -> pd.DataFrame:
    group = np.zeros(len(chunk), np.uint64) if chunk.group is None else chunk.group
    return pd.DataFrame(
        {_BURST: number[inside], _KEY: chunk.address[inside] >> shift, _GROUP: group[inside]}, copy=False
    )


def _distances(table: pd.DataFrame) -> NDArray[np.int64]:
    """Stack distances inside each burst, computed together: the same key in another burst is another key."""
    key, keys = pd.factorize(table[_KEY].to_numpy())
    burst, _ = pd.factorize(table[_BURST].to_numpy())
    own: NDArray[np.int64] = burst.astype(np.int64) * len(keys) + key
    return stack_distances(own, 1)


class _Tally:
    """How often each distance occurs in each group."""

    def __init__(self) -> None:
        self.rows: list[pd.DataFrame] = []
        self.size, self.limit = 0, _ROWS

    def add(self, group: NDArray[np.uint64], distance: NDArray[np.int64]) -> None:
        table = pd.DataFrame({_GROUP: group, _DISTANCE: distance, _COUNT: np.ones(len(group))}, copy=False)
        self.rows.append(_summed(table))
        self.size += len(self.rows[-1])
        if self.size > self.limit:
            self.rows = [self.sum()]
            self.size = len(self.rows[0])
            self.limit = max(_ROWS, 2 * self.size)  # so that adding up takes time in proportion to what is added

    def sum(self) -> pd.DataFrame:
        return _summed(pd.concat(self.rows, ignore_index=True))

    def profiles(self, line_bytes: int) -> Iterator[tuple[int, StackDistanceProfile]]:
        """Each group with its profile, by ascending address."""
        rows = self.sum()
        group, distance, count = (rows[name].to_numpy() for name in (_GROUP, _DISTANCE, _COUNT))
        starts = np.flatnonzero(np.append(True, group[1:] != group[:-1])) if len(group) else group
        for start, end in pairwise([*starts.tolist(), len(group)]):
            first = start + int(distance[start] == COLD)  # the rows of a group ascend
            cold = float(count[start:first].sum())
            profile = StackDistanceProfile.from_counts(distance[first:end], count[first:end], cold, line_bytes)
            yield int(group[start]), profile


def _summed(table: pd.DataFrame) -> pd.DataFrame:
    """Equal pairs of group and distance added, in ascending order."""
    return table.groupby([_GROUP, _DISTANCE])[[_COUNT]].sum().reset_index()
