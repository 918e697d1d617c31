"""How far the fitting of models is, on standard error: only on a terminal, and only when it takes over a second."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from simcodesign.report.common.progress import PATIENCE_S, Bar


class FitProgress(Bar):
    """A context manager; ``update`` is the ``progress`` argument of ``fit`` and ``fitted``.

    ``wanted``: False where the terminal shows results as they come, which a bar would cut up.
    """

    def __init__(
        self, total: int, console: Console | None = None, patience_s: float = PATIENCE_S, *, wanted: bool = True
    ) -> None:
        columns = (TextColumn("fitting"), BarColumn(), TextColumn("{task.fields[status]}", markup=False))
        super().__init__(
            *columns,
            TimeElapsedColumn(),
            console=console,
            patience_s=patience_s,
            description="",
            total=total,
            status="",
        )
        self._on = self._on and wanted
        self._total, self._done, self._began = total, 0, time.monotonic()

    def update(self, series: int) -> None:
        """So many series more are done."""
        self._done += series
        since = time.monotonic() - self._began
        rate = f", {self._done / since:,.0f} a second" if since > 0 else ""
        status = f"{self._done:,} of {self._total:,} series{rate}"
        self._bar.update(self._task, completed=self._done, status=status)
