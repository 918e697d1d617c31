"""A pool of processes: one that dies takes no other with it, none gets Ctrl-C, and all end with the program.

``ProcessExecutor`` is a ``concurrent.futures.Executor``. The standard library's ProcessPoolExecutor gives up all tasks
when one process dies, and cannot end its processes before Python 3.14. Here a task whose process dies fails with
``WorkerDied``, and the other tasks continue.

One thread of the program starts the processes, hands out the tasks and receives the results. Processes share nothing,
so that none can die while it holds a lock.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
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
from simcodesign.core.processes.worker import serve

T = TypeVar("T")
P = ParamSpec("P")

#: Seconds after which a process is killed: one that is idle and should end, and one that is terminated at its work.
GRACE_S, STOP_S = 5.0, 0.5
#: So many processes in a row may die before they are ready for work.
FALSE_STARTS = 3
#: The largest task that is handed to a busy process: it must fit in the pipe, which that process does not read now.
_SMALL_BYTES = 65_536
_THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
#: The environment belongs to the whole program.
_ENVIRONMENT = threading.Lock()


class WorkerDied(SimcodesignError):  # noqa: N818 # what has happened, as KeyboardInterrupt
    """A task has no result, because its process ended; the message describes how."""


class RemoteTraceback(Exception):  # noqa: N818 # what a traceback shows
    """The cause of an error that was raised in another process, with the traceback there."""


@dataclass(frozen=True, eq=False)
class _Task:
    future: Future[Any]
    payload: bytes


@dataclass(eq=False)
class _Worker:
    """A process and its tasks: it works on the first, the others wait in its pipe."""

    process: SpawnProcess
    connection: Connection[Any, Any]
    ready: bool = False
    ended: bool = False  # it was asked to stop, and gets no further task
    tasks: deque[_Task] = field(default_factory=deque)


class ProcessExecutor(Executor):
    """Runs functions of modules in up to ``workers`` processes, which start when there are tasks for them.

    ``ahead``: small tasks that may wait at each process while it works, so that it need not wait for its next one;
    0 suits tasks that take long, which should go to an idle process. Each process uses one thread. Leaving the
    context by an exception (Ctrl-C too) ends all processes immediately.
    """

    def __init__(self, workers: int, *, ahead: int = 0) -> None:
        if workers < 1:
            raise InputError("not a number of processes", value=workers, allowed="1 or more")
        self._most, self._ahead = workers, ahead
        self._lock = threading.Lock()
        self._waiting: deque[_Task] = deque()
        self._unwanted: deque[Future[Any]] = deque()
        self._workers: dict[Connection[Any, Any], _Worker] = {}
        self._thread: threading.Thread | None = None
        self._closing = self._stopping = self._woken = False
        self._broken, self._false_starts = "", 0
        self._context = multiprocessing.get_context("spawn")  # a fork would copy the locks of threads
        self._wake_reader, self._wake_writer = multiprocessing.Pipe(duplex=False)

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

    def stop(self, future: Future[Any]) -> None:
        """End the work on a task of an executor without ``ahead``: one that waits is cancelled.

        If it is worked on, its process is ended, and it fails with WorkerDied. What is done stays so; another process
        takes over.
        """
        if future.cancel() or future.done():
            return
        with self._lock:
            self._unwanted.append(future)
            self._wake()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """No more tasks. With ``cancel_futures`` those that are being worked on are ended too, within a second."""
        with self._lock:
            self._closing = True
            self._stopping |= cancel_futures
            thread = self._thread
            if thread is None:
                self._wake_reader.close()
                self._wake_writer.close()
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
        """Make the thread look at what has changed; call it with the lock held."""
        if not self._woken and not self._wake_writer.closed:
            self._woken = True
            self._wake_writer.send_bytes(b"!")

    def _manage(self) -> None:
        try:
            while not self._is_over():
                self._start_missing()
                self._hand_out()
                for connection in wait([self._wake_reader, *self._workers]):
                    if connection is self._wake_reader:
                        self._clear_wake_up()
                    else:
                        self._receive(self._workers[connection])  # type: ignore[index] # wait() returns what it was given
                self._end_unwanted()
        except Exception as error:  # otherwise the callers that wait for a result would wait for ever
            self._give_up(f"{type(error).__name__}: {error}")
            self._stopping = True
        finally:
            self._end()

    def _is_over(self) -> bool:
        busy = self._waiting or any(worker.tasks for worker in self._workers.values())
        return self._stopping or (self._closing and not busy)

    def _clear_wake_up(self) -> None:
        with self._lock:
            self._wake_reader.recv_bytes()
            self._woken = False

    def _start_missing(self) -> None:
        """As many processes as there is work for."""
        idle = sum(not worker.tasks and not worker.ended for worker in self._workers.values())
        while idle < len(self._waiting) and len(self._workers) < self._most and not self._broken:
            idle += 1
            try:
                self._start()
            except OSError as error:
                self._false_start(f"no process can be started: {error.strerror or error}")

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs,))
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
        """Tasks to idle processes first, then small ones to those that work."""
        for level in range(1 + self._ahead):
            for worker in [*self._workers.values()]:
                is_free = worker.ready and not worker.ended and len(worker.tasks) == level
                if is_free and not self._give(worker, level > 0):
                    return

    def _give(self, worker: _Worker, small: bool) -> bool:
        """Give the next task to a process; return whether it could."""
        while self._waiting:
            if small and len(self._waiting[0].payload) > _SMALL_BYTES:
                return False
            task = self._waiting.popleft()
            if (
                task.future.running() or task.future.set_running_or_notify_cancel()
            ):  # or it waited at a process that died
                worker.tasks.append(task)
                with contextlib.suppress(OSError):  # it has died, as reading its connection will show
                    worker.connection.send_bytes(task.payload)
                return True
        return False

    def _end_unwanted(self) -> None:
        """End the processes that work on tasks which are to stop, unless they have answered."""
        while self._unwanted:
            future = self._unwanted.popleft()
            for worker in self._workers.values():
                if worker.tasks and worker.tasks[0].future is future and not worker.connection.poll():
                    worker.ended = True
                    worker.process.terminate()

    def _receive(self, worker: _Worker) -> None:
        try:
            reply = worker.connection.recv_bytes()
        except (EOFError, OSError):
            self._died(worker)
            return
        if not worker.ready:
            worker.ready, self._false_starts = True, 0
            return
        task = worker.tasks.popleft()
        self._hand_out()  # before the callbacks of the result run, which may take long
        _settle(task.future, reply)

    def _died(self, worker: _Worker) -> None:
        """Fails the task that a dead process worked on; those that waited in its pipe are handed out again."""
        how = self._end_of(worker, GRACE_S)
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

    def _end_of(self, worker: _Worker, grace_s: float) -> str:
        """Wait for a process to end, and kill it after ``grace_s``; return how it ended."""
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
        """End all processes, and cancel or fail the tasks that are left."""
        for worker in self._workers.values():
            if self._stopping:
                worker.process.terminate()
            else:
                with contextlib.suppress(OSError):
                    worker.connection.send_bytes(b"")
        until = time.monotonic() + (STOP_S if self._stopping else GRACE_S)
        for worker in [*self._workers.values()]:
            self._end_of(worker, max(until - time.monotonic(), 0))
            for task in worker.tasks:
                _fail(task.future, WorkerDied("its process was ended before it was done"))
        with self._lock:
            self._closing = True
            while self._waiting:
                self._waiting.popleft().future.cancel()
            self._wake_writer.close()
            self._wake_reader.close()


def _settle(future: Future[Any], reply: bytes) -> None:
    """Store the result or the error that a process has sent."""
    try:
        succeeded, value, where = pickle.loads(reply)
    except Exception as error:  # what was pickled there need not be readable here
        future.set_exception(error)
        return
    if succeeded:
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
    """Delay SIGINT until the end of the block, also in processes started in it; no effect on Windows."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else it starts with the first process, and lets interrupts in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Let processes started in the block use one thread each and leave Ctrl-C to their parent."""
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
