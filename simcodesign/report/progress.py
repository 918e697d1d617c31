"""How far a simulation is, on standard error: only on a terminal, and only when it takes longer than a second."""

from __future__ import annotations

import time
from threading import Timer
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from simcodesign.units import format_quantity

PATIENCE_S = 1.0


class SimulationProgress:
    """A context manager; ``update`` is the ``progress`` argument of ``simulate`` and ``compare``.

    The bar starts on a timer, so that it also shows while a long plan is being made and no event is reported yet.
    """

    def __init__(self, console: Console | None = None, patience_s: float = PATIENCE_S) -> None:
        console = console or Console(stderr=True)
        # Not console.is_terminal, which FORCE_COLOR makes true for a file as well.
        self._on = console.file.isatty() and not console.is_dumb_terminal
        self._bar = Progress(
            TextColumn("simulating"), BarColumn(), TextColumn("{task.fields[status]}", markup=False),
            TimeElapsedColumn(), console=console, transient=True, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None, status="preparing")
        self._timer = Timer(patience_s, self._bar.start)
        self._timer.daemon = True
        self._events = self._first_events = 0
        self._first_at = 0.0

    def __enter__(self) -> SimulationProgress:
        if self._on:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._on:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def update(self, simulated_s: float, events: int) -> None:
        """Tell simulated seconds and events so far; fewer events than before begin another run."""
        now = time.monotonic()
        if events <= self._events or not self._events:
            self._first_at, self._first_events = now, events
        self._events = events
        since = now - self._first_at
        rate = (events - self._first_events) / since if since > 0 else 0.0
        status = f"{format_quantity(simulated_s, 'time')} simulated, {events:,} events, {rate:,.0f} events/s"
        self._bar.update(self._task, status=status)
