"""How far the validation is, on standard error: a bar on a terminal, and each case that took long."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from simcodesign.report.common.progress import Bar
from simcodesign.studies.validation.outcome import Outcome

#: Seconds from which on a case is told of when it is done, so that a long run shows what it has found.
LONG_S = 30.0


class CaseProgress(Bar):
    """A context manager; ``update`` is the ``progress`` argument of ``run``."""

    def __init__(self, total: int, console: Console | None = None) -> None:
        super().__init__(
            TextColumn("cases"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}", markup=False),
            console=console,
            patience_s=None,
            description="",
            total=total,
            last="",
        )

    def update(self, outcome: Outcome) -> None:
        """Tell of a case that is done."""
        self._bar.update(self._task, advance=1, last=outcome.name)
        if outcome.seconds >= LONG_S:
            self._bar.console.print(f"{outcome.verdict}: {outcome.name}, {outcome.seconds:.0f} s", markup=False)
