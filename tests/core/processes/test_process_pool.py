"""Processes that die alone, get no Ctrl-C, and end with the program; they are really killed here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, wait
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.core.processes import process_pool
from simcodesign.core.processes.process_pool import ProcessExecutor, RemoteTraceback, WorkerDied
from tests import ROOT

# --- Tasks ---------------------------------------------------------------------------------------------------


def square(number: int) -> int:
    return number * number


def own_id(_: object = None) -> int:
    return os.getpid()


def doubled(data: bytes) -> bytes:
    return data * 2


def killed(number: int = signal.SIGKILL) -> None:
    os.kill(os.getpid(), number)


def ended(status: int) -> None:
    os._exit(status)


def left() -> None:
    raise SystemExit(7)


def killed_if(deadly: bool, number: int) -> int:
    if deadly:
        killed()
    return number


def sleep_long(folder: Path) -> None:
    (folder / str(os.getpid())).touch()
    time.sleep(600)


def compute_long(folder: Path) -> None:
    """One call of compiled code that keeps the interpreter's lock for hours."""
    (folder / str(os.getpid())).touch()
    sum(range(10**15))


def waited_for(file: Path) -> int:
    until(file.exists)
    return own_id()


def raised(message: str) -> None:
    raise InputError(message, Place("a file", 3), value=5)


class DemandingError(Exception):
    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


def demanded() -> None:
    raise DemandingError(1, 2)


def unpicklable() -> Callable[[], None]:
    return lambda: None


def threads() -> list[str | None]:
    return [os.environ.get("OPENBLAS_NUM_THREADS"), os.environ.get("OMP_NUM_THREADS")]


def interruptible() -> bool:
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


# --- Looking -------------------------------------------------------------------------------------------------


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not in {seconds} s"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether there is a process that runs: one that has ended and not been waited for does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def pids_of(folder: Path) -> list[int]:
    return [int(file.name) for file in folder.iterdir() if file.name.isdigit()]


@pytest.fixture(scope="module")
def pair() -> Iterator[ProcessExecutor]:
    with ProcessExecutor(2, ahead=1) as executor:
        yield executor


# --- Work ----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_task_that_is_stopped_ends_its_process_alone(tmp_path: Path) -> None:
    with ProcessExecutor(2) as executor:
        long = executor.submit(sleep_long, tmp_path)
        while not (begun := [*tmp_path.iterdir()]):
            time.sleep(0.01)
        other = executor.submit(square, 3)
        assert other.result(timeout=30) == 9
        waits = [executor.submit(sleep_long, tmp_path / "none") for _ in range(4)][-1]
        executor.stop(waits)
        assert waits.cancelled()
        executor.stop(long)
        with pytest.raises(WorkerDied):
            long.result(timeout=30)
        with pytest.raises(ProcessLookupError):
            os.kill(int(begun[0].name), 0)
        executor.stop(other)
        assert other.result() == 9
        assert executor.submit(square, 4).result(timeout=30) == 16
        executor.stop(long)  # which is over


@pytest.mark.thorough
def test_as_the_map_of_the_language(pair: ProcessExecutor) -> None:
    assert list(pair.map(square, range(300))) == [number * number for number in range(300)]
    assert len(pair.processes) == 2


def test_processes_start_when_there_is_work() -> None:
    with ProcessExecutor(3) as executor:
        assert executor.processes == ()
        assert executor.submit(square, 3).result() == 9
        assert len(executor.processes) == 1
    assert executor.processes == ()


@settings(max_examples=10)
@given(st.lists(st.integers(0, 22), max_size=6), st.integers(0, 2))
def test_large_tasks_and_results_do_not_block_each_other(pair: ProcessExecutor, sizes: list[int], rest: int) -> None:
    """A pipe holds some 200 kB: who sends more waits for a reader, who must not wait for the sender."""
    data = [bytes(2**size + rest) for size in sizes]
    assert list(pair.map(doubled, data)) == [item * 2 for item in data]


def test_an_error_arrives_as_it_was_raised(pair: ProcessExecutor) -> None:
    with pytest.raises(InputError, match=r"^a file:3: no, got 5$") as caught:
        pair.submit(raised, "no").result()
    assert (caught.value.what, caught.value.place) == ("no", Place("a file", 3))
    assert isinstance(caught.value.__cause__, RemoteTraceback)
    assert "in raised" in str(caught.value.__cause__)


def test_of_an_error_that_cannot_be_pickled_the_text_arrives(pair: ProcessExecutor) -> None:
    with pytest.raises(RuntimeError, match=r"^DemandingError: 1 and 2$"):
        pair.submit(demanded).result()
    with pytest.raises(Exception, match="pickle"):
        pair.submit(unpicklable).result()
    with pytest.raises(Exception, match="pickle"):
        pair.submit(lambda: None)
    assert pair.submit(square, 2).result() == 4


def test_each_process_uses_one_thread_and_the_environment_stays(pair: ProcessExecutor) -> None:
    before = dict(os.environ)
    assert pair.submit(threads).result() == ["1", "1"]
    assert dict(os.environ) == before


@pytest.mark.thorough
def test_no_process_gets_an_interrupt() -> None:
    """The program itself still gets them."""
    with ProcessExecutor(2) as executor:
        assert not any(future.result() for future in [executor.submit(interruptible) for _ in range(4)])
    assert interruptible()


def test_a_number_of_processes() -> None:
    with pytest.raises(InputError, match="number of processes, got 0"):
        ProcessExecutor(0)


# --- Death ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("function", "argument", "how"),
    [(killed, signal.SIGKILL, "by signal 9"), (killed, signal.SIGSEGV, "by signal 11"), (ended, 3, "with status 3")],
)
def test_a_process_that_dies_says_how(function: Callable[[int], None], argument: int, how: str) -> None:
    with ProcessExecutor(1) as executor:
        with pytest.raises(WorkerDied, match=f"{how}$"):
            executor.submit(function, argument).result()
        assert executor.submit(square, 2).result() == 4


@pytest.mark.thorough
def test_a_task_that_ends_the_program_ends_its_process() -> None:
    with ProcessExecutor(1) as executor, pytest.raises(WorkerDied, match="with status 7"):
        executor.submit(left).result()


@pytest.mark.parametrize(
    "ahead", [pytest.param(0, marks=pytest.mark.thorough), 1, pytest.param(2, marks=pytest.mark.thorough)]
)
def test_only_the_tasks_that_kill_are_lost(ahead: int) -> None:
    """Whatever waited at the process that died."""
    deadly = {1, 2, 7}
    with ProcessExecutor(2, ahead=ahead) as executor:
        futures = [executor.submit(killed_if, number in deadly, number) for number in range(12)]
        for number, future in enumerate(futures):
            if number in deadly:
                assert isinstance(future.exception(), WorkerDied)
            else:
                assert future.result() == number


@pytest.mark.thorough
def test_a_process_killed_while_it_is_idle_is_replaced() -> None:
    with ProcessExecutor(1) as executor:
        first = executor.submit(own_id).result()
        os.kill(first, signal.SIGKILL)
        until(lambda: first not in executor.processes)
        assert executor.submit(own_id).result() != first


@pytest.mark.thorough
def test_others_work_on_while_one_is_replaced(tmp_path: Path) -> None:
    with ProcessExecutor(2) as executor:
        slow = executor.submit(waited_for, tmp_path / "go")
        dead = executor.submit(killed)
        assert isinstance(dead.exception(), WorkerDied)
        others = [executor.submit(own_id).result() for _ in range(3)]
        (tmp_path / "go").touch()
        assert slow.result() not in others


@pytest.mark.thorough
def test_processes_that_cannot_start_are_an_error_not_an_endless_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "serve", ended_at_once)
    with ProcessExecutor(2) as executor:
        futures = [executor.submit(square, number) for number in range(9)]
        for future in futures:
            with pytest.raises(BrokenExecutor, match="processes do not start: its process ended with status 5"):
                future.result(60)
        with pytest.raises(BrokenExecutor, match="do not start"):
            executor.submit(square, 1)


def ended_at_once(_: object) -> None:
    os._exit(5)


# --- The end -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_end_waits_for_all_tasks() -> None:
    with ProcessExecutor(2, ahead=1) as executor:
        futures = [executor.submit(square, number) for number in range(50)]
    assert [future.result(0) for future in futures] == [number * number for number in range(50)]
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(square, 1)


@pytest.mark.parametrize("function", [pytest.param(sleep_long, marks=pytest.mark.thorough), compute_long])
def test_the_end_ends_what_is_being_worked_on(tmp_path: Path, function: Callable[[Path], None]) -> None:
    executor = ProcessExecutor(2)
    futures: list[Future[None]] = [executor.submit(function, tmp_path) for _ in range(5)]
    until(lambda: len(pids_of(tmp_path)) == 2)
    executor.shutdown(cancel_futures=True)
    assert not any(map(is_alive, pids_of(tmp_path)))
    wait(futures, 0)
    assert [type(failure(future)) for future in futures] == [WorkerDied] * 2 + [CancelledError] * 3


def failure(future: Future[None]) -> BaseException | None:
    try:
        return future.exception(0)
    except CancelledError as error:
        return error


def test_an_exception_ends_all_processes(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), ProcessExecutor(1) as executor:
        interrupted(executor, tmp_path)
    assert not any(map(is_alive, pids_of(tmp_path)))


def interrupted(executor: ProcessExecutor, folder: Path) -> None:
    executor.submit(sleep_long, folder)
    until(lambda: pids_of(folder))
    raise KeyboardInterrupt


def test_an_executor_without_tasks() -> None:
    with ProcessExecutor(2):
        pass
    executor = ProcessExecutor(2)
    executor.shutdown(wait=False)
    executor.shutdown()


PROGRAM = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.core.processes import test_process_pool as test_workers
from simcodesign.core.processes.process_pool import ProcessExecutor

if __name__ == "__main__":
    executor = ProcessExecutor(2, ahead=1)
    for _ in range(4):
        executor.submit(test_workers.{function}, Path({folder!r}))
    if {leaves}:
        test_workers.until(lambda: len(test_workers.pids_of(Path({folder!r}))) == 2)
    else:
        time.sleep(600)
"""


def program(folder: Path, function: str, leaves: bool = False) -> subprocess.Popen[bytes]:
    script = folder / "program.py"
    script.write_text(PROGRAM.format(tests=str(ROOT), function=function, folder=str(folder), leaves=leaves))
    return subprocess.Popen(
        [sys.executable, str(script)], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE
    )


@pytest.mark.thorough
@pytest.mark.parametrize("function", ["sleep_long", "compute_long"])
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_no_process_outlives_the_program(tmp_path: Path, function: str, number: signal.Signals) -> None:
    """Nor one that is in compiled code, which no thread of it can stop."""
    with program(tmp_path, function) as process:
        until(lambda: len(pids_of(tmp_path)) == 2)
        assert all(map(is_alive, pids_of(tmp_path)))
        process.send_signal(number)
        assert process.wait(10) == -number
        until(lambda: not any(map(is_alive, pids_of(tmp_path))), 5)


@pytest.mark.thorough
def test_a_program_that_forgets_its_processes_ends(tmp_path: Path) -> None:
    with program(tmp_path, "sleep_long", leaves=True) as process:
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert len(pids_of(tmp_path)) == 2
    assert not any(map(is_alive, pids_of(tmp_path)))
