"""How far a study of many simulations is, on standard error: only on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from simcodesign.report.common.progress import Bar


class StudyProgress(Bar):
    """A context manager; ``on_progress`` is the argument of simulated studies, ``update`` their ``progress``."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(
            TextColumn("systems"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}", markup=False),
            console=console,
            description="",
            total=None,
            last="",
        )
        self._what = ""

    def on_progress(self, workload: str, system: str, done: int, total: int) -> None:
        """Tell which system is read now."""
        self._what = f"{workload}, {system}"
        self._bar.update(self._task, completed=done, total=total, last=self._what)

    def update(self, simulated_s: float, events: int) -> None:
        """Tell how many events the simulation at hand has had."""
        self._bar.update(self._task, last=f"{self._what}: {events:,} events")


class RunProgress(Bar):
    """The same for studies that say what they simulate next, and how many simulations are done."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(
            TextColumn("{task.completed} simulations"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}", markup=False),
            console=console,
            description="",
            total=None,
            last="",
        )

    def on_progress(self, what: str, done: int) -> None:
        """Tell what is simulated now."""
        self._bar.update(self._task, completed=done, last=what)
