"""Kernels that run slower while messages of their rank are in flight, before any engine runs.

Each rank is laid out on a clock of its own, without waiting for other ranks and without queues. The clock begins again
whenever nothing else runs concurrently. Messages of a chain follow each other, each for the time that it takes
alone, but those that are received right after others were sent pass at the same time as these. A kernel loses the
fraction of its rate while at least one message is in flight on this clock. A later kernel begins later by that, so that
the layout is repeated until it stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import HELD, KERNEL, RECEIVE, SEND
from simcodesign.generate.passes.draft import Draft
from simcodesign.generate.plan import NONE, Floats, Int64s

#: Columns of a region, an operation of a rank in each row.
_COLUMNS = ("kind", "duration_s", "sent_s", "flight_s", "back", "awaits")
Intervals = list[tuple[float, float]]


def slow_kernels(draft: Draft) -> None:
    """Lengthen the kernels during which messages of their rank are in flight, by ``accelerator.interference``."""
    accelerator = draft.builder.design_point.machine.accelerator
    if accelerator is None or not accelerator.interference or "back" not in draft.fields:
        return
    columns = _columns(draft)
    duration_s = draft.own("duration_s")
    known: dict[bytes, Floats] = {}
    for region in _regions(draft):
        rows = [columns[name][region] for name in _COLUMNS]
        if not np.any(rows[0] == KERNEL) or not np.any((rows[0] == SEND) | (rows[0] == RECEIVE)):
            continue
        key = b"".join(row.tobytes() for row in rows)
        if key not in known:
            known[key] = _Region(*(row.tolist() for row in rows)).slowed_s(accelerator.interference)
        duration_s[region] = known[key]


def _columns(draft: Draft) -> dict[str, NDArray[Any]]:
    """Return every column by name.

    ``sent_s`` and ``flight_s`` of a receive are of the message that it takes, 0 if that is not known before the
    simulation.
    """
    fields = draft.fields
    sent_s = np.where(draft.kind == SEND, draft.duration_s, 0.0)
    flight_s = sent_s.copy()
    if "flight_s" in fields:
        flight_s = np.where(draft.kind == SEND, np.maximum(sent_s, fields["flight_s"]), 0.0)
    receives = np.flatnonzero((draft.kind == RECEIVE) & (draft.match != NONE))
    for times_s in (sent_s, flight_s):
        times_s[receives] = times_s[draft.match[receives]]
    if "spread_s" in fields:  # in LogGOPS the time of a receive has it
        flight_s += fields["spread_s"] * (draft.kind == SEND)
    return {name: fields[name] for name in ("kind", "duration_s", "back", "awaits")} | {
        "sent_s": sent_s,
        "flight_s": flight_s,
    }


def _regions(draft: Draft) -> list[slice]:
    """Return the stretches of ranks in which several operations may continue at the same time.

    A region begins with a start, and ends with the last wait.
    """
    number, first = np.arange(len(draft)), draft.segment.first
    spans = np.zeros(len(draft) + 1, np.int64)
    for name, at_least in (("back", 2), ("awaits", 1)):
        ends = np.flatnonzero(draft.fields[name] >= at_least)
        spanned = np.maximum(ends - draft.fields[name][ends] + 1, first[draft.rank[ends]])
        np.add.at(spans, spanned + 1, 1)
        np.add.at(spans, ends + 1, -1)
    goes_on = np.cumsum(spans)[: len(draft)] > 0
    begins: Int64s = number[~goes_on]
    ends = np.append(begins[1:], len(draft))
    wide = ends - begins > 1
    return [slice(int(begin), int(end)) for begin, end in zip(begins[wide], ends[wide], strict=True)]


@dataclass(frozen=True)
class _Region:
    """The operations of a region, in lists; times in seconds. ``back`` and ``awaits``: as in ``operation_columns``."""

    kind: list[int]
    duration_s: list[float]
    sent_s: list[float]
    flight_s: list[float]
    back: list[int]
    awaits: list[int]

    def slowed_s(self, fraction: float) -> Floats:
        """Return the durations with interference. Each repetition settles at least the next kernel."""
        kernels = [op for op, kind in enumerate(self.kind) if kind == KERNEL]
        lasts_s = list(self.duration_s)
        for _ in range(len(kernels) + 1):
            begin_s, in_flight = self._laid_out(lasts_s)
            slowed = [_slowed_s(begin_s[op], self.duration_s[op], in_flight, fraction) for op in kernels]
            if slowed == [lasts_s[op] for op in kernels]:
                break
            for op, time_s in zip(kernels, slowed, strict=True):
                lasts_s[op] = time_s
        return np.array(lasts_s)

    def _laid_out(self, lasts_s: list[float]) -> tuple[list[float], Intervals]:
        """When each operation begins, and when messages are in flight, in disjoint intervals."""
        begin_s, end_s = [0.0] * len(lasts_s), [0.0] * len(lasts_s)
        runs: dict[int, _Run] = {}
        in_flight: Intervals = []
        for op, kind in enumerate(self.kind):
            before, awaited = op - self.back[op], op - self.awaits[op]
            begin_s[op] = end_s[before] if before >= 0 else 0.0
            if self.awaits[op] and awaited >= 0:
                begin_s[op] = max(begin_s[op], end_s[awaited])
            if kind not in (SEND, RECEIVE, HELD):
                end_s[op] = begin_s[op] + lasts_s[op]
                continue
            run = runs.get(before, _Run(begin_s[op]))
            if self.awaits[op] or (kind == SEND and run.received_s):
                run = _Run(begin_s[op])
            runs[op], arrives_s = run.after(kind, self.sent_s[op], self.flight_s[op], lasts_s[op])
            end_s[op] = runs[op].end_s
            in_flight.append((begin_s[op], max(end_s[op], arrives_s)))
        return begin_s, _disjoint(in_flight)


@dataclass(frozen=True)
class _Run:
    """Messages that a chain sends from ``since_s`` on, and then receives: how long it has done so by now."""

    since_s: float
    sending_s: float = 0.0
    receiving_s: float = 0.0
    received_s: float = 0.0

    def after(self, kind: int, sent_s: float, flight_s: float, lasts_s: float) -> tuple[_Run, float]:
        """Return the run with one more message, and when that has arrived. A receive ``lasts_s`` after that."""
        if kind == SEND:
            return replace(self, sending_s=self.sending_s + sent_s), self.end_s + flight_s
        if kind == RECEIVE:
            received_s = max(self.sending_s, self.received_s, self.receiving_s + flight_s) + lasts_s
            run = replace(self, receiving_s=self.receiving_s + sent_s, received_s=received_s)
            return run, run.end_s
        return self, self.end_s

    @property
    def end_s(self) -> float:
        """When the chain is done with its messages so far."""
        return self.since_s + max(self.sending_s, self.received_s)


def _disjoint(intervals: Intervals) -> Intervals:
    """Unite those that overlap, in ascending order, without empty ones."""
    united: Intervals = []
    for begin_s, end_s in sorted(one for one in intervals if one[1] > one[0]):
        if united and begin_s <= united[-1][1]:
            united[-1] = united[-1][0], max(united[-1][1], end_s)
        else:
            united.append((begin_s, end_s))
    return united


def _slowed_s(begin_s: float, alone_s: float, in_flight: Intervals, fraction: float) -> float:
    """Return how long a kernel takes that begins at ``begin_s`` and loses the fraction of its rate during messages."""
    lost_s = 0.0
    for since_s, until_s in in_flight:
        before_s = max(since_s - begin_s, 0.0)
        if before_s >= alone_s + lost_s:
            break
        remaining_s = alone_s + lost_s - before_s
        lost_s += fraction * min(remaining_s / (1 - fraction), max(until_s - begin_s - before_s, 0.0))
    return alone_s + lost_s
