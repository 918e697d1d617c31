"""When all further iterations of a loop repeat exactly: what must be equal, and how that is found in two runs.

A simulation is deterministic: what follows an instant t is a function of the state at t. The state is: which operation
each rank has come to; of everything under way (operations in progress or waiting for a station, messages, stations in
service) when its next event comes, or since when it waits; which messages have arrived and are
not yet received, in which order. Absolute times and numbers of iterations are no part of it: events add durations to
times and compare times, and of requests of one instant the one of the lower rank, then of the earlier operation comes
first.

*Theorem.* Let all ranks be in the loop at t and at t + T, each of them m iterations further at t + T. Let the two
states be equal when times are counted from t and from t + T, and operations of the loop m iterations back. Then the
state at t + jT is again the same, jm iterations further, as long as there are iterations left. So in runs with jm
iterations more, all that comes after t comes jT later, to the end of the program, and whatever is counted in a period
is counted j times more. Proof: until the first rank leaves the loop, runs do the same however many iterations they
have; from equal states with equally many iterations ahead, the same follows.

*What is compared.* A run with n iterations and one with n + m. The log of a run has the end of every operation, the
arrival of every message, and what met in mailboxes. The state at t follows from these if nothing that is under way at t
is older than what is compared. Let the window be the last half of the iterations of every rank, three at least. Then
there must be a t in the shorter run at which

1. all ranks are in the window: their operations before it are done, their last one in the loop is not;
2. messages that were sent before the window have arrived;
3. no message is on its way through links or interfaces, since the log does not tell how far it has come; unless no
   message ever waits for these, so that its start tells it;

and all ends and arrivals, from the window on and of what it waits for, must be T later in the longer run, with the same
messages met. All ranks must have operations in the loop. Two times differ by T to the last bit, since sums are exact
(``quantum``), unless the user allows a tolerance.

*What is not enough.* Equal times of iterations, or of the ends of ranks: behind a barrier they hide a rank that is
about to catch up; before a receive that comes late, messages that arrive a little later each time; and at any time a
message from before the loop that is still on its way. The parts of the makespan repeat only if the critical path does.
It may come from another rank in each iteration; the period then is a multiple of that of the times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.core.result import Result
from simcodesign.engine.critical_path import steps_back
from simcodesign.engine.event_contract import ON_ROUTES, Log, dependencies_of_run
from simcodesign.engine.steady.loops import Loop, LoopOperations, operations_of
from simcodesign.generate.plan import NONE, Plan

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
#: Least number of iterations in a row that must repeat.
TIMES = 3


@dataclass(frozen=True)
class Run:
    """A simulation: what was to be done, what happened and what came of it."""

    plan: Plan
    log: Log
    result: Result

    @property
    def makespan_s(self) -> float:
        """Of the Result."""
        return float(self.result.makespan_s)

    @cached_property
    def begin_s(self) -> Floats:
        """(N,) when operations began to take their time."""
        return np.asarray(self.log.finish_s - self.plan.duration_s)

    @cached_property
    def critical_path(self) -> Int64s:
        """The operations of the critical path, the last first."""
        return np.array([op for op, _ in steps_back(self.plan, self.log)], dtype=np.int64)

    def operations_of(self, loop: Loop, count: int) -> LoopOperations:
        """Where the loop stands, with ``count`` iterations."""
        assert self.plan.demands is not None
        return operations_of(self.plan, self.plan.demands, loop, count)


class Window:
    """The last iterations of a loop in a run, and all that comes after them. Times may differ by ``tolerance`` of what
    the iterations that a longer run has more take."""

    def __init__(self, run: Run, loop: Loop, count: int, tolerance: float) -> None:
        self._run, self._loop, self._tolerance = run, loop, tolerance
        self._ops = run.operations_of(loop, count)
        self._keep = max(TIMES, count // 2)
        self._begin = self._ops.at(count - self._keep)
        self._is_older = np.arange(len(run.plan)) < self._begin[run.plan.rank]

    def period(self) -> int:
        """After how many iterations they seem to repeat; 0 if they do not."""
        if not self._ops.width.all():
            return 0
        ends = self._run.log.finish_s[self._ops.at(0) + self._ops.width * (np.arange(self._ops.count)[:, None] + 1) - 1]
        last = ends[-self._keep :]
        for period in range(1, self._ops.count // 4 + 1):
            longer = last[period:] - last[:-period]
            if np.ptp(longer) <= self._tolerance * longer.max():
                return self._period_of_path(period)
        return 0

    def _period_of_path(self, period: int) -> int:
        """The least multiple of the period after which the critical path comes to the same operation again, in the
        window; 0 if it does not."""
        path = self._run.critical_path
        rank = self._run.plan.rank[path]
        inside = (path >= self._begin[rank]) & (path < self._ops.end[rank])
        path, rank = path[inside], rank[inside]
        iteration, place = np.divmod(path - self._ops.begin[rank], self._ops.width[rank])
        came_to: dict[tuple[int, int, int], int] = {}
        found = []
        for key in zip(rank.tolist(), place.tolist(), (iteration % period).tolist(), iteration.tolist(), strict=True):
            if came_to.get(key[:3], key[3]) > key[3]:
                found.append(came_to[key[:3]] - key[3])
            came_to[key[:3]] = key[3]
        return min(found, default=0)

    def repeats_in(self, longer: Run) -> bool:
        """Whether all that is under way at some instant of the window is so in the longer run, only later."""
        return self._has_common_instant(longer) and self._is_later_in(longer)

    def _has_common_instant(self, longer: Run) -> bool:
        """Whether nothing from before the window is under way at an instant at which all ranks are in it, and no
        message either."""
        run = self._run
        since_s, until_s = self._older_until_s(), float(run.log.finish_s[self._ops.end - 1].min())
        routes, stations = run.plan.routes, run.plan.stations
        if routes is None or not longer.log.wait_s[np.isin(stations.kind, ON_ROUTES)].any():
            return since_s < until_s
        sent = np.flatnonzero((routes.route != NONE) & ~self._is_older)
        sent = sent[np.argsort(run.begin_s[sent], kind="stable")]
        free_from = np.maximum.accumulate(np.concatenate([[since_s], run.log.arrival_s[sent]]))
        free_until = np.concatenate([run.begin_s[sent], [until_s]])
        return bool((free_from < np.minimum(free_until, until_s)).any())

    def _older_until_s(self) -> float:
        """When operations before the window are done and their messages have arrived."""
        run, plan = self._run, self._run.plan
        sends = self._is_older & (plan.kind == SEND)
        times = [run.log.finish_s[self._is_older], run.log.arrival_s[sends]]
        return float(np.concatenate(times).max(initial=0.0))

    def _is_later_in(self, longer: Run) -> bool:
        """Whether all ends and arrivals, from the window on and of what it waits for, are later by the same time in the
        longer run, with the same messages met."""
        plan, log = self._run.plan, self._run.log
        number = np.arange(len(plan))
        before_loop = number < self._ops.begin[plan.rank]
        by_begin, by_end = longer.plan.first[:-1] - plan.first[:-1], longer.plan.first[1:] - plan.first[1:]
        moved = number + np.where(before_loop, by_begin[plan.rank], by_end[plan.rank])
        receives = np.flatnonzero(~self._is_older & (plan.kind == RECEIVE))
        met = log.match[receives]
        if (longer.log.match[moved[receives]] != moved[met]).any():
            return False
        if plan.mailbox is not None and (before_loop[met] & (plan.mailbox[met] != NONE)).any():
            return False  # it may be behind others in its mailbox at first, and later before them
        compared = ~self._is_older
        compared[self._begin - 1] = compared[met] = compared[self._waited_for()] = True
        ends = np.flatnonzero(compared & ~before_loop)
        sends = ends[plan.kind[ends] == SEND]
        later = np.concatenate(
            [
                longer.log.finish_s[moved[ends]] - log.finish_s[ends],
                longer.log.arrival_s[moved[sends]] - log.arrival_s[sends],
            ]
        )
        return bool(np.ptp(later) <= self._tolerance * later.max())

    def _waited_for(self) -> Int64s:
        """What operations from the window on wait for besides messages and those before them."""
        dependencies = dependencies_of_run(self._run.plan, self._run.log)
        if dependencies is None:
            return np.zeros(0, np.int64)
        source, target, _ = dependencies
        return np.asarray(source[~self._is_older[target]])
