"""Whom the stations of a simulation served, and when: what the tracks of a timeline show of links, disks and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StationTrack:
    """The services of one station, arrays of one length, in the order in which they began (see ``Services``)."""

    name: str
    kind: str
    op: Int64s
    requested_s: Floats
    begin_s: Floats
    end_s: Floats

    def queue(self) -> tuple[Floats, Int64s]:
        """When the number of those that wait there changes, and how many wait from then on."""
        waits = self.begin_s > self.requested_s
        times = np.concatenate([self.requested_s[waits], self.begin_s[waits]])
        steps = np.repeat([1, -1], np.count_nonzero(waits))
        moments, place = np.unique(times, return_inverse=True)
        return moments, np.cumsum(np.bincount(place, steps, minlength=len(moments))).astype(np.int64)

    def lanes(self) -> Int64s:
        """For each service the first of lanes 0, 1, ... that is free when it begins: none overlap in one."""
        lanes, free, busy = np.zeros(len(self.op), np.int64), list[int](), list[tuple[float, int]]()
        for place, (begin_s, end_s) in enumerate(zip(self.begin_s.tolist(), self.end_s.tolist(), strict=True)):
            while busy and busy[0][0] <= begin_s:
                heappush(free, heappop(busy)[1])
            lanes[place] = heappop(free) if free else len(busy)
            heappush(busy, (end_s, int(lanes[place])))
        return lanes


@dataclass(frozen=True, eq=False)
class Services:
    """M services of stations, arrays of one length, in the order of stations and then of their begin.

    ``station``: the number of its name and kind; ``op``: the row of the timeline that it served, numbers above all
    rows are of messages of other jobs. It was requested at ``requested_s``, waited until ``begin_s``, and was
    served until ``end_s``. A message that passes in packets has a service for each of them. A station that messages
    share fairly serves several at a time, and no request waits there.
    """

    station: NDArray[np.int32]
    op: Int64s
    requested_s: Floats
    begin_s: Floats
    end_s: Floats
    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, float, float, float]]) -> Services:
        """Make services of rows in any order, with the numbers that stations have in the Plan; without names."""
        columns = list(zip(*rows, strict=True)) or [(), (), (), (), ()]
        types = (np.int32, np.int64, np.float64, np.float64, np.float64)
        station, op, requested_s, begin_s, end_s = (
            np.array(column, kind) for column, kind in zip(columns, types, strict=True)
        )
        order = np.lexsort((op, begin_s, station))
        return cls(station[order], op[order], requested_s[order], begin_s[order], end_s[order])

    def __len__(self) -> int:
        return len(self.station)

    def named(self, name: Callable[[int], str], kind: Callable[[int], str]) -> Services:
        """With the names and kinds of the stations, and these as the numbers."""
        numbers, station = np.unique(self.station, return_inverse=True)
        names, kinds = (tuple(of(number) for number in numbers.tolist()) for of in (name, kind))
        return replace(self, station=station.astype(np.int32), names=names, kinds=kinds)

    def at_times(self, changed: Callable[[Floats], Floats]) -> Services:
        """Return these services with other times."""
        requested_s, begin_s, end_s = (changed(times_s) for times_s in (self.requested_s, self.begin_s, self.end_s))
        return replace(self, requested_s=requested_s, begin_s=begin_s, end_s=end_s)

    def tracks(self) -> Iterator[StationTrack]:
        """Yield the services of each station that served any."""
        ends = np.cumsum(np.bincount(self.station, minlength=len(self.names))).tolist()
        for number, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
            requested_s, begin_s, end_s = (times[begin:end] for times in (self.requested_s, self.begin_s, self.end_s))
            yield StationTrack(self.names[number], self.kinds[number], self.op[begin:end], requested_s, begin_s, end_s)
