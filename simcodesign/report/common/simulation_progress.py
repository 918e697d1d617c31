"""How far a simulation is, on standard error: only on a terminal, and only when it takes longer than a second."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from simcodesign.core.units import format_quantity
from simcodesign.report.common.progress import PATIENCE_S, Bar


class SimulationProgress(Bar):
    """A context manager; ``update`` is the ``progress`` argument of ``simulate`` and ``compare``."""

    def __init__(self, console: Console | None = None, patience_s: float = PATIENCE_S) -> None:
        columns = (TextColumn("simulating"), BarColumn(), TextColumn("{task.fields[status]}", markup=False))
        super().__init__(
            *columns,
            TimeElapsedColumn(),
            console=console,
            patience_s=patience_s,
            description="",
            total=None,
            status="preparing",
        )
        self._events = self._first_events = 0
        self._first_at = 0.0

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
