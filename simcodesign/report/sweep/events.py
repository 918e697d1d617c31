"""How far a sweep is: its counts, its bar, and a JSON object for each event, for scripts."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from simcodesign.core.to_json import attributes_of, fields_of, to_json
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import write
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.run import SweepOutcome


class SweepProgress:
    """Points that are stored, how fast this run stores them, and how long it will take. Times in seconds."""

    def __init__(self, stored: int, count: int, failed: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.stored, self.count, self.failed, self.new = stored, count, failed, 0
        self._clock, self._began_s = clock, clock()
        self._first, self._first_s = 0, self._began_s

    def add(self, rows: Sequence[PointResult]) -> None:
        """So many more are stored."""
        self.stored += len(rows)
        self.new += len(rows)
        self.failed += sum(row.failed for row in rows)
        if not self._first:
            self._first, self._first_s = self.new, self._clock()

    @property
    def elapsed_s(self) -> float:
        """Since the start."""
        return self._clock() - self._began_s

    @property
    def rate_per_s(self) -> float:
        """Return points per second of this run, NaN before there are any.

        Since the first were stored, for the start of processes should not count.
        """
        new, since_s = self.new - self._first, self._clock() - self._first_s
        if not new:
            new, since_s = self.new, self.elapsed_s
        return new / since_s if new and since_s > 0 else math.nan

    @property
    def left_s(self) -> float:
        """Until all are stored, NaN while the rate is not known."""
        return (self.count - self.stored) / self.rate_per_s

    def text(self) -> str:
        """Points done, rate, time left, failures; what is not known yet is left out."""
        parts = [f"{self.stored:,} of {self.count:,} points"]
        if math.isfinite(self.rate_per_s):
            parts += [f"{_number(self.rate_per_s)}/s", f"{duration(self.left_s)} left"]
        return ", ".join([*parts, *([f"{self.failed:,} failed"] if self.failed else [])])


class SweepBar(ProgressBar):
    """The bar of a sweep, called with rows that are stored."""

    def __init__(self, progress: SweepProgress, **options: Any) -> None:
        super().__init__("sweeping", total=progress.count, completed=progress.stored, note=progress.text(), **options)
        self._counts = progress

    def __call__(self, rows: Sequence[PointResult]) -> None:
        self._counts.add(rows)
        self.update(completed=self._counts.stored, note=self._counts.text())


class SweepEvents:
    """A context manager that writes JSON lines to standard output.

    ``start``, ``failed`` (a point), ``progress``, and in the end ``done`` (all points are stored), ``stopped`` (on a
    signal) or ``error``.
    """

    def __init__(self, progress: SweepProgress, **fields: object) -> None:
        self._progress, self._fields = progress, fields

    def __enter__(self) -> Self:
        progress = self._progress
        write_event("start", stored=progress.stored, count=progress.count, failed=progress.failed, **self._fields)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, BrokenPipeError):
            write_event("error", what=str(error) or type(error).__name__, stored=self._progress.stored)

    def update(self, rows: Sequence[PointResult]) -> None:
        """Events of rows that are stored."""
        progress = self._progress
        progress.add(rows)
        for row in rows:
            if row.failed:
                write_event("failed", point=row.number, axes=row.axes, reason=row.reason)
        shown = attributes_of(progress, "stored", "count", "failed", "rate_per_s", "left_s", "elapsed_s")
        write_event("progress", **shown)

    def end(self, outcome: SweepOutcome, **fields: object) -> None:
        """Write the event of the end."""
        what = "stopped" if outcome.stopped else "done"
        write_event(what, **fields_of(outcome), elapsed_s=self._progress.elapsed_s, **fields)


def write_event(event: str, **fields: Any) -> None:
    """One event as a JSON line to standard output."""
    write(json.dumps(to_json({"event": event, **fields}), allow_nan=False) + "\n")


def duration(seconds: float) -> str:
    """Return a time for people: ``42 s``, ``3 min 05 s``, ``2 h 07 min``, ``3 d 4 h``."""
    if not math.isfinite(seconds):
        return "?"
    whole = math.ceil(seconds)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 60:
        return f"{whole} s"
    if hours < 1:
        return f"{minutes} min {whole % 60:02d} s"
    if days < 1:
        return f"{hours} h {minutes % 60:02d} min"
    return f"{days} d {hours % 24} h"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
