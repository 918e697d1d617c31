"""Counters from the log of a run, as a processor, its caches and a communication profiler would have counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import COMPUTE, MEMORY, RECEIVE, SEND
from simcodesign.core.simulation_parts import RANK_COUNTERS, RankCounters
from simcodesign.engine.event_contract import Log
from simcodesign.engine.waits import ready_s, released_s, waited_s
from simcodesign.generate.plan import Accounts, Plan

Floats = NDArray[np.float64]


def counted(plan: Plan, log: Log, accounts: Accounts, ranks_at_once: int) -> RankCounters:
    """Return the counters of a run. ``ranks_at_once`` are looked at together, which needs memory."""
    values = np.zeros((len(RANK_COUNTERS), plan.ranks, len(plan.phases)))
    for name, counts in accounts.tally.items():
        values[RANK_COUNTERS.index(name)] = counts
    released = released_s(plan, log)
    for low in range(0, plan.ranks, ranks_at_once):
        ranks = slice(low, min(low + ranks_at_once, plan.ranks))
        for name, sums in _sums(plan, log, accounts, released, ranks).items():
            values[RANK_COUNTERS.index(name), ranks] = sums
    if np.isnan(accounts.clock_hz) and accounts.op_clock_hz is None:
        for name in ("instructions", "cycles", "stall_cycles"):
            values[RANK_COUNTERS.index(name)] = np.nan
    values.flags.writeable = False
    return RankCounters(plan.phases, values, accounts.frequency_hz, accounts.clock_hz)


def _sums(plan: Plan, log: Log, accounts: Accounts, released: Floats | None, ranks: slice) -> dict[str, Floats]:
    """Sum the counters of a slice of ranks over their operations, (ranks, phases) by counter."""
    part = slice(int(plan.first[ranks.start]), int(plan.first[ranks.stop]))
    ready, kind = ready_s(plan, log, released, part), plan.kind[part]
    spent_s = log.finish_s[part] - ready
    # Without the rounding of clock readings, which grows with the time of day.
    stalled_s = plan.duration_s[part] + waited_s(plan, log, ready, part)
    clock_hz = accounts.clock_hz if accounts.op_clock_hz is None else accounts.op_clock_hz[part]
    passed, sends = (kind == SEND) | (kind == RECEIVE), kind == SEND
    together = np.zeros(len(kind), bool) if accounts.collective is None else accounts.collective[part] == 1
    width = len(plan.phases)
    cell = (plan.rank[part] - ranks.start) * width + plan.phase[part]

    def total(which: NDArray[np.bool_], amount: Floats | float) -> Floats:
        weights = np.broadcast_to(amount, kind.shape)[which]
        sums = np.bincount(cell[which], weights, (ranks.stop - ranks.start) * width)
        return np.asarray(sums.reshape(-1, width), dtype=np.float64)

    stalls = total(kind == MEMORY, stalled_s * clock_hz)
    return {
        "time_s": total(np.ones(len(kind), bool), spent_s),
        "cycles": total(kind == COMPUTE, plan.duration_s[part] * clock_hz) + stalls,
        "stall_cycles": stalls,
        "p2p_wait_s": total(passed & ~together, spent_s),
        "collective_wait_s": total(passed & together, spent_s),
        "messages": total(sends & ~together, 1.0 if plan.train is None else plan.train[part]),
        "message_bytes": total(sends & ~together, plan.size_bytes[part]),
    }
