"""Critical path of a run through the queues of its stations: from a waiting message to the message that is served."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np

from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.engine.critical_path import Dependencies
from simcodesign.engine.event_contract import Log
from simcodesign.engine.queues.visits import StationVisits
from simcodesign.generate.plan import NONE, Plan


@dataclass(frozen=True)
class PathSegment:
    """A part of the critical path, from ``from_s`` to ``to_s``.

    Operation ``op`` is at work, or, with a ``station``, its message travels to it or is served there (``op`` is the
    send).
    """

    op: int
    station: int
    from_s: float
    to_s: float


def path_through_queues(plan: Plan, log: Log, visits: StationVisits) -> list[PathSegment]:
    """Return the critical path from time 0 on, without gaps: its segments add up to the makespan.

    It is followed backwards from the operation that is done last, as ``critical_path`` does. A message is followed
    along its route to the last station that held it up. If it waited there, the path continues with the message that
    the station served until then, since that one would have had to be quicker; otherwise with the station before.
    """
    segments = list(_Walk(plan, log, visits).back())
    return segments[::-1]


class _Walk:
    """The way back; ``until_s`` is the time that has been explained from the end on."""

    def __init__(self, plan: Plan, log: Log, visits: StationVisits) -> None:
        self.plan, self.log, self.visits = plan, log, visits
        self.waited_for = Dependencies(plan, log)
        self.until_s = float(log.finish_s.max()) if len(plan) else 0.0
        self.by_end = np.lexsort((visits.end_s, visits.station))
        self.station_by_end = visits.station[self.by_end]

    def back(self) -> Iterator[PathSegment]:
        """Yield the segments, the last first, without segments of zero length."""
        if not len(self.plan):
            return
        op = int(np.argmax(self.log.finish_s))
        while op != NONE:
            before, ready_s = self.waited_for.last_before(op)
            send = int(self.log.match[op]) if self.plan.kind[op] == RECEIVE else NONE
            if send != NONE and self.log.arrival_s[send] > ready_s:
                yield from self.segment(op, NONE, float(self.log.arrival_s[send]))
                op = yield from self.message(send)
            elif (holder := self.holder_of(op)) != NONE:
                visit = int(self.visits.start[op])
                yield from self.segment(op, int(self.visits.station[visit]), float(self.visits.grant_s[visit]))
                op = int(self.visits.op[holder])
            else:
                yield from self.segment(op, NONE, ready_s)
                op = before

    def segment(self, op: int, station: int, from_s: float) -> Iterator[PathSegment]:
        """Yield the segment that explains the time from ``from_s`` on."""
        if from_s < self.until_s:
            yield PathSegment(op, station, from_s, self.until_s)
            self.until_s = from_s

    def holder_of(self, op: int) -> int:
        """Return the visit that an operation waited for which itself queues at a station, as for a disk.

        Otherwise NONE.
        """
        queues = self.plan.station is not None and self.plan.station[op] != NONE
        return self.holder(int(self.visits.start[op])) if queues else NONE

    def message(self, send: int) -> Generator[PathSegment, None, int]:
        """From the arrival of a message back to the send that was not held up by a queue: the value."""
        visit = self.holding(send)
        while visit != NONE:
            station = int(self.visits.station[visit])
            send = int(self.visits.op[visit])
            yield from self.segment(send, station, float(self.visits.grant_s[visit]))
            holder = self.holder(visit)
            if holder != NONE:
                visit = holder
            elif visit > self.visits.start[send]:
                visit -= 1
            else:
                visit = NONE
        return send

    def holding(self, send: int) -> int:
        """Return the first station of the route that held up the last byte as long as any.

        Delays of flight apart, its service ended last.
        """
        first, end = int(self.visits.start[send]), int(self.visits.start[send + 1])
        if first == end:
            return NONE
        late_s = self.visits.end_s[first:end] - self.delays_s(first, end)
        return first + int(np.argmax(late_s >= late_s.max() - 1e-12 * self.until_s))

    def delays_s(self, first: int, end: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return times of flight from the first station to each: a head that never waits arrives that much later."""
        flight_s = self.visits.arrival_s[first + 1 : end] - self.visits.grant_s[first : end - 1]
        return np.concatenate([[0.0], np.cumsum(flight_s)])

    def holder(self, visit: int) -> int:
        """Return the visit whose end let this one begin, or NONE if it did not wait."""
        grant_s = self.visits.grant_s[visit]
        if self.visits.arrival_s[visit] >= grant_s:
            return NONE
        station = self.visits.station[visit]
        low, high = np.searchsorted(self.station_by_end, (station, station + 1))
        ends = self.by_end[low:high]
        place = int(np.searchsorted(self.visits.end_s[ends], grant_s, side="right")) - 1
        candidates = [int(one) for one in ends[: place + 1][::-1] if one != visit]
        return candidates[0] if candidates else NONE
