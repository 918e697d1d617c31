"""A few processes that answer questions: what dies takes only its own question with it, and an interrupt leaves none.

The standard library's ProcessPoolExecutor gives up all questions when one process dies, and cannot end its processes
before Python 3.14.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any

#: Makes the function that answers questions, in each process once.
Prepare = Callable[..., Callable[[str], Any]]
GRACE_S = 5.0


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection[Any, Any]
    question: str = ""
    group: str = ""


class Pool:
    """A context manager; at its end no process is left."""

    def __init__(self, processes: int, prepare: Prepare, arguments: tuple[Any, ...]) -> None:
        self._count, self._prepare, self._arguments = processes, prepare, arguments
        self._context = multiprocessing.get_context("spawn")  # a fork would copy the locks of threads
        self._workers: dict[Connection[Any, Any], _Worker] = {}

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _uninterrupted():
            for worker in self._workers.values():
                worker.process.terminate()
            for worker in [*self._workers.values()]:
                self._buried(worker)

    def answers(self, questions: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        """Every question with its answer, as they come; a text says why there is none.

        ``questions``: the group of each. A process goes on with the group it is at, whose answers may share work.
        """
        left = dict(questions)
        for _ in range(min(self._count, len(left))):
            self._ask(self._start(), left)
        while self._workers:
            for connection in wait([*self._workers]):
                worker = self._workers[connection]  # type: ignore[index] # only connections are waited for
                question = worker.question
                try:
                    answer = worker.connection.recv()
                except (EOFError, OSError):
                    answer = self._buried(worker)
                    worker = self._start() if left else worker
                self._ask(worker, left)
                yield question, answer

    def _ask(self, worker: _Worker, left: dict[str, str]) -> None:
        if worker.connection.closed:
            return
        try:
            worker.question = self._chosen(worker.group, left)
            worker.group = left.pop(worker.question, "")
            worker.connection.send(worker.question or None)
        except OSError:
            pass  # it has died: the next wait says so
        if not worker.question:
            self._buried(worker)

    def _chosen(self, group: str, left: Mapping[str, str]) -> str:
        """Of the same group, else of one that nobody is at, else the first."""
        taken = {worker.group for worker in self._workers.values()}
        same = next((name for name, other in left.items() if other == group), "")
        return same or next((name for name, other in left.items() if other not in taken), "") or next(iter(left), "")

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._prepare, self._arguments))
        with _uninterrupted():  # the process inherits this: only its parent answers Ctrl-C, and ends it
            process.start()
            worker = self._workers[ours] = _Worker(process, ours)
            theirs.close()
        return worker

    def _buried(self, worker: _Worker) -> str:
        """Wait for the end of a process, with force where it takes too long; how it ended."""
        worker.process.join(GRACE_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        self._workers.pop(worker.connection, None)
        worker.connection.close()
        code = worker.process.exitcode
        if code is not None and code < 0:
            return f"its process was ended by signal {-code}"
        return f"its process ended with status {code}"


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """An interrupt waits until this is over, also in processes that are started meanwhile."""
    resource_tracker.ensure_running()  # else it starts with the first process, and lets interrupts in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection[Any, Any], prepare: Prepare, arguments: tuple[Any, ...]) -> None:
    """Answer until nothing more is asked, or nobody is there to ask."""
    try:
        answer = prepare(*arguments)
        while (question := connection.recv()) is not None:
            connection.send(answer(question))
    except (EOFError, BrokenPipeError):
        return
