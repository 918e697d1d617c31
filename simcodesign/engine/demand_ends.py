"""How much later the run is with each demand of the program than with those before it alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simcodesign.engine.event_contract import Log
from simcodesign.generate.plan import DemandOrder, Plan

Floats = NDArray[np.float64]
#: Ends of demands in ranks that are looked at together.
ENDS_AT_ONCE = 2**20


def added_by_demand_s(plan: Plan, log: Log, order: DemandOrder) -> Floats:
    """(D,) seconds by demand; they add up to the makespan.

    Each time that a demand is done, its part is from the moment at which all ranks have ended everything before it in
    the program to the moment at which they have ended it, too: nothing where some rank ends something before it later.
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
