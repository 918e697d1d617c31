"""Compile what Numba compiles, once, before the processes of the tests start: ``python -m tests.compile_first``.

What is compiled is kept on the disk, so that this takes a minute once and two seconds from then on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import simcodesign
from simcodesign.core.jit import HAVE_NUMBA
from simcodesign.describe.goal.format import read_goal, write_goal
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.simulate import lru_hits, simulate_hierarchy
from simcodesign.locality.stack.distances import reuse_profile, stack_profile
from simcodesign.locality.streams.from_profile import synthetic_stream
from simcodesign.locality.streams.kernels import kernel_trace
from simcodesign.locality.traces.formats import open_trace


def engine() -> None:
    simcodesign.simulate("jacobi", "torus-cluster", {"P": 4}, effects="all", engine="compiled")


def locality() -> None:
    trace = kernel_trace("triad", n=100)
    profile = stack_profile(trace, 8)
    synthetic_stream(profile, 100, seed=0)
    reuse_profile(trace, 8)
    simulate_hierarchy(trace, [CacheGeometry(4096, ways=8)])
    lru_hits(np.arange(100) * 64, 8)


def files() -> None:
    with tempfile.TemporaryDirectory() as folder:
        goal, text = Path(folder, "a.goal"), Path(folder, "a.lackey")
        write_goal(simcodesign.schedule_of("jacobi", "torus-cluster", {"P": 4}), goal)
        read_goal(goal)
        text.write_text(" L 1ffe0,8\n S 1ffe8,8\n")
        list(open_trace(text).chunks())


def main() -> None:
    """Compile in two processes."""
    if HAVE_NUMBA:
        tasks: list[Callable[[], None]] = [engine, locality, files]
        with ProcessPoolExecutor(2) as executor:
            for done in [executor.submit(task) for task in tasks]:
                done.result()


if __name__ == "__main__":
    main()
