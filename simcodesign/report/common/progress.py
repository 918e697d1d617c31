"""How far a command is, on standard error: one bar for all of them, shown only on a terminal and gone at the end.

``ProgressBar`` is the bar. Each context manager below it shows one with the words of a study, and gives the
``on_progress`` that this study takes; ``options`` are the ``console`` and the ``patience_s`` of the bar.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

from simcodesign.core.jit import listeners
from simcodesign.core.units import format_quantity
from simcodesign.locality.traces.counted import CountedTrace
from simcodesign.locality.traces.trace import Trace

#: Simulated seconds, events so far.
OnSimulation = Callable[[float, int], None]
#: Workload, system, systems done, all systems.
OnSystem = Callable[[str, str, int, int], None]

#: Seconds that must pass before most bars show.
PATIENCE_S = 1.0
#: Seconds from which on a validation case is reported when it is done, so that a long run shows its verdicts.
LONG_CASE_S = 30.0
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

    ``label``: a format of rich's task fields; ``total``: None where it is not known; ``bar``: False for a label and a
    note alone; ``counted``: whether "m of n" is shown. The bar appears ``patience_s`` after the start, by a timer, so
    that it also shows while nothing is reported yet (None: at once), and never where standard error is no terminal or
    with ``wanted`` False.
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
        wanted: bool = True,
        console: Console | None = None,
        patience_s: float | None = PATIENCE_S,
    ) -> None:
        console = console or Console(stderr=True)
        # Not console.is_terminal, which FORCE_COLOR makes true for a file as well.
        self._on = wanted and console.file.isatty() and not console.is_dumb_terminal
        columns: list[ProgressColumn] = [TextColumn(label)]
        columns += [BarColumn()] if bar else []
        columns += [MofNCompleteColumn()] if counted else []
        columns += [TimeElapsedColumn(), TextColumn("{task.fields[note]}", markup=False)]
        self._progress = Progress(
            *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._task = self._progress.add_task("", total=total, completed=completed, note=note)
        self._patience_s = patience_s
        self._timer = Timer(patience_s or 0.0, self._progress.start)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        listeners.append(self._note)
        if self._on and self._patience_s is None:
            self._progress.start()
        elif self._on:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        listeners.remove(self._note)
        if not self._on:
            return
        if self._patience_s is not None:
            self._timer.cancel()
            self._timer.join()
        self._progress.stop()

    def update(self, **fields: Any) -> None:
        """Change ``completed``, ``total``, ``description`` or ``note``, or ``advance`` by so many."""
        self._progress.update(self._task, **fields)

    def restart(self, description: str, total: int | None) -> None:
        """Begin again at nothing."""
        self._progress.reset(self._task, description=description, total=total, note="")

    def print(self, line: str) -> None:
        """A line that stays, above the bar; also where there is none."""
        self._progress.console.print(line, markup=False)

    def _note(self, message: str) -> None:
        self._progress.console.print(f"note: {message}", markup=False, soft_wrap=True)


class FinishedCase(Protocol):
    """What is shown of the outcome of a validation case."""

    @property
    def name(self) -> str: ...

    @property
    def verdict(self) -> str: ...

    @property
    def seconds(self) -> float: ...


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


@contextmanager
def simulation_progress(**options: Any) -> Iterator[OnSimulation]:
    """Of ``simulate`` and ``compare``: simulated seconds, events so far."""
    with ProgressBar("simulating", note="preparing", **options) as bar:
        events_counter = RateCounter("events")

        def on_progress(simulated_s: float, events: int) -> None:
            bar.update(note=f"{format_quantity(simulated_s, 'time')} simulated, {events_counter.text(events)}")

        yield on_progress


@contextmanager
def replication_progress(**options: Any) -> Iterator[Callable[[int, int, float], None]]:
    """Of ``replicate``: how many there are, the most that there may be, the relative half-width so far."""
    with ProgressBar("replications", counted=True, **options) as bar:

        def on_progress(done: int, most: int, relative: float) -> None:
            width = f"± {100 * relative:.2g}%" if math.isfinite(relative) else ""
            bar.update(completed=done, total=most, note=width)

        yield on_progress


@contextmanager
def system_progress(
    **options: Any,
) -> Iterator[tuple[OnSystem, OnSimulation]]:
    """Of simulated studies: which workload and system begins, how many are done, how many there are; and what
    ``simulate`` takes."""
    with ProgressBar("systems", counted=True, **options) as bar:
        current = ""

        def on_progress(workload: str, system: str, done: int, total: int) -> None:
            nonlocal current
            current = f"{workload}, {system}"
            bar.update(completed=done, total=total, note=current)

        def on_simulation_progress(simulated_s: float, events: int) -> None:
            bar.update(note=f"{current}: {events:,} events")

        yield on_progress, on_simulation_progress


@contextmanager
def run_progress(**options: Any) -> Iterator[Callable[[str, int], None]]:
    """Of studies that know what they simulate next, and how many simulations are done."""
    with ProgressBar("{task.completed} simulations", bar=False, **options) as bar:

        def on_progress(what: str, done: int) -> None:
            bar.update(completed=done, note=what)

        yield on_progress


@contextmanager
def search_progress(**options: Any) -> Iterator[Callable[[str, int], None]]:
    """Of searches: the stage, and how many points more are evaluated."""
    with ProgressBar("{task.completed:,} points evaluated", bar=False, **options) as bar:

        def on_progress(stage: str, count: int) -> None:
            bar.update(advance=count, note=STAGES.get(stage, ""))

        yield on_progress


@contextmanager
def lesson_progress(**options: Any) -> Iterator[Callable[[int, int], None]]:
    """Of the simulations of a lesson: how many of all are done. Those kept from the last build take no time."""
    with ProgressBar("simulations of the lesson", counted=True, **options) as bar:

        def on_progress(done: int, total: int) -> None:
            bar.update(completed=done, total=total)

        yield on_progress


@contextmanager
def fit_progress(total: int, **options: Any) -> Iterator[Callable[[int], None]]:
    """Of ``fit`` and ``fitted``: how many series more are done, of ``total``. ``wanted``: False where the terminal
    shows results as they come, which a bar would cut up."""
    with ProgressBar("fitting", total=total, **options) as bar:
        done, counter = 0, RateCounter("series")

        def on_progress(series: int) -> None:
            nonlocal done
            done += series
            bar.update(completed=done, note=counter.text(done, total))

        yield on_progress


@contextmanager
def case_progress(total: int, **options: Any) -> Iterator[Callable[[FinishedCase], None]]:
    """Of ``run`` of validation cases: an outcome; one that took long is printed, also where there is no bar."""
    with ProgressBar("cases", total=total, counted=True, patience_s=None, **options) as bar:

        def on_progress(outcome: FinishedCase) -> None:
            bar.update(advance=1, note=outcome.name)
            if outcome.seconds >= LONG_CASE_S:
                bar.print(f"{outcome.verdict}: {outcome.name}, {outcome.seconds:.0f} s")

        yield on_progress


@contextmanager
def trace_progress(**options: Any) -> Iterator[Callable[[Trace, str, int | None], CountedTrace]]:
    """Of passes over traces: gives the trace, or its first so many accesses, whose reading the bar shows under the
    name of the pass."""
    with ProgressBar("{task.description}", **options) as bar:

        def counted(trace: Trace, description: str, most_accesses: int | None = None) -> CountedTrace:
            known = len(trace) if hasattr(trace, "__len__") else None
            counter = RateCounter("accesses")
            bar.restart(description, min(filter(None, (known, most_accesses))) if known else None)

            def on_progress(accesses: int) -> None:
                bar.update(completed=accesses, note=counter.text(accesses))

            return CountedTrace(trace, most_accesses, on_progress)

        yield counted
