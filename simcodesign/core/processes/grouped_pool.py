"""A few processes that answer questions; each goes on with the group of questions that it is at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any

from simcodesign.core.processes.process_pool import ProcessExecutor, WorkerDied

#: Makes the function that answers questions, in each process once.
Prepare = Callable[..., Callable[[str], Any]]


@dataclass(eq=False)
class _Seat:
    """A process and what it is asked; one that dies is replaced at the same seat."""

    executor: ProcessExecutor
    question: str = ""
    group: str = ""


class Pool:
    """A context manager; at its end no process is left. ``arguments`` of ``prepare`` must be hashable."""

    def __init__(self, processes: int, prepare: Prepare, arguments: tuple[Any, ...]) -> None:
        self._count, self._prepare, self._arguments = processes, prepare, arguments
        self._stack = ExitStack()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def answers(self, questions: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        """Every question with its answer, as they come; a text says why there is none.

        ``questions``: the group of each. A process goes on with the group it is at, whose answers may share work.
        """
        left, asked = dict(questions), dict[Future[Any], _Seat]()
        seats = [_Seat(self._stack.enter_context(ProcessExecutor(1))) for _ in range(min(self._count, len(left)))]
        for seat in seats:
            asked[self._ask(seat, seats, left)] = seat
        while asked:
            for future in wait(asked, return_when=FIRST_COMPLETED).done:
                seat = asked.pop(future)
                question = seat.question
                if left:
                    asked[self._ask(seat, seats, left)] = seat
                yield question, _answer_of(future)

    def _ask(self, seat: _Seat, seats: list[_Seat], left: dict[str, str]) -> Future[Any]:
        seat.question = _chosen(seat.group, {other.group for other in seats}, left)
        seat.group = left.pop(seat.question)
        try:
            return seat.executor.submit(_answered, self._prepare, self._arguments, seat.question)
        except BrokenExecutor as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future


def _chosen(group: str, taken: set[str], left: Mapping[str, str]) -> str:
    """Of the same group, else of one that nobody is at, else the first."""
    same = next((name for name, other in left.items() if other == group), "")
    return same or next((name for name, other in left.items() if other not in taken), "") or next(iter(left))


def _answer_of(future: Future[Any]) -> Any:
    try:
        return future.result()
    except (WorkerDied, BrokenExecutor) as error:
        return str(error)


def _answered(prepare: Prepare, arguments: tuple[Any, ...], question: str) -> Any:
    """In another process."""
    return _prepared(prepare, arguments)(question)


@lru_cache(maxsize=1)
def _prepared(prepare: Prepare, arguments: tuple[Any, ...]) -> Callable[[str], Any]:
    return prepare(*arguments)
