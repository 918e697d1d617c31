"""How far replications are, on standard error: only on a terminal, and only when they take longer than a second."""

from __future__ import annotations

import math

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from simcodesign.report.common.progress import PATIENCE_S, Bar


class ReplicationProgress(Bar):
    """A context manager; ``update`` is the ``progress`` argument of ``replicate``."""

    def __init__(self, console: Console | None = None, patience_s: float = PATIENCE_S) -> None:
        super().__init__(
            TextColumn("replications"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[width]}", markup=False),
            console=console,
            patience_s=patience_s,
            description="",
            total=None,
            width="",
        )

    def update(self, done: int, most: int, relative: float) -> None:
        """Tell how many there are, the most that there may be, and the relative half-width so far."""
        width = f"± {100 * relative:.2g}%" if math.isfinite(relative) else ""
        self._bar.update(self._task, completed=done, total=most, width=width)
