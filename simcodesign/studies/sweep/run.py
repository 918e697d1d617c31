"""Runs a sweep: points are sent to an executor, and rows are written into the store.

Points are sent in chunks that grow to a fraction of a second (``SweepExecutor.chunk_s``), a bounded number at a time,
and rows are stored in batches, twice a second at least. A row counts when it is durable. Processes may die: the
points of a lost chunk are tried again one by one. A point is blamed for the last death only when no other was being
evaluated, so that none fails for what another did, nor for want of memory that it would have had alone.
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
from simcodesign.studies.sweep.evaluate import PackedSweep, PointTask, evaluate, forecast_frame, pack
from simcodesign.studies.sweep.executors import SweepExecutor
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.store import Store
from simcodesign.studies.sweep.sweep import Sweep
from simcodesign.studies.sweep.table import ERROR, NUMBER

#: Called with rows when they are durable.
OnProgress = Callable[[Sequence[PointResult]], object]
#: The rows of points, wherever it is called.
Evaluate = Callable[[PointTask], list[PointResult]]

#: The most points of a chunk.
MOST_POINTS = 2048
#: Longest wait of rows before they are stored, and interval at which ``stop`` is called, in seconds.
STORE_S, STOP_POLL_S = 0.25, 0.1
#: A point fails when this many processes have died at it.
KILLS = 3
#: A worker of a cluster may have several threads, which would share what a process keeps of a sweep.
_ONE = threading.Lock()
#: Points of a block of forecasts, which are made in one call.
BLOCK = 20_000


@dataclass(frozen=True)
class SweepOutcome:
    """Number of points ``stored`` of all ``count`` points, of these the ``failed`` ones.

    ``new``: how many this run stored. ``stopped``: whether it ended before all points were stored.
    """

    stored: int
    count: int
    failed: int
    new: int
    stopped: bool


def run(
    sweep: Sweep,
    store: Store,
    executor: SweepExecutor,
    on_progress: OnProgress = lambda _: None,
    *,
    stop: Callable[[], bool] = lambda: False,
    evaluate: Evaluate = evaluate,
) -> SweepOutcome:
    """Evaluate all points that are not stored yet.

    ``stop``: called often; if True, the run ends after storing the finished rows.

    ``evaluate``: a function of a module, because it is sent to other processes. Raises StoreError when the store
    cannot be written (rows before that are safe), LostScheduler, and SimcodesignError when no process can be started;
    whatever is raised, the rows that have come are stored if that is possible.
    """
    running = _Run(sweep, store, executor, on_progress, evaluate)
    try:
        while running.has_work() and not stop():
            running.send()
            running.collect(STOP_POLL_S)
            running.store_rows(STORE_S)
        if running.has_work():
            running.collect(0.0)
    finally:
        running.store_rows()
    return outcome_of(store, sweep, running.new, stopped=running.has_work())


def run_forecast(
    sweep: Sweep, store: Store, on_progress: OnProgress = lambda _: None, *, stop: Callable[[], bool] = lambda: False
) -> SweepOutcome:
    """As ``run`` for a sweep that is only forecast: in this process, a block of points in one call."""
    missing, new = store.missing(sweep.count), 0
    for start in range(0, len(missing), BLOCK):
        if stop():
            break
        rows = list(_forecast_rows(sweep, missing[start : start + BLOCK]))
        store.add(rows)
        on_progress(rows)
        new += len(rows)
    return outcome_of(store, sweep, new, stopped=new < len(missing))


def outcome_of(store: Store, sweep: Sweep, new: int = 0, *, stopped: bool = False) -> SweepOutcome:
    """Numbers of stored, failed and all points of a sweep."""
    return SweepOutcome(len(store), sweep.count, store.failed(), new, stopped)


def _forecast_rows(sweep: Sweep, numbers: NDArray[np.int64]) -> Iterator[PointResult]:
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
    """Points still to be sent: in chunks, then points of lost chunks one by one, then suspects while idle."""

    def __init__(self, numbers: NDArray[np.int64], chunk_s: float) -> None:
        self._numbers, self._at, self._chunk_s = numbers, 0, chunk_s
        self._singles: deque[int] = deque()
        self._suspects: deque[int] = deque()
        self._deaths: dict[int, int] = {}
        self._size, self._point_s = 1, math.inf

    def __bool__(self) -> bool:
        return bool(self._left or self._singles or self._suspects)

    @property
    def _left(self) -> int:
        return len(self._numbers) - self._at

    def next(self, workers: int, idle: bool) -> _Chunk | None:
        """Return the next chunk, small enough that all workers get some; None if it has to wait until all are idle."""
        if self._left:
            self._size = max(
                1, min(2 * self._size, self._target_size(), MOST_POINTS, self._left // (2 * max(workers, 1)))
            )
            begin, self._at = self._at, min(self._at + self._size, len(self._numbers))
            return _Chunk(tuple(self._numbers[begin : self._at].tolist()))
        if self._singles:
            return _Chunk((self._singles.popleft(),))
        if self._suspects and idle:
            return _Chunk((self._suspects.popleft(),), alone=True)
        return None

    def _target_size(self) -> int:
        return int(min(self._chunk_s / max(self._point_s, 1e-9), MOST_POINTS))

    def record_time(self, chunk: _Chunk, seconds: float) -> None:
        """Update the time per point after a chunk; the first chunk of each process includes its start-up."""
        point_s = seconds / len(chunk.numbers)
        self._point_s = point_s if self._point_s == math.inf else (self._point_s + point_s) / 2

    def lost(self, chunk: _Chunk, deaths: int) -> int | None:
        """Record that processes died at a chunk; the number of the point that caused it, if that is certain."""
        if len(chunk.numbers) > 1:
            self._singles.extend(chunk.numbers)
            return None
        (number,) = chunk.numbers
        limit = math.inf if chunk.alone else KILLS - 1
        deaths_at_point = self._deaths[number] = int(min(self._deaths.get(number, 0) + deaths, limit))
        if deaths_at_point >= KILLS:
            return number
        (self._suspects if deaths_at_point == KILLS - 1 else self._singles).append(number)
        return None


class _Run:
    """The state of a run. Rows wait in ``_rows`` until they are stored."""

    def __init__(
        self, sweep: Sweep, store: Store, executor: SweepExecutor, on_progress: OnProgress, evaluate: Evaluate
    ) -> None:
        self.sweep, self.store, self.executor, self.on_progress, self.evaluate = (
            sweep,
            store,
            executor,
            on_progress,
            evaluate,
        )
        self.new = 0
        self._packed: PackedSweep = pack(sweep)
        self._queue = _Queue(store.missing(sweep.count), executor.chunk_s)
        self._under_way: dict[Future[Any], _Chunk] = {}
        self._rows: list[PointResult] = []
        self._oldest_s = 0.0

    def has_work(self) -> bool:
        return bool(self._queue or self._under_way)

    def send(self) -> None:
        """Send chunks until enough are under way."""
        limit = self.executor.most_under_way
        while len(self._under_way) < limit:
            chunk = self._queue.next(self.executor.count, idle=not self._under_way)
            if chunk is None:
                return
            task = PointTask(self._packed, tuple(self.sweep.points(chunk.numbers)))
            self._under_way[self.executor.submit(_timed, __version__, self.evaluate, task)] = chunk

    def collect(self, seconds: float) -> None:
        """Collect finished chunks, waiting at most this long."""
        for future in wait(self._under_way, seconds, FIRST_COMPLETED).done:
            chunk = self._under_way.pop(future)
            error = _error_of(future)
            if error is None:
                elapsed_s, rows = future.result()
                self._queue.record_time(chunk, elapsed_s)
                self._add_rows(rows)
            elif deaths := self.executor.deaths(error):
                self._lost(chunk, deaths, error)
            elif isinstance(error, SimcodesignError):
                raise error
            else:
                raise SimcodesignError(f"points could not be evaluated: {type(error).__name__}: {error}") from error

    def store_rows(self, waited_s: float = 0.0) -> None:
        """Store the finished rows if the first of them has waited this long."""
        if self._rows and time.monotonic() - self._oldest_s >= waited_s:
            rows, self._rows = self._rows, []
            self.store.add(rows)
            self.new += len(rows)
            self.on_progress(rows)

    def _add_rows(self, rows: Sequence[PointResult]) -> None:
        if not self._rows:
            self._oldest_s = time.monotonic()
        self._rows.extend(rows)

    def _lost(self, chunk: _Chunk, deaths: int, error: BaseException) -> None:
        blamed = self._queue.lost(chunk, deaths)
        if blamed is not None:
            reason = f"{KILLS} processes died at it; of the last: {next(islice(str(error).splitlines(), 1), '')}"
            self._add_rows([self.sweep.row(self.sweep.point(blamed), reason=reason)])


def _error_of(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception(0)
    except CancelledError as error:
        return error


def _timed(version: str, evaluate: Evaluate, task: PointTask) -> tuple[float, list[PointResult]]:
    """In a worker: the rows, and the seconds that they took."""
    if version != __version__:
        raise SimcodesignError(f"a worker has simcodesign {__version__}, the sweep was started by {version}")
    with _ONE:
        started_s = time.perf_counter()
        rows = evaluate(task)
        return time.perf_counter() - started_s, rows
