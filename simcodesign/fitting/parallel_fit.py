"""Fitting many series: block by block in bounded memory, and by several processes if that is worth their start.

The series are fitted in blocks of a size that depends on the search alone, never on who works on them: the results are
the same to the last bit, whatever the number of processes. Work begins at home; processes are started when they would
save more than their start takes (``WORTH_S``: each has to import NumPy and SciPy, about a second).

Each process uses one thread: the matrices are small, and threads of the linear algebra library that wait for each
other cost more processor time than the work itself.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, Unpack

from simcodesign.core.errors import SimcodesignError
from simcodesign.core.processes.process_pool import ProcessExecutor, WorkerDied
from simcodesign.fitting.batch_predictions import rows_of
from simcodesign.fitting.fit import FitKeywords, Fits, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.selection.exponent_sets import exponent_set
from simcodesign.fitting.selection.term_basis import is_listed

T = TypeVar("T")

#: Series of a block: all of one basis of terms; fewer if each takes long.
BLOCK, FEW, FEWEST = 256, 64, 4
#: Candidate terms from which on a series takes long.
_MANY_SHAPES = 10_000
#: Seconds that processes must save, were they there already, to be started.
WORTH_S = 3.0
#: Blocks that wait or are being worked on, for each process: memory stays bounded.
_AHEAD = 2


@dataclass(frozen=True)
class Task(Generic[T]):
    """Work on each block of series: fit it with these options of ``fit``, and convert the result."""

    make: Callable[[Fits], T]
    options: FitKeywords

    def __call__(self, measurements: Measurements) -> T:
        return self.make(fit(measurements, **self.options))


def fitted(
    measurements: Measurements,
    make: Callable[[Fits], T],
    *,
    jobs: int = 1,
    on_progress: Callable[[int], object] | None = None,
    min_saving_s: float | None = None,
    **options: Unpack[FitKeywords],
) -> Iterator[T]:
    """``make(fits)`` of each block of series, in their order; ``make`` must be picklable where ``jobs`` > 1.

    ``jobs``: the most processes. ``options``: options of ``fit``. ``on_progress``: called with the number of series
    that were finished. ``min_saving_s``: seconds of work saved from which on processes are started,
    by default ``WORTH_S``.
    Raises what ``fit`` raises, and SimcodesignError when a process dies.
    """
    task = Task(make, options)
    size = block_size(measurements, options)
    total, done, spent = len(measurements.regions), 0, 0.0
    least_s = WORTH_S if min_saving_s is None else min_saving_s
    while done < total:
        if jobs > 1 and total - done > size and _left(spent, done, total, jobs) > least_s:
            break
        began = time.monotonic()
        part = rows_of(measurements, slice(done, done + size))
        made = task(part)
        done, spent = done + len(part.regions), spent + time.monotonic() - began
        if on_progress:
            on_progress(len(part.regions))
        yield made
    if done < total:
        parts = (rows_of(measurements, slice(start, start + size)) for start in range(done, total, size))
        yield from _pooled(parts, task, min(jobs, math.ceil((total - done) / size)), on_progress)


def joined(measurements: Measurements, parts: Sequence[Fits]) -> Fits:
    """Return the fits of all series, from the fits of blocks in their order."""
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    blocks = [(at + start, ranked) for at, part in zip(starts, parts, strict=False) for start, ranked in part.blocks]
    return replace(parts[0], measurements=measurements, blocks=tuple(blocks))


def _left(spent: float, done: int, total: int, jobs: int) -> float:
    """Seconds that several processes would save, were they there already."""
    return spent / done * (total - done) * (1 - 1 / jobs) if done else 0.0


def block_size(measurements: Measurements, options: FitKeywords) -> int:
    """Series of a block."""
    pairs = exponent_set(options.get("exponents", "extrap")).pairs
    choices = 1 + len(pairs) * (2 if options.get("negative_exponents") else 1) + len(options.get("collectives", ()))
    axes = [choices] * len(measurements.parameters)
    if not is_listed(axes):
        return FEWEST
    return FEW if math.prod(axes) > _MANY_SHAPES else BLOCK


def _pooled(
    parts: Iterator[Measurements], task: Task[T], jobs: int, on_progress: Callable[[int], object] | None
) -> Iterator[T]:
    waiting: deque[tuple[int, Future[T]]] = deque()
    over = False
    with ProcessExecutor(jobs) as executor:
        while not over or waiting:
            while not over and len(waiting) < _AHEAD * jobs:
                part = next(parts, None)
                over = part is None
                if part is not None:
                    waiting.append((len(part.regions), executor.submit(task, part)))
            if waiting:
                series, future = waiting.popleft()
                made = _answered(future)
                if on_progress:
                    on_progress(series)
                yield made


def _answered(future: Future[T]) -> T:
    try:
        return future.result()
    except (BrokenExecutor, WorkerDied) as error:
        what = "a process that fitted models ended before it was done, perhaps for want of memory"
        raise SimcodesignError(f"{what} (with -j 1 there is one process only)") from error
