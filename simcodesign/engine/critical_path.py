"""Critical path of a run, which determines its makespan, and how much each demand of the program adds to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS, RECEIVE
from simcodesign.engine.event_contract import Log, dependencies_of_run
from simcodesign.engine.waits import begin_s
from simcodesign.generate.plan import NONE, DemandOrder, Plan

Floats = NDArray[np.float64]
#: Ends of demands in ranks that are looked at together.
ENDS_AT_ONCE = 2**20


def critical_path_s(plan: Plan, log: Log) -> NDArray[np.float64]:
    """Seconds by phase and component (phases, components) along the critical path; they add up to the makespan.

    The path begins at the operation that is done last (the first of them). From an operation it goes back to the last
    thing that it waited for: the operation before it in its rank, one that it depends on, or the send of its message;
    the time between the start of a send and the arrival is communication. Waiting for a disk is disk time.
    """
    times = np.zeros((len(plan.phases), len(COMPONENTS)))
    for op, took_s in _steps_back(plan, log):
        times[plan.phase[op], COMPONENT_OF_KIND[plan.kind[op]]] += took_s
    return times


def _steps_back(plan: Plan, log: Log) -> Iterator[tuple[int, float]]:
    """Yield the operations of the critical path, the last first, and what each adds to the makespan."""
    if not len(plan):
        return
    waited_for = Dependencies(plan, log)
    op = int(np.argmax(log.finish_s))
    until = float(log.finish_s[op])
    while op != NONE:
        before, ready = waited_for.last_before(op)
        send = int(log.match[op]) if plan.kind[op] == RECEIVE else NONE
        if send != NONE and log.arrival_s[send] > ready:
            before, ready = send, float(log.arrival_s[send])
        yield op, until - ready
        op, until = before, ready


class Dependencies:
    """Events that operations wait for in addition to messages."""

    def __init__(self, plan: Plan, log: Log) -> None:
        self._chained, self._finish = plan.follows_previous, log.finish_s
        self._edges = dependencies_of_run(plan, log)
        if self._edges is not None:
            self._source, target, self._early = self._edges
            self._begin = begin_s(plan, log)
            self._order = np.argsort(target, kind="stable")
            self._start = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=len(plan)))])

    def last_before(self, op: int) -> tuple[int, float]:
        """Return the operation that let this one go, and when; NONE and 0 if it waited for nothing."""
        latest = (op - 1, float(self._finish[op - 1])) if self._chained[op] else (NONE, 0.0)
        if self._edges is None:
            return latest
        for edge in self._order[self._start[op] : self._start[op + 1]].tolist():
            source = int(self._source[edge])
            time = float((self._begin if self._early[edge] else self._finish)[source])
            if time > latest[1] or latest[0] == NONE:
                latest = source, time
        return latest


def added_by_demand_s(plan: Plan, log: Log, order: DemandOrder) -> Floats:
    """(D,) seconds by demand; they add up to the makespan.

    Each time that a demand is done, its part is from the moment at which all ranks have ended everything before it in
    the program to the moment at which they have ended it, too: nothing if some rank ends something before it later.
    """
    added = np.zeros(order.demands)
    until = 0.0
    for turns, last_end_s in _last_ends(plan, log, order):
        ends = np.maximum.accumulate(np.concatenate([[until], last_end_s]))
        added += np.bincount(order.demand[turns], weights=np.diff(ends), minlength=len(added))
        until = float(ends[-1])
    return added


def _last_ends(plan: Plan, log: Log, order: DemandOrder) -> Iterator[tuple[NDArray[np.int32], Floats]]:
    """Demands in the order of the program, and for each of them when the last rank that has a part in it ends it."""
    done = plan.first[:-1]
    width = max(ENDS_AT_ONCE // max(plan.ranks, 1), 1)
    for low in range(0, len(order.turns), width):
        turns = order.turns[low : low + width]
        counts = np.stack([np.broadcast_to(order.counts[turn], plan.ranks) for turn in turns.tolist()])
        end = done + np.cumsum(counts, axis=0)
        done = end[-1]
        if len(plan):
            yield turns, np.where(counts > 0, log.finish_s[np.maximum(end - 1, 0)], 0.0).max(axis=1)
