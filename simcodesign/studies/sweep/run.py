"""Running a sweep: points go out to those who work, rows come back into the store.

Points go out in chunks that grow to a fraction of a second of work (``Crew.chunk_s``), a bounded number at a time, and
rows are stored in batches, twice a second at least. A row counts when it is durable. Processes that die are survived:
the points of a lost chunk are tried again one by one. A point is blamed for the last death only when nobody else was at
work, so that none fails for what another did, nor for want of memory that it would have had alone.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign import __version__
from simcodesign.core.errors import SimcodesignError
from simcodesign.studies.sweep.evaluate import Packed, Task, evaluate, forecast_frame, pack
from simcodesign.studies.sweep.executors import Crew
from simcodesign.studies.sweep.points import Row
from simcodesign.studies.sweep.store import Store
from simcodesign.studies.sweep.sweep import Sweep
from simcodesign.studies.sweep.table import ERROR, NUMBER

#: Called with rows when they are durable.
OnProgress = Callable[[Sequence[Row]], object]
#: The rows of points, wherever it is called.
Evaluate = Callable[[Task], list[Row]]

#: The most points of a chunk.
MOST_POINTS = 2048
#: Seconds for which rows wait at most to be stored, and within which a wish to stop is heard.
STORE_S, HEAR_S = 0.25, 0.1
#: So many processes may die at a point.
KILLS = 3
#: A worker of a cluster may have several threads, which would share what a process keeps of a sweep.
_ONE = threading.Lock()
#: Points of a block of forecasts, which are made in one call.
BLOCK = 20_000


@dataclass(frozen=True)
class Outcome:
    """Points that are stored now of all, those of them that failed, those stored by this run, and whether it ended
    because it was asked to."""

    stored: int
    count: int
    failed: int
    new: int
    stopped: bool


def run(
    sweep: Sweep,
    store: Store,
    crew: Crew,
    on_progress: OnProgress = lambda _: None,
    *,
    stop: Callable[[], bool] = lambda: False,
    evaluate: Evaluate = evaluate,
) -> Outcome:
    """Evaluate all points that are not stored yet. ``stop``: asked often; when it says so, what has come is stored.

    ``evaluate``: a function of a module, for it is sent to other processes. Raises StoreError when the store cannot be
    written (rows before that are safe), LostScheduler, and SimcodesignError when no process can be started; whatever is
    raised, the rows that have come are stored if that is possible.
    """
    running = _Run(sweep, store, crew, on_progress, evaluate)
    try:
        while running.has_work() and not stop():
            running.send()
            running.collect(HEAR_S)
            running.keep(STORE_S)
        if running.has_work():
            running.collect(0.0)
    finally:
        running.keep()
    return outcome_of(store, sweep, running.new, stopped=running.has_work())


def run_forecast(
    sweep: Sweep, store: Store, on_progress: OnProgress = lambda _: None, *, stop: Callable[[], bool] = lambda: False
) -> Outcome:
    """As ``run`` for a sweep that is only forecast: in this process, a block of points in one call."""
    left, new = store.left(sweep.count), 0
    for start in range(0, len(left), BLOCK):
        if stop():
            break
        rows = list(_forecast_rows(sweep, left[start : start + BLOCK]))
        store.add(rows)
        on_progress(rows)
        new += len(rows)
    return outcome_of(store, sweep, new, stopped=new < len(left))


def outcome_of(store: Store, sweep: Sweep, new: int = 0, *, stopped: bool = False) -> Outcome:
    """What a store has of a sweep."""
    return Outcome(len(store), sweep.count, store.failed(), new, stopped)


def _forecast_rows(sweep: Sweep, numbers: NDArray[np.int64]) -> Iterator[Row]:
    table = forecast_frame(sweep, numbers)
    names = [name for name in table.columns if name not in (NUMBER, ERROR, *sweep.names)]
    columns = [table[name].tolist() for name in names]
    reasons = table[ERROR].tolist()
    for at, number in enumerate(numbers.tolist()):
        values = {name: column[at] for name, column in zip(names, columns, strict=True)}
        results = {} if reasons[at] else {name: value for name, value in values.items() if not math.isnan(value)}
        yield sweep.row(sweep.point(number), results, reasons[at])


@dataclass(frozen=True)
class _Chunk:
    """Numbers of points that go out together; ``alone``: while nothing else does."""

    numbers: tuple[int, ...]
    alone: bool = False


class _Queue:
    """Points that still have to go out: in chunks, then those that were lost one by one, then suspects alone."""

    def __init__(self, numbers: NDArray[np.int64], chunk_s: float) -> None:
        self._numbers, self._at, self._chunk_s = numbers, 0, chunk_s
        self._singles: deque[int] = deque()
        self._suspects: deque[int] = deque()
        self._killed: dict[int, int] = {}
        self._size, self._point_s = 1, math.inf

    def __bool__(self) -> bool:
        return bool(self._left or self._singles or self._suspects)

    @property
    def _left(self) -> int:
        return len(self._numbers) - self._at

    def next(self, workers: int, idle: bool) -> _Chunk | None:
        """What goes out next, of which all workers get some; None if that has to wait until all are idle."""
        if self._left:
            self._size = max(1, min(2 * self._size, self._wanted(), MOST_POINTS, self._left // (2 * max(workers, 1))))
            begin, self._at = self._at, min(self._at + self._size, len(self._numbers))
            return _Chunk(tuple(self._numbers[begin : self._at].tolist()))
        if self._singles:
            return _Chunk((self._singles.popleft(),))
        if self._suspects and idle:
            return _Chunk((self._suspects.popleft(),), alone=True)
        return None

    def _wanted(self) -> int:
        return int(min(self._chunk_s / max(self._point_s, 1e-9), MOST_POINTS))

    def took(self, chunk: _Chunk, seconds: float) -> None:
        """A chunk was done; the first ones of each process take longer, for it prepares itself."""
        point_s = seconds / len(chunk.numbers)
        self._point_s = point_s if self._point_s == math.inf else (self._point_s + point_s) / 2

    def lost(self, chunk: _Chunk, deaths: int) -> int | None:
        """Processes died at a chunk; the number of the point that is to blame, if there is one."""
        if len(chunk.numbers) > 1:
            self._singles.extend(chunk.numbers)
            return None
        (number,) = chunk.numbers
        most = math.inf if chunk.alone else KILLS - 1
        killed = self._killed[number] = int(min(self._killed.get(number, 0) + deaths, most))
        if killed >= KILLS:
            return number
        (self._suspects if killed == KILLS - 1 else self._singles).append(number)
        return None


class _Run:
    """The state of a run. Rows wait in ``_rows`` until they are stored."""

    def __init__(self, sweep: Sweep, store: Store, crew: Crew, on_progress: OnProgress, evaluate: Evaluate) -> None:
        self.sweep, self.store, self.crew, self.on_progress, self.evaluate = sweep, store, crew, on_progress, evaluate
        self.new = 0
        self._packed: Packed = pack(sweep)
        self._queue = _Queue(store.left(sweep.count), crew.chunk_s)
        self._under_way: dict[Future[Any], _Chunk] = {}
        self._rows: list[Row] = []
        self._oldest_s = 0.0

    def has_work(self) -> bool:
        return bool(self._queue or self._under_way)

    def send(self) -> None:
        """Send chunks until enough are under way."""
        most = self.crew.most_under_way
        while len(self._under_way) < most:
            chunk = self._queue.next(self.crew.count, idle=not self._under_way)
            if chunk is None:
                return
            task = Task(self._packed, tuple(self.sweep.points(chunk.numbers)))
            self._under_way[self.crew.submit(_timed, __version__, self.evaluate, task)] = chunk

    def collect(self, seconds: float) -> None:
        """What is done, for which this waits so long."""
        for future in wait(self._under_way, seconds, FIRST_COMPLETED).done:
            chunk = self._under_way.pop(future)
            error = _error_of(future)
            if error is None:
                spent_s, rows = future.result()
                self._queue.took(chunk, spent_s)
                self._came(rows)
            elif deaths := self.crew.deaths(error):
                self._lost(chunk, deaths, error)
            elif isinstance(error, SimcodesignError):
                raise error
            else:
                raise SimcodesignError(f"points could not be evaluated: {type(error).__name__}: {error}") from error

    def keep(self, waited_s: float = 0.0) -> None:
        """Store the rows that have come if the first of them has waited so long."""
        if self._rows and time.monotonic() - self._oldest_s >= waited_s:
            rows, self._rows = self._rows, []
            self.store.add(rows)
            self.new += len(rows)
            self.on_progress(rows)

    def _came(self, rows: Sequence[Row]) -> None:
        if not self._rows:
            self._oldest_s = time.monotonic()
        self._rows.extend(rows)

    def _lost(self, chunk: _Chunk, deaths: int, error: BaseException) -> None:
        blamed = self._queue.lost(chunk, deaths)
        if blamed is not None:
            reason = f"{KILLS} processes died at it; of the last: {next(islice(str(error).splitlines(), 1), '')}"
            self._came([self.sweep.row(self.sweep.point(blamed), reason=reason)])


def _error_of(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception(0)
    except CancelledError as error:
        return error


def _timed(version: str, evaluate: Evaluate, task: Task) -> tuple[float, list[Row]]:
    """In a worker: the rows, and the seconds that they took."""
    if version != __version__:
        raise SimcodesignError(f"a worker has simcodesign {__version__}, the sweep was started by {version}")
    with _ONE:
        began = time.perf_counter()
        rows = evaluate(task)
        return time.perf_counter() - began, rows
