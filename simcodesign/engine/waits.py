"""When operations of a run were their rank's turn, and how long it waited in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.engine.event_contract import Log, dependencies_of_run
from simcodesign.generate.plan import Plan

Floats = NDArray[np.float64]


def released_s(plan: Plan, log: Log) -> Floats | None:
    """When each operation's last dependency, other than program order, was resolved.

    If operations are posted together, also when its processor finished the previous one. None if there are none.
    """
    dependencies = dependencies_of_run(plan, log)
    if dependencies is None and plan.loggops is None:
        return None
    released = np.zeros(len(plan)) if plan.loggops is None else _done_before_s(plan, log)
    if dependencies is not None:
        source, target, early = dependencies
        np.maximum.at(released, target, np.where(early, begin_s(plan, log)[source], log.finish_s[source]))
    return released


def _done_before_s(plan: Plan, log: Log) -> Floats:
    """(N,) when the operation of the same processor was done that was done last before each."""
    if plan.station is None:  # nothing is done
        return np.zeros(len(plan))
    order = np.lexsort((log.finish_s, plan.station))
    same = plan.station[order[1:]] == plan.station[order[:-1]]
    before = np.zeros(len(plan))
    before[order[1:][same]] = log.finish_s[order[:-1][same]]
    return before


def begin_s(plan: Plan, log: Log) -> Floats:
    """When operations began."""
    return log.finish_s - plan.duration_s if log.begin_s is None else log.begin_s


def ready_s(plan: Plan, log: Log, released: Floats | None, part: slice) -> Floats:
    """Return when it was each operation's turn.

    When the previous operation of its rank and its other dependencies were done.
    """
    ready = np.zeros(part.stop - part.start)
    begin = max(part.start, 1)  # nothing is before the very first
    before, follows = log.finish_s[begin - 1 : part.stop - 1], plan.follows_previous[begin : part.stop]
    np.copyto(ready[begin - part.start :], before, where=follows)
    return ready if released is None else np.maximum(ready, released[part])


def waited_s(plan: Plan, log: Log, ready: Floats, part: slice) -> Floats:
    """How long each operation's rank waited for a message or a turn at a station."""
    finish = log.finish_s[part]
    waited = finish - ready
    waited -= plan.duration_s[part]
    waited[waited <= 4 * np.spacing(finish)] = 0.0  # no more than the rounding of ready + duration
    return waited
