"""The pipelined time of a program in LogGOPS, if it is exact.

Two kinds of programs have one: those whose operations all ranks do alike at the same time (``pace``), and a row of one
operation that has a form for it, with own work before and after the row, but not in it.
"""

from __future__ import annotations

import functools

from simcodesign.analytic.pipelining.pace import Pace, repeated
from simcodesign.analytic.pipelining.sequences import Chain, Parts, Repeated
from simcodesign.analytic.pipelining.succession import ROUNDING, Operation
from simcodesign.core.forecast_parts import Pipelined, SequenceTime

WHY_NOT = "LogGOPS, whose gaps between messages last from one operation into the next"


def pipelined_with_gaps(chain: Chain, sum_s: float) -> Pipelined:
    """Return the time of a program whose sum of closed forms is ``sum_s``, or for what there is none."""
    parts = chain.head
    closed_s, time_s = sum(part.time_s for part in parts), _time_s(parts)
    if time_s is None:
        return Pipelined(None, reason=f"{WHY_NOT}: {', '.join(_unknown(parts)) or 'gaps that continue to change'}")
    if abs(time_s - closed_s) <= ROUNDING * closed_s:
        return Pipelined(sum_s)
    words = ", ".join(part.words for part in parts)
    phase = next(parts[0].operations).phase
    return Pipelined(sum_s + (time_s - closed_s), (SequenceTime(phase, words, 1.0, closed_s, time_s),))


def _time_s(parts: Parts) -> float | None:
    """Seconds from when all ranks begin; None if that is not known."""
    after = _after(parts, Pace())
    if after is not None:
        return after.now_s
    messages = [part for part in parts if not all(operation.is_work for operation in part.operations)]
    if len(messages) != 1 or messages[0].single is None:
        return None
    (row,) = messages
    row_s = row.single.row_with_gaps_s(row.times) if row.single and row.single.row_with_gaps_s else None
    return None if row_s is None else row_s + sum(part.time_s for part in parts if part is not row)


def _after(parts: Parts, pace: Pace) -> Pace | None:
    """Clock of every rank after operations that all do alike."""
    for part in parts:
        after = repeated(functools.partial(_after_each, part.body), part.times, pace)
        if after is None:
            return None
        pace = after
    return pace


def _after_each(body: tuple[Operation | Repeated, ...], pace: Pace) -> Pace | None:
    for part in body:
        if isinstance(part, Repeated):
            after = _after((part,), pace)
        else:
            after = None if part.carry is None else part.carry(pace)
        if after is None:
            return None
        pace = after
    return pace


def _unknown(parts: Parts) -> list[str]:
    """Operations that the ranks do not do alike, each once."""
    labels = (operation.label for part in parts for operation in part.operations if operation.carry is None)
    return list(dict.fromkeys(labels))
