"""How far the reading of a trace is, on standard error: only on a terminal, and only when it takes over a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from simcodesign.locality.hierarchy.counts import ByKind
from simcodesign.locality.traces.trace import CHUNK, FETCH, Accesses, Trace
from simcodesign.report.common.progress import PATIENCE_S, Bar


class Watched(Trace):
    """The first ``most_accesses`` accesses of a trace (None: all), counted by their kind while somebody reads them."""

    def __init__(
        self, trace: Trace, most_accesses: int | None = None, seen: Callable[[int], None] | None = None
    ) -> None:
        self.name, self._trace, self._most, self._seen = trace.name, trace, most_accesses, seen
        self.accesses = 0
        self.grouped = False
        self._kinds: np.ndarray | None = None

    @property
    def kinds(self) -> ByKind | None:
        """Of the accesses that were read last; None where the trace has no kinds."""
        return None if self._kinds is None else ByKind(*self._kinds.tolist())

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        """As the trace itself gives them, the last one cut off."""
        self.accesses, self.grouped, self._kinds = 0, False, None
        for whole in self._trace.chunks(most):
            chunk = whole if self._most is None else whole[: self._most - self.accesses]
            self._count(chunk)
            yield chunk
            if self._seen:
                self._seen(self.accesses)
            if self.accesses == self._most:
                return

    def _count(self, chunk: Accesses) -> None:
        self.accesses += len(chunk)
        self.grouped = chunk.group is not None
        if chunk.kind is not None:
            kinds = np.bincount(chunk.kind, minlength=FETCH + 1)
            self._kinds = kinds if self._kinds is None else self._kinds + kinds


class TraceProgress(Bar):
    """A context manager; ``watched(trace, "stack distances")`` is the trace whose reading the bar shows."""

    def __init__(self, console: Console | None = None, patience_s: float = PATIENCE_S) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[status]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            patience_s=patience_s,
            description="reading",
            total=None,
            status="",
        )
        self._began = 0.0

    def watched(self, trace: Trace, what: str, most_accesses: int | None = None) -> Watched:
        """The trace, or so many of its accesses; ``what`` is found out by reading it."""
        known = len(trace) if hasattr(trace, "__len__") else None
        total = min(filter(None, (known, most_accesses))) if known else None
        self._began = time.monotonic()
        self._bar.reset(self._task, total=total, description=what, status="")
        return Watched(trace, most_accesses, self.update)

    def update(self, accesses: int) -> None:
        """So many accesses have been read."""
        since = time.monotonic() - self._began
        rate = f", {accesses / since:,.0f} a second" if since > 0 else ""
        self._bar.update(self._task, completed=accesses, status=f"{accesses:,} accesses{rate}")
