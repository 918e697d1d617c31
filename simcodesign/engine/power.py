"""The energy of a run and its power over time, computed from its log.

An operation draws power while it takes its own time, not while it waits. In LogGOPS, a receive takes its time when a
processor works on its message, which may be before the receive is posted, and a send takes its time before its
message is received. The energy is the exact sum over all operations; the power over time is a sweep over the moments
at which it changes. What bytes take is spread over their send; of a send that takes no time it is in the energy alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.core.simulation_parts import PowerProfile
from simcodesign.engine.event_contract import Log
from simcodesign.engine.waits import begin_s, ready_s, released_s, waited_s
from simcodesign.generate.plan import NONE, Plan, Powers

Floats = NDArray[np.float64]
#: Moments nearer to each other than this fraction of the run are one: clock readings are rounded.
SAME = 1e-12


@dataclass(frozen=True)
class PowerAndEnergy:
    """The energy of a run and its power over time."""

    energy_j: float
    profile: PowerProfile


def power_and_energy(plan: Plan, log: Log, powers: Powers, static_w: float) -> PowerAndEnergy:
    """Power and energy of a run, on a machine that draws ``static_w`` watts all the time."""
    end_s = float(log.finish_s.max()) if len(plan) else 0.0
    ops = np.flatnonzero(powers.row != NONE)
    by_byte_j = _by_byte_j(plan, powers, ops)
    since, until = _at_work_s(plan, log)
    duration_s = plan.duration_s
    if log.taken_s is not None:  # with links, less for a receive whose last byte was near when it was taken up
        duration_s = np.where(plan.kind == RECEIVE, until - since, duration_s)
    copies = plan.copies
    times = np.ones(len(ops)) if copies is None else copies[ops].astype(float)
    by_byte_j = by_byte_j * times
    busy_j = float((duration_s[ops] * times) @ _mean_w(powers)[powers.row[ops]])
    energy_j = static_w * end_s + busy_j + float(by_byte_j.sum())
    lasts = duration_s[ops] > 0
    ops = ops[lasts]
    by_byte_w = by_byte_j[lasts] / duration_s[ops]
    spans = _spans(since, until, powers, ops, by_byte_w, times[lasts])
    return PowerAndEnergy(energy_j, _swept(*spans, static_w, end_s))


def _mean_w(powers: Powers) -> Floats:
    """(K,) watts of each row, averaged over an operation."""
    row = np.repeat(np.arange(len(powers.per_byte_j)), np.diff(powers.start))
    return np.asarray(
        np.bincount(row, powers.watts * (powers.until - powers.since), minlength=len(powers.per_byte_j)), dtype=float
    )


def _by_byte_j(plan: Plan, powers: Powers, ops: NDArray[np.int64]) -> Floats:
    """Return the energy for the bytes of sends."""
    per_byte = powers.per_byte_j[powers.row[ops]]
    return np.where(per_byte > 0, per_byte * plan.size_bytes[ops], 0.0)  # a receive may not know its bytes


def _at_work_s(plan: Plan, log: Log) -> tuple[Floats, Floats]:
    """(N,) between when and when an operation takes its own time."""
    if log.taken_s is not None and log.processed_s is not None:
        begun_s = begin_s(plan, log)
        kinds = [plan.kind == RECEIVE, plan.kind == SEND]
        since = np.select(kinds, [log.taken_s[log.match], begun_s], log.finish_s - plan.duration_s)
        return since, np.select(kinds, [log.processed_s[log.match], begun_s + plan.duration_s], log.finish_s)
    every = slice(0, len(plan))
    ready = ready_s(plan, log, released_s(plan, log), every)
    waited = waited_s(plan, log, ready, every) > 0
    return np.where(waited, log.finish_s - plan.duration_s, ready), log.finish_s


def _spans(
    since_s: Floats, until_s: Floats, powers: Powers, ops: NDArray[np.int64], by_byte_w: Floats, times: Floats
) -> tuple[Floats, Floats, Floats]:
    """Begin, end and watts of all pieces of these operations, each of which is done ``times`` times."""
    begin, finish = since_s[ops], until_s[ops]
    rows = powers.row[ops]
    count = powers.start[rows + 1] - powers.start[rows]
    op = np.repeat(np.arange(len(ops)), count)
    piece = np.arange(len(op)) - np.repeat(np.cumsum(count) - count, count) + powers.start[rows][op]
    lasts = finish - begin
    since = begin[op] + powers.since[piece] * lasts[op]
    until = np.where(powers.until[piece] >= 1.0, finish[op], begin[op] + powers.until[piece] * lasts[op])
    sent = np.flatnonzero(by_byte_w > 0)
    return (
        np.concatenate([since, begin[sent]]),
        np.concatenate([until, finish[sent]]),
        np.concatenate([powers.watts[piece] * times[op], by_byte_w[sent]]),
    )


def _swept(since: Floats, until: Floats, watts: Floats, static_w: float, end_s: float) -> PowerProfile:
    """Return the sum of spans over time."""
    if end_s <= 0:
        return PowerProfile(np.zeros(1), np.zeros(0))
    moment = np.concatenate([[0.0, end_s], since, until])
    order = np.argsort(moment, kind="stable")
    inside = moment[order]
    group = np.concatenate([[0], np.cumsum(np.diff(inside) > SAME * end_s)])
    first = np.flatnonzero(np.diff(group, prepend=-1))
    change = np.concatenate([[static_w, 0.0], watts, -watts])[order]
    level = np.cumsum(np.bincount(group, change))
    edges = inside[first]
    edges[0] = 0.0
    edges[-1] = end_s
    # The level that remains after all spans is rounding.
    level = np.where(np.abs(level - static_w) <= SAME * max(float(level.max()), static_w), static_w, level)
    changed = np.concatenate([[True], np.diff(level[:-1]) != 0])
    return PowerProfile(np.append(edges[:-1][changed], end_s), level[:-1][changed])
