"""How far a command is, on standard error: one bar for all of them, shown only on a terminal and gone at the end.

``ProgressBar`` is the bar, and the ``on_progress`` that the studies take.
"""

from __future__ import annotations

import math
import time
from threading import Timer
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console

from simcodesign.core.units import format_quantity

if TYPE_CHECKING:
    from rich.progress import Progress

#: Seconds that must pass before most bars show.
PATIENCE_S = 1.0
#: Stages of a search in the words of a bar.
STAGES = {
    "evolution": "searching",
    "isres": "searching",
    "polish": "improving the best",
    "neighbours": "trying neighbours",
    "front": "spreading over the front",
}


class ProgressBar:
    """A context manager: a label, a bar, counts, the time elapsed and a note.

    ``label``: a format of rich's task fields; ``total``: None if it is not known; ``bar``: False for a label and a
    note alone; ``counted``: whether "m of n" is shown; ``unit``: what is counted in the note, with a rate; ``steps``:
    whether reports count what was done since the last report. The bar appears ``patience_s`` after the start, by a
    timer, so that it also shows while nothing is reported yet (None: immediately), and never if standard error is no
    terminal or with ``wanted`` False.
    """

    def __init__(
        self,
        label: str,
        *,
        total: int | None = None,
        completed: int = 0,
        note: str = "",
        bar: bool = True,
        counted: bool = False,
        unit: str = "",
        steps: bool = False,
        wanted: bool = True,
        console: Console | None = None,
        patience_s: float | None = PATIENCE_S,
    ) -> None:
        self._console = console = console or Console(stderr=True)
        # Not console.is_terminal, which FORCE_COLOR makes true for a file as well.
        on = wanted and console.file.isatty() and not console.is_dumb_terminal
        self._progress = _progress(console, label, bar, counted) if on else None
        self._timer: Timer | None = None
        if self._progress is not None:
            self._task = self._progress.add_task("", total=total, completed=completed, note=note)
            if patience_s is not None:
                self._timer = Timer(patience_s, self._progress.start)
                self._timer.daemon = True
        self._done, self._total, self._steps, self._words = completed, total, steps, ""
        self._unit, self._counter = unit, RateCounter(unit or "events")

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.start()
        elif self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, *report: Any) -> None:
        """Show a report of a study: words.

        How many are done, the total, the relative half-width of an interval; or, of a simulation, the simulated time in
        seconds and the number of events.
        """
        numbers = [item for item in report if not isinstance(item, str)]
        if len(numbers) < len(report):
            self._words = ", ".join(STAGES.get(item, item) for item in report if isinstance(item, str))
        if isinstance(numbers[0], float):
            time_s, events = numbers
            text = f"{format_quantity(time_s, 'time')} simulated, {self._counter.text(events)}"
            self.update(note=f"{self._words}: {text}" if self._words else text)
            return
        done, *rest = numbers
        self._done = self._done + done if self._steps else done
        self._total = rest[0] if rest else self._total
        note = self._counter.text(self._done, self._total) if self._unit else self._words
        if len(rest) > 1:
            note = f"± {100 * rest[1]:.2g}%" if math.isfinite(rest[1]) else ""
        self.update(completed=self._done, total=self._total, note=note)

    def update(self, **fields: Any) -> None:
        """Change ``completed``, ``total``, ``description`` or ``note``, or ``advance`` by a number."""
        if self._progress is not None:
            self._progress.update(self._task, **fields)

    def restart(self, description: str, total: int | None) -> None:
        """Begin again at nothing."""
        self._total = total
        if self._progress is not None:
            self._progress.reset(self._task, description=description, total=total, note="")

    def print(self, line: str) -> None:
        """Print a line that stays, above the bar; also if there is none."""
        self._console.print(line, markup=False)


def _progress(console: Console, label: str, bar: bool, counted: bool) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

    columns: list[ProgressColumn] = [TextColumn(label)]
    columns += [BarColumn()] if bar else []
    columns += [MofNCompleteColumn()] if counted else []
    columns += [TimeElapsedColumn(), TextColumn("{task.fields[note]}", markup=False)]
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)


class RateCounter:
    """Counts things, ``unit``, and how many there are a second since the first report, which leaves out the start."""

    def __init__(self, unit: str) -> None:
        self._unit, self._last = unit, 0
        self._first, self._first_s = 0, 0.0

    def text(self, count: int, total: int | None = None) -> str:
        """Such as ``1,200 of 5,000 series, 310 series/s``; fewer than before begin another run."""
        now_s = time.monotonic()
        if count <= self._last or not self._last:
            self._first, self._first_s = count, now_s
        self._last = count
        since_s = now_s - self._first_s
        of = "" if total is None else f" of {total:,}"
        rate = f", {(count - self._first) / since_s:,.0f} {self._unit}/s" if count > self._first and since_s > 0 else ""
        return f"{count:,}{of} {self._unit}{rate}"
