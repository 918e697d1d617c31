"""What all progress bars share: standard error, shown only on a terminal, gone at the end."""

from __future__ import annotations

from threading import Timer
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn

#: Seconds that must pass before most bars show.
PATIENCE_S = 1.0


class Bar:
    """A context manager around one task of a bar with the given columns; ``task``: its description, total and fields.

    The bar starts on a timer, so that it also shows while nothing is reported yet; ``patience_s`` None: at once.
    """

    def __init__(
        self, *columns: ProgressColumn, console: Console | None, patience_s: float | None = PATIENCE_S, **task: Any
    ) -> None:
        console = console or Console(stderr=True)
        # Not console.is_terminal, which FORCE_COLOR makes true for a file as well.
        self._on = console.file.isatty() and not console.is_dumb_terminal
        self._bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
        self._task = self._bar.add_task(**task)
        self._at_once = patience_s is None
        self._timer = Timer(patience_s or 0.0, self._bar.start)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._on and self._at_once:
            self._bar.start()
        elif self._on:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._on:
            return
        if not self._at_once:
            self._timer.cancel()
            self._timer.join()
        self._bar.stop()
