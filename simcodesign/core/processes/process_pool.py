"""Processes that work for a program: each dies alone, hears no Ctrl-C, and ends with the program.

``ProcessExecutor`` is a ``concurrent.futures.Executor``. The standard library's ProcessPoolExecutor gives up all tasks
when one process dies, and cannot end its processes before Python 3.14. Here a task whose process dies gets
``WorkerDied``, and the other tasks go on.

One thread of the program starts the processes, hands out the tasks, and hears the answers; nothing is shared between
processes, so that none can die with a lock in its hand.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from simcodesign.core.errors import InputError, SimcodesignError

T = TypeVar("T")
P = ParamSpec("P")

#: Seconds that processes have to end by themselves: those that are idle, and those that are told to stop work.
GRACE_S, STOP_S = 5.0, 0.5
#: So many processes in a row may die before they are ready for work.
FALSE_STARTS = 3
#: Tasks that wait at a process while it works are at most so large: they must fit in its pipe, whose reader is busy.
_SMALL_BYTES = 65_536
_THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
#: The environment belongs to the whole program.
_ENVIRONMENT = threading.Lock()


class WorkerDied(SimcodesignError):  # noqa: N818 # what has happened, as KeyboardInterrupt
    """A task has no result, for its process ended; the text says how."""


class RemoteTraceback(Exception):  # noqa: N818 # what a traceback shows
    """The cause of an error that was raised in another process: where it was raised there."""


@dataclass(frozen=True, eq=False)
class _Task:
    future: Future[Any]
    payload: bytes


@dataclass(eq=False)
class _Worker:
    """A process; the first of its tasks is being worked on, others wait in its pipe."""

    process: SpawnProcess
    connection: Connection[Any, Any]
    ready: bool = False
    tasks: deque[_Task] = field(default_factory=deque)


class ProcessExecutor(Executor):
    """Runs functions of modules in up to ``workers`` processes, which start when there are tasks for them.

    ``ahead``: small tasks that may wait at each process while it works, so that it need not wait for its next one;
    0 suits tasks that take long, which should go to whoever is idle. Each process uses one thread. To leave the
    context by an exception (Ctrl-C too) ends all processes at once.
    """

    def __init__(self, workers: int, *, ahead: int = 0) -> None:
        if workers < 1:
            raise InputError("number of processes", value=workers, allowed="1 or more")
        self._most, self._ahead = workers, ahead
        self._lock = threading.Lock()
        self._waiting: deque[_Task] = deque()
        self._workers: dict[Connection[Any, Any], _Worker] = {}
        self._thread: threading.Thread | None = None
        self._closing = self._stopping = self._woken = False
        self._broken, self._false_starts = "", 0
        self._context = multiprocessing.get_context("spawn")  # a fork would copy the locks of threads
        self._ears, self._bell = multiprocessing.Pipe(duplex=False)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """As Executor.submit. Raises what pickling the task raises, and BrokenExecutor when no process can start."""
        payload = pickle.dumps((fn, args, kwargs), pickle.HIGHEST_PROTOCOL)
        future: Future[T] = Future()
        with self._lock:
            if self._broken:
                raise BrokenExecutor(self._broken)
            if self._closing:
                raise RuntimeError("no task is taken after shutdown")
            self._waiting.append(_Task(future, payload))
            if self._thread is None:
                self._thread = threading.Thread(target=self._manage, name="workers", daemon=True)
                self._thread.start()
                atexit.register(self.shutdown, cancel_futures=True)
            self._wake()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """No more tasks. With ``cancel_futures`` those that are being worked on are ended too, within a second."""
        with self._lock:
            self._closing = True
            self._stopping |= cancel_futures
            thread = self._thread
            if thread is None:
                self._ears.close()
                self._bell.close()
                return
            self._wake()
        if wait and thread is not threading.current_thread():
            thread.join()
            atexit.unregister(self.shutdown)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with uninterrupted() if kind else contextlib.nullcontext():
            self.shutdown(cancel_futures=kind is not None)

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that there are now."""
        return tuple(pid for worker in [*self._workers.values()] if (pid := worker.process.pid) is not None)

    # --- What follows runs in the thread, except _wake --------------------------------------------------------

    def _wake(self) -> None:
        """The thread looks at what has changed; with the lock held."""
        if not self._woken and not self._bell.closed:
            self._woken = True
            self._bell.send_bytes(b"!")

    def _manage(self) -> None:
        try:
            while not self._is_over():
                self._start_missing()
                self._hand_out()
                for connection in wait([self._ears, *self._workers]):
                    if connection is self._ears:
                        self._wakened()
                    else:
                        self._hear(self._workers[connection])  # type: ignore[index] # only connections are waited for
        except Exception as error:  # else those who wait for a result would wait for ever
            self._give_up(f"{type(error).__name__}: {error}")
            self._stopping = True
        finally:
            self._end()

    def _is_over(self) -> bool:
        busy = self._waiting or any(worker.tasks for worker in self._workers.values())
        return self._stopping or (self._closing and not busy)

    def _wakened(self) -> None:
        with self._lock:
            self._ears.recv_bytes()
            self._woken = False

    def _start_missing(self) -> None:
        """As many processes as there is work for."""
        idle = sum(not worker.tasks for worker in self._workers.values())
        while idle < len(self._waiting) and len(self._workers) < self._most and not self._broken:
            idle += 1
            try:
                self._start()
            except OSError as error:
                self._false_start(f"no process can be started: {error.strerror or error}")

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,))
        try:
            with quiet_start():
                process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._workers[ours] = _Worker(process, ours)

    def _hand_out(self) -> None:
        """Tasks to those who are idle first, then some to wait at those who work."""
        for level in range(1 + self._ahead):
            for worker in [*self._workers.values()]:
                if worker.ready and len(worker.tasks) == level and not self._give(worker, level > 0):
                    return

    def _give(self, worker: _Worker, small: bool) -> bool:
        """Whether the next task could be given to a process."""
        while self._waiting:
            if small and len(self._waiting[0].payload) > _SMALL_BYTES:
                return False
            task = self._waiting.popleft()
            if task.future.running() or task.future.set_running_or_notify_cancel():  # or it waited at one that died
                worker.tasks.append(task)
                with contextlib.suppress(OSError):  # it has died: its connection says so next
                    worker.connection.send_bytes(task.payload)
                return True
        return False

    def _hear(self, worker: _Worker) -> None:
        try:
            answer = worker.connection.recv_bytes()
        except (EOFError, OSError):
            self._died(worker)
            return
        if not worker.ready:
            worker.ready, self._false_starts = True, 0
            return
        task = worker.tasks.popleft()
        self._hand_out()  # before the program hears of the result, which may take its time
        _settle(task.future, answer)

    def _died(self, worker: _Worker) -> None:
        """The task that it was at is lost; those that waited in its pipe wait again."""
        how = self._buried(worker, GRACE_S)
        lost = worker.tasks.popleft() if worker.tasks else None
        for task in reversed(worker.tasks):
            self._waiting.appendleft(task)
        if lost:
            lost.future.set_exception(WorkerDied(how))
        if not worker.ready:
            self._false_start(f"processes do not start: {how}")

    def _false_start(self, what: str) -> None:
        self._false_starts += 1
        if self._false_starts >= FALSE_STARTS:
            self._give_up(what)

    def _give_up(self, what: str) -> None:
        with self._lock:
            self._broken = what
        while self._waiting:
            _fail(self._waiting.popleft().future, BrokenExecutor(what))

    def _buried(self, worker: _Worker, grace_s: float) -> str:
        """Wait for the end of a process, with force where it takes too long; how it ended."""
        process = worker.process
        process.join(grace_s)
        if process.is_alive():
            process.kill()
            process.join()
        self._workers.pop(worker.connection, None)
        worker.connection.close()
        how = _how_it_ended(process.exitcode)
        process.close()
        return how

    def _end(self) -> None:
        """No process is left, and nobody waits for a result."""
        for worker in self._workers.values():
            if self._stopping:
                worker.process.terminate()
            else:
                with contextlib.suppress(OSError):
                    worker.connection.send_bytes(b"")
        until = time.monotonic() + (STOP_S if self._stopping else GRACE_S)
        for worker in [*self._workers.values()]:
            self._buried(worker, max(until - time.monotonic(), 0))
            for task in worker.tasks:
                _fail(task.future, WorkerDied("its process was ended before it was done"))
        with self._lock:
            self._closing = True
            while self._waiting:
                self._waiting.popleft().future.cancel()
            self._bell.close()
            self._ears.close()


def _settle(future: Future[Any], answer: bytes) -> None:
    """The result or the error that a process has sent."""
    try:
        done, value, where = pickle.loads(answer)
    except Exception as error:  # what can be pickled there need not be readable here
        future.set_exception(error)
        return
    if done:
        future.set_result(value)
    else:
        value.__cause__ = RemoteTraceback(f"\n{where}")
        future.set_exception(value)


def _fail(future: Future[Any], error: Exception) -> None:
    if not future.done() and (future.running() or future.set_running_or_notify_cancel()):
        future.set_exception(error)


def _how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was ended by signal {-code}"
    return f"its process ended with status {code}"


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """An interrupt waits until this is over, also in processes that are started meanwhile."""
    resource_tracker.ensure_running()  # else it starts with the first process, and lets interrupts in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Processes that start now use one thread each and leave Ctrl-C to their parent."""
    with _ENVIRONMENT, uninterrupted():
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


# --- In the other processes ----------------------------------------------------------------------------------


def _serve(connection: Connection[Any, Any]) -> None:
    """Work until nothing more is asked, or nobody is there to ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    with contextlib.suppress(EOFError, OSError):
        connection.send_bytes(b"ready")
        while payload := connection.recv_bytes():
            connection.send_bytes(_answer(payload))


def _answer(payload: bytes) -> bytes:
    try:
        function, arguments, options = pickle.loads(payload)
        return pickle.dumps((True, function(*arguments, **options), ""), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # whatever a task may raise
        return pickle.dumps((False, _portable(error), traceback.format_exc()), pickle.HIGHEST_PROTOCOL)


def _portable(error: Exception) -> Exception:
    """The error, or its text where its type does not survive the way."""
    with contextlib.suppress(Exception):  # what pickling may raise has no common base
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def end_with_parent() -> None:
    """This process ends when the one that started it does, even while it is in compiled code.

    The parent holds one end of a pipe, which closes with it. The signal that says so (SIGIO) ends a process by
    default; a thread would wait for the interpreter, which compiled code may hold for minutes. The thread is for
    systems without that signal, and for a parent that is gone already.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    pipe = parent.sentinel
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=_watch, args=(pipe,), daemon=True).start()


def _watch(pipe: int) -> None:
    wait([pipe])
    os._exit(1)
