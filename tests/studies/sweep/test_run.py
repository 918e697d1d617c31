"""Running a sweep: every point is stored once, whatever dies meanwhile."""

from __future__ import annotations

import math
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import SimcodesignError
from simcodesign.core.processes.process_pool import WorkerDied
from simcodesign.core.processes.stop_signals import StopSignals
from simcodesign.studies.sweep import run as module
from simcodesign.studies.sweep.evaluate import PointTask, evaluate, forecast_frame, pack
from simcodesign.studies.sweep.executors import (
    DaskExecutor,
    LocalExecutor,
    LostScheduler,
    SweepExecutor,
    sweep_executor,
)
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.run import KILLS, SweepOutcome, run, run_forecast
from simcodesign.studies.sweep.store import Store, StoreError
from simcodesign.studies.sweep.sweep import Sweep, sweep_of
from simcodesign.studies.sweep.table import table_of


def sweep_over(*axes: str) -> Sweep:
    return sweep_of("seismic", "power-challenge", axes, preset="test")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Callable[[Sweep], Store]]:
    made: list[Store] = []

    def create(sweep: Sweep) -> Store:
        made.append(Store.create(tmp_path / "points.sqlite", sweep.meta()))
        return made[-1]

    yield create
    for one in made:
        one.close()


def csv(rows: Sequence[PointResult]) -> str:
    return table_of(rows).to_csv(index=False)


def expected(sweep: Sweep) -> str:
    return csv(evaluate(PointTask(pack(sweep), tuple(sweep.points()))))


# --- Tasks that are sent to processes ------------------------------------------------------------------------


def deadly(task: PointTask) -> list[PointResult]:
    """Point 3 kills its process."""
    for point in task.points:
        if point.number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
    return evaluate(task)


class Slow:
    """Says which process is at work, and takes its time."""

    def __init__(self, folder: Path, point_s: float) -> None:
        self.folder, self.point_s = folder, point_s

    def __call__(self, task: PointTask) -> list[PointResult]:
        (self.folder / f"{os.getpid()}.pid").touch()
        time.sleep(self.point_s * len(task.points))
        return evaluate(task)


def broken(task: PointTask) -> list[PointResult]:
    raise ZeroDivisionError("no point of it")


# --- With processes ------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_as_one_after_another(store: Callable[[Sweep], Store]) -> None:
    """Whoever evaluates them; what cannot be has its reason."""
    sweep = sweep_over("P=1:32:x2", "processor.clock=1:2GHz:+0.1")
    calls: list[PointResult] = []
    kept = store(sweep)
    with sweep_executor(2) as workers:
        outcome = run(sweep, kept, workers, calls.extend)
    assert csv([*kept.rows()]) == expected(sweep) == csv(calls)
    assert outcome == SweepOutcome(66, 66, 11, 66, stopped=False)


@pytest.mark.thorough
def test_points_that_kill_fail_with_the_reason_and_no_others(store: Callable[[Sweep], Store]) -> None:
    sweep = sweep_over("processor.clock=1:2GHz:+0.1")
    kept = store(sweep)
    with LocalExecutor(2) as workers:
        outcome = run(sweep, kept, workers, evaluate=deadly)
    rows = [*kept.rows()]
    assert {row.number for row in rows if row.failed} == {3}
    assert {row.reason for row in rows if row.failed} == {
        "3 processes died at it; of the last: its process was ended by signal 9"
    }
    right = {row.number: row for row in evaluate(PointTask(pack(sweep), tuple(sweep.points())))}
    assert all(row == right[row.number] for row in rows if not row.failed)
    assert (outcome.stored, outcome.failed) == (11, 1)


@pytest.mark.thorough
def test_processes_that_somebody_kills_are_survived(store: Callable[[Sweep], Store], tmp_path: Path) -> None:
    sweep = sweep_over("processor.clock=1:2GHz:+0.02")
    kept, killed = store(sweep), Counter[int]()

    def kill(rows: Sequence[PointResult]) -> None:
        for file in tmp_path.glob("*.pid"):
            if len(killed) < 2 and int(file.stem) in executor.processes:
                os.kill(int(file.stem), signal.SIGKILL)
                killed[int(file.stem)] += 1
            file.unlink(missing_ok=True)

    with LocalExecutor(2) as workers:
        executor: Any = workers.executor
        run(sweep, kept, workers, kill, evaluate=Slow(tmp_path, 0.01))
    assert killed
    assert csv([*kept.rows()]) == expected(sweep)


@pytest.mark.thorough
def test_it_ends_when_it_is_asked_to_and_goes_on_later(store: Callable[[Sweep], Store], tmp_path: Path) -> None:
    sweep = sweep_over("processor.clock=1:3GHz:+0.02")
    kept, calls = store(sweep), list[PointResult]()
    with LocalExecutor(2) as workers:
        outcome = run(sweep, kept, workers, calls.extend, stop=lambda: bool(calls), evaluate=Slow(tmp_path, 0.01))
        workers.close(now=True)
    assert outcome.stopped
    assert 0 < outcome.stored == outcome.new == len(kept) < 101
    assert csv(calls[: len(calls)]) == csv([*kept.rows()])
    with LocalExecutor(1) as workers:
        second = run(sweep, kept, workers, calls.extend, evaluate=Slow(tmp_path, 0.001))
    assert second == SweepOutcome(101, 101, 0, 101 - outcome.new, stopped=False)
    assert csv([*kept.rows()]) == expected(sweep) == csv(calls)


@pytest.mark.thorough
def test_an_error_of_the_program_is_one_of_the_sweep(store: Callable[[Sweep], Store]) -> None:
    sweep = sweep_over("P=1,2")
    with (
        LocalExecutor(1) as workers,
        pytest.raises(SimcodesignError, match="could not be evaluated: ZeroDivisionError: no"),
    ):
        run(sweep, store(sweep), workers, evaluate=broken)


def test_another_version_in_a_worker_is_an_error() -> None:
    with pytest.raises(SimcodesignError, match=r"a worker has simcodesign .*, the sweep was started by 0\.0\.0"):
        module._timed("0.0.0", evaluate, PointTask(pack(sweep_over("P=1,2")), ()))


# --- Forecasts alone -----------------------------------------------------------------------------------------


def test_forecasts_are_stored_in_blocks(store: Callable[[Sweep], Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)
    sweep = sweep_over("P=1:32:x2", "processor.clock=1:2GHz:+0.1")
    kept, calls = store(sweep), list[int]()
    first = run_forecast(sweep, kept, lambda rows: calls.append(len(rows)), stop=lambda: len(calls) == 3)
    assert (first, calls) == (SweepOutcome(21, 66, 0, 21, stopped=True), [7, 7, 7])
    second = run_forecast(sweep, kept)
    assert second == SweepOutcome(66, 66, 11, 45, stopped=False)
    table = forecast_frame(sweep)
    assert kept.frame().to_csv(index=False) == table.to_csv(index=False)


# --- With workers that are made up ---------------------------------------------------------------------------


class Shelf:
    """A store in memory, which refuses what it has and breaks when it is told to."""

    def __init__(self, breaks_at: float = math.inf) -> None:
        self.kept: dict[int, PointResult] = {}
        self.breaks_at = breaks_at

    def missing(self, count: int) -> Any:
        return module.np.array([number for number in range(count) if number not in self.kept], dtype=module.np.int64)

    def add(self, rows: Sequence[PointResult]) -> None:
        if len(self.kept) + len(rows) > self.breaks_at:
            raise StoreError("the disk is full")
        assert not self.kept.keys() & {row.number for row in rows}
        self.kept |= {row.number: row for row in rows}

    def __len__(self) -> int:
        return len(self.kept)

    def failed(self) -> int:
        return sum(row.failed for row in self.kept.values())


class MadeUp(SweepExecutor):
    """Tasks are done in the order in which ``choose`` picks them, each when somebody waits; ``dies`` at some."""

    def __init__(self, dies: Callable[[list[int], int], bool], count: int = 2) -> None:
        super().__init__(Executor())
        self._dies, self._count = dies, count
        self.under_way: list[tuple[Future[Any], PointTask, Any]] = []
        self.most, self.deaths_at, self.alone_at = 0, Counter[int](), Counter[int]()
        self.chunks: list[int] = []

    @property
    def count(self) -> int:
        return self._count

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.under_way.append((future, arguments[-1], arguments[1]))
        self.chunks.append(len(arguments[-1].points))
        self.most = max(self.most, len(self.under_way))
        return future

    def deaths(self, error: BaseException) -> int:
        if isinstance(error, CancelledError):
            raise LostScheduler("gone")
        return int(isinstance(error, WorkerDied))

    def close(self, *, now: bool = False) -> None:
        pass

    def work(self, at: int) -> None:
        future, task, _ = self.under_way.pop(at % len(self.under_way))
        numbers = [point.number for point in task.points]
        if self._dies(numbers, len(self.under_way)):
            self.deaths_at.update(numbers)
            self.alone_at.update(numbers if not self.under_way else [])
            future.set_exception(WorkerDied("killed"))
        else:
            future.set_result((0.01 * len(numbers), [SWEEP.row(SWEEP.point(number)) for number in numbers]))


SWEEP = sweep_over("processor.clock=1:3GHz:+0.02")


def run_made_up(made_up: MadeUp, shelf: Shelf, order: Iterator[int], **options: Any) -> SweepOutcome:
    """``run`` where waiting does some work."""

    def wait(futures: Any, timeout: float, when: str) -> Any:
        if made_up.under_way:
            made_up.work(next(order))
        return SimpleNamespace(done=[future for future in futures if future.done()])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "wait", wait)
        patch.setattr(module, "STORE_S", 0.0)
        return run(SWEEP, shelf, made_up, **options)  # type: ignore[arg-type] # it has all that is used of a store


def cycled(numbers: list[int]) -> Iterator[int]:
    while True:
        yield from numbers or [0]


@given(
    st.sets(st.integers(0, 100), max_size=4),
    st.lists(st.integers(0, 20), max_size=30),
    st.integers(1, 5),
    st.sets(st.integers(0, 100), max_size=50),
)
def test_whoever_dies_each_point_is_stored_once_and_only_killers_fail(
    killers: set[int], order: list[int], count: int, there: set[int]
) -> None:
    shelf = Shelf()
    shelf.add([SWEEP.row(SWEEP.point(number)) for number in sorted(there)])
    made_up = MadeUp(lambda numbers, _: bool(killers & set(numbers)), count)
    outcome = run_made_up(made_up, shelf, cycled(order))
    assert shelf.kept.keys() == set(range(101))
    assert {number for number, row in shelf.kept.items() if row.failed} == killers - there
    assert all(KILLS <= made_up.deaths_at[number] <= KILLS + 1 for number in killers - there)
    assert all(made_up.alone_at[number] for number in killers - there)
    assert made_up.most <= made_up.most_under_way
    assert outcome == SweepOutcome(101, 101, len(killers - there), 101 - len(there), stopped=False)


@given(st.lists(st.integers(0, 20), max_size=30), st.sets(st.integers(0, 150), max_size=100))
def test_no_point_fails_for_the_deaths_of_others(order: list[int], when: set[int]) -> None:
    """Processes die at any time, but not while a point is alone."""
    clock = iter(range(10**6))
    shelf = Shelf()
    run_made_up(MadeUp(lambda _, others: others > 0 and next(clock) in when), shelf, cycled(order))
    assert shelf.kept.keys() == set(range(101))
    assert not shelf.failed()


def test_chunks_grow_to_a_tenth_of_a_second_and_shrink_towards_the_end() -> None:
    made_up, shelf = MadeUp(lambda *_: False), Shelf()
    run_made_up(made_up, shelf, cycled([]))
    assert made_up.chunks[0] == 1
    assert max(made_up.chunks) == 10  # of 10 ms each
    assert made_up.chunks[-1] == 1


@pytest.mark.parametrize("room", [0, 10, 50])
def test_a_store_that_breaks_ends_the_sweep_and_keeps_what_it_has(room: int) -> None:
    shelf, calls = Shelf(breaks_at=room), list[PointResult]()
    with pytest.raises(StoreError, match="the disk is full"):
        run_made_up(MadeUp(lambda *_: False), shelf, cycled([]), on_progress=calls.extend)
    assert [row.number for row in calls] == [*shelf.kept]
    assert len(shelf) <= room


def test_a_scheduler_that_is_lost_ends_the_sweep_after_what_has_come_is_stored() -> None:
    shelf = Shelf()
    made_up = MadeUp(lambda *_: False)

    def lose() -> bool:
        if len(shelf) > 20:
            for future, *_ in made_up.under_way:
                future.cancel()
                future.set_running_or_notify_cancel()
            made_up.under_way.clear()
        return False

    with pytest.raises(LostScheduler):
        run_made_up(made_up, shelf, cycled([]), stop=lose)
    assert len(shelf) > 20


def test_rows_that_have_come_are_stored_when_it_is_interrupted() -> None:
    shelf, made_up = Shelf(), MadeUp(lambda *_: False)
    done = iter(range(10))

    def interrupted() -> bool:
        if next(done) == 5:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        run_made_up(made_up, shelf, cycled([]), stop=interrupted)
    assert len(shelf) == sum(made_up.chunks) - sum(len(task.points) for _, task, _ in made_up.under_way)


# --- Signals -------------------------------------------------------------------------------------------------


@pytest.fixture
def heard() -> Iterator[None]:
    """No signal is ignored, as those of nohup and of background jobs are."""
    every = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in every]
    yield
    for number, handler in zip(every, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_noted_and_the_second_interrupt_is_one(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopSignals() as stop:
        assert not stop()
        signal.raise_signal(number)
        assert (stop(), stop.number) == (True, number)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(number) is before


def met(folder: Path, count: int) -> int:
    """Return the number of the process, once ``count`` processes have left their mark in the folder."""
    (folder / str(os.getpid())).touch()
    until = time.monotonic() + 60
    while len(list(folder.iterdir())) < count:
        if time.monotonic() > until:
            raise TimeoutError(f"fewer than {count} processes work at the same time")
        time.sleep(0.01)
    return os.getpid()


@pytest.mark.thorough
@pytest.mark.parametrize(("count", "words"), [(1, "1 process"), (3, "3 processes")])
def test_local_processes_work_at_the_same_time(count: int, words: str, tmp_path: Path) -> None:
    workers = LocalExecutor(count)
    try:
        tasks = [workers.executor.submit(met, tmp_path, count) for _ in range(2 * count)]  # one each is sent ahead
        processes = {task.result() for task in tasks}
        assert str(workers) == words
    finally:
        workers.close()
    assert len(processes) == count
    assert os.getpid() not in processes


def test_a_cluster_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(SimcodesignError, match=r"--scheduler: a cluster needs dask.distributed .*simcodesign\[dist\]"):
        DaskExecutor("tcp://127.0.0.1:1")
