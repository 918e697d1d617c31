"""How far the validation is, on standard error: a bar on a terminal, and each case that took long."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from simcodesign.validate.outcome import Outcome

#: Seconds from which on a case is told of when it is done, so that a long run shows what it has found.
LONG_S = 30.0


class CaseProgress:
    """A context manager; ``update`` is the ``progress`` argument of ``run``."""

    def __init__(self, total: int, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        # Not console.is_terminal, which FORCE_COLOR makes true for a file as well.
        self._on = console.file.isatty() and not console.is_dumb_terminal
        self._bar = Progress(
            TextColumn("cases"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.fields[last]}", markup=False),
            console=console, transient=True, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=total, last="")

    def __enter__(self) -> CaseProgress:
        if self._on:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._on:
            self._bar.stop()

    def update(self, outcome: Outcome) -> None:
        """Tell of a case that is done."""
        self._bar.update(self._task, advance=1, last=outcome.name)
        if outcome.seconds >= LONG_S:
            self._bar.console.print(f"{outcome.verdict}: {outcome.name}, {outcome.seconds:.0f} s", markup=False)
