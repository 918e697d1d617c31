"""Everything that Numba compiles, compiled ahead of its first use."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from simcodesign.core.processes.process_pool import ProcessExecutor
from simcodesign.describe.goal.format import read_goal, write_goal
from simcodesign.engine.simulate import schedule_of
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.simulate import lru_hits, simulate_hierarchy
from simcodesign.locality.streams.kernels import kernel_trace


def compile_all(jobs: int) -> None:
    """Compile what is not compiled yet, in ``jobs`` processes, which Ctrl-C ends."""
    tasks: list[Callable[[], None]] = [_locality, _files]
    with ProcessExecutor(min(jobs, len(tasks))) as executor:
        for done in [executor.submit(task) for task in tasks]:
            done.result()


def _locality() -> None:
    trace = kernel_trace("triad", n=100)
    for ways in (8, 64):  # sets so large are listed: code of its own
        simulate_hierarchy(trace, [CacheGeometry(4096, ways=ways)])
    lru_hits(np.arange(100) * 64, 8)


def _files() -> None:
    with tempfile.TemporaryDirectory() as folder:
        goal = Path(folder, "a.goal")
        write_goal(schedule_of("jacobi", "torus-cluster", {"P": 4}), goal)
        read_goal(goal)
