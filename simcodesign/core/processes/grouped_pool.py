"""A pool of processes for tasks that come in groups: each process stays with one group as long as it has tasks.

Tasks of a group may share work, which a process then does once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any

from simcodesign.core.processes.process_pool import ProcessExecutor, WorkerDied

#: Makes the function that does the tasks; it is called once in each process.
Prepare = Callable[..., Callable[[str], Any]]


@dataclass(eq=False)
class _Slot:
    """A process, the task that it works on and the group of that; a process that dies is replaced in the same slot."""

    executor: ProcessExecutor
    task: str = ""
    group: str = ""


class GroupedPool:
    """A context manager; at its end no process is left. ``arguments`` of ``prepare`` must be hashable."""

    def __init__(self, processes: int, prepare: Prepare, arguments: tuple[Any, ...]) -> None:
        self._count, self._prepare, self._arguments = processes, prepare, arguments
        self._stack = ExitStack()

    def __enter__(self) -> GroupedPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def results(self, groups: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        """Yield every task with its result, in the order of completion; if a process died, a text that describes how.

        ``groups``: the group of each task.
        """
        left, under_way = dict(groups), dict[Future[Any], _Slot]()
        slots = [_Slot(self._stack.enter_context(ProcessExecutor(1))) for _ in range(min(self._count, len(left)))]
        for slot in slots:
            under_way[self._submit(slot, slots, left)] = slot
        while under_way:
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                slot = under_way.pop(future)
                task = slot.task
                if left:
                    under_way[self._submit(slot, slots, left)] = slot
                yield task, _result_of(future)

    def _submit(self, slot: _Slot, slots: list[_Slot], left: dict[str, str]) -> Future[Any]:
        slot.task = _next_task(slot.group, {other.group for other in slots}, left)
        slot.group = left.pop(slot.task)
        try:
            return slot.executor.submit(_run, self._prepare, self._arguments, slot.task)
        except BrokenExecutor as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future


def _next_task(group: str, taken: set[str], left: Mapping[str, str]) -> str:
    """Return a task of the same group, otherwise of a group that no process works on, otherwise the first."""
    same = next((name for name, other in left.items() if other == group), "")
    return same or next((name for name, other in left.items() if other not in taken), "") or next(iter(left))


def _result_of(future: Future[Any]) -> Any:
    try:
        return future.result()
    except (WorkerDied, BrokenExecutor) as error:
        return str(error)


def _run(prepare: Prepare, arguments: tuple[Any, ...], task: str) -> Any:
    """Run in the other process."""
    return _prepared(prepare, arguments)(task)


@lru_cache(maxsize=1)
def _prepared(prepare: Prepare, arguments: tuple[Any, ...]) -> Callable[[str], Any]:
    return prepare(*arguments)
