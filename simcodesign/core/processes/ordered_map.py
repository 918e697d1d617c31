"""A function of 1, 2, 3 ...: its values in order, computed here, or by other processes if that saves time.

The values and their order are the same for any number of processes.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from simcodesign.core.errors import SimcodesignError
from simcodesign.core.processes.process_pool import ProcessExecutor, WorkerDied

T = TypeVar("T")

#: Processes are started if they would save at least this many seconds: each has to import NumPy and SciPy first.
MIN_SAVING_S = 3.0
#: Numbers handed out ahead for each process, and attempts at a number whose process dies.
AHEAD, TRIES = 2, 3


def map_in_order(
    task: Callable[[int], T], last: int, workers: int, spent_s: float, sure: bool = True
) -> Generator[T, None, None]:
    """Yield ``task(1)``, ``task(2)`` ... ``task(last - 1)``; close the generator to stop early.

    ``task``: picklable if ``workers``, the largest number of processes, is above 1. ``spent_s``: seconds that
    ``task(0)`` took. ``sure``: whether all values will be used; if not, as many more are expected as there were so far.
    Raises what the task raises, and SimcodesignError when it ends its process again and again.
    """
    for number in range(1, last):
        left = last - number if sure else min(number, last - number)
        if workers > 1 and spent_s / number * left * (1 - 1 / workers) >= MIN_SAVING_S:
            yield from _by_processes(task, number, last, workers)
            return
        began = time.monotonic()
        value = task(number)
        spent_s += time.monotonic() - began
        yield value


def _by_processes(task: Callable[[int], T], first: int, last: int, workers: int) -> Generator[T, None, None]:
    """Yield the values from ``first`` on, computed by processes that work a few numbers ahead."""
    with tempfile.TemporaryDirectory(prefix="simcodesign-") as folder, ProcessExecutor(workers) as executor:
        path = Path(folder) / "task.pickle"
        path.write_bytes(pickle.dumps(task, pickle.HIGHEST_PROTOCOL))  # once, however large the task is
        under_way: deque[Future[T]] = deque()
        numbers = count(first)
        for number in range(first, last):
            while len(under_way) < AHEAD * workers and (ahead := next(numbers)) < last:
                under_way.append(executor.submit(_by_file, str(path), ahead))
            yield _value_of(executor, under_way.popleft(), str(path), number)


def _value_of(executor: ProcessExecutor, future: Future[T], path: str, number: int) -> T:
    """Return the value at ``number``, which is tried again if its process dies."""
    for trial in range(1, TRIES + 1):
        try:
            return future.result()
        except WorkerDied as error:
            if trial == TRIES:
                raise SimcodesignError(f"run {number + 1} ended its process {TRIES} times: {error}") from None
            future = executor.submit(_by_file, path, number)
    raise AssertionError("a loop that returns or raises")


def _by_file(path: str, number: int) -> Any:
    return _task_of(path)(number)


@lru_cache(maxsize=1)
def _task_of(path: str) -> Callable[[int], Any]:
    task: Callable[[int], Any] = pickle.loads(Path(path).read_bytes())
    return task
