"""How far an exploration is, on standard error: only on a terminal, and only when it takes longer than a second."""

from __future__ import annotations

from rich.console import Console
from rich.progress import TextColumn, TimeElapsedColumn

from simcodesign.report.common.progress import Bar

#: Stages of a search in the words of a bar.
STAGES = {
    "evolution": "searching",
    "isres": "searching",
    "polish": "improving the best",
    "neighbours": "trying neighbours",
    "front": "spreading over the front",
}


class SearchProgress(Bar):
    """A context manager; ``on_progress`` is the argument of the same name of searches."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(
            TextColumn("{task.completed:,} points evaluated"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}", markup=False),
            console=console,
            description="",
            total=None,
            last="",
        )

    def on_progress(self, stage: str, count: int) -> None:
        """So many points more are evaluated."""
        self._bar.update(self._task, advance=count, last=STAGES.get(stage, ""))
