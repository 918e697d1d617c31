"""The lesson ``load-balance``: distributions dealt row by row, tasks drawn one by one, and a queue that is gone through by hand."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import gammainc

from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import formula_times, ladder_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.test_shipped_by_hand import run_of, stop_of
from tests.lessons.test_shipped_numbers import formula_values_of

ROWS, ROW_S, RANKS = 4096, 2e-6, 16
#: Standard errors within which a mean of draws must lie.
ERRORS = 4


def simulated(name: str, **values: float) -> tuple[float, float]:
    """The mean of a run with all effects, and half of its interval of 95 %."""
    run = run_of("load-balance", name)
    mean_s, low_s, _ = ladder_at(run, {slider: stop_of(run, slider, value) for slider, value in values.items()})[-1]
    return float(mean_s), float(mean_s - low_s)


def close(found: tuple[float, float], expected_s: float, own_error_s: float = 0.0) -> bool:
    """Whether a mean of draws lies within its error, and that of what it is compared with."""
    mean_s, half_s = found
    return abs(mean_s - expected_s) <= ERRORS * math.hypot(half_s / 1.96, own_error_s)


def dealt_s(block: int, overhead_s: float) -> list[float]:
    """The work of each rank, row by row."""
    work = [0.0] * RANKS
    for row in range(ROWS):
        work[row // block % RANKS] += (row + 1) * ROW_S
    return [one + ROWS / (block * RANKS) * overhead_s for one in work]


@pytest.mark.parametrize(("block", "overhead_s"), [(1, 1e-3), (8, 1e-3), (256, 1e-3), (32, 0.01)])
def test_the_loop_takes_as_long_as_its_slowest_rank(block: int, overhead_s: float) -> None:
    work = dealt_s(block, overhead_s)
    run = run_of("load-balance", "triangle")
    at = {"block": stop_of(run, "block", block), "overhead": stop_of(run, "overhead", overhead_s)}
    assert formula_times(run)[tuple(at.values())] == pytest.approx(sum(work) / RANKS, rel=1e-9)
    barrier_s = 4 * 1.6e-6
    assert max(work) <= simulated("triangle", block=block, overhead=overhead_s)[0] <= max(work) + 2 * barrier_s


def test_the_best_block_is_where_both_parts_are_equal() -> None:
    """By search in steps of a hundredth of a row, of the excess of the last rank and its blocks."""
    lesson = read_lesson(lesson_folder("load-balance"))
    known, place = formula_values_of(lesson), lesson.runs["triangle"].place
    blocks = np.arange(1, 100, 0.01)
    for name, overhead_s in (("best", 1e-3), ("best_long", 0.01)):
        both_s = ROW_S * blocks * ROWS * (RANKS - 1) / (2 * RANKS) + ROWS / (blocks * RANKS) * overhead_s
        assert known.named(name, place) == pytest.approx(blocks[np.argmin(both_s)], abs=0.02)
    excess_s = max(dealt_s(64, 0)) - sum(dealt_s(64, 0)) / RANKS
    formula_s = ROW_S * 64 * ROWS * (RANKS - 1) / (2 * RANKS)
    assert formula_s == pytest.approx(excess_s, rel=1e-9)


def largest_sum(tasks: int, ranks: int) -> float:
    """The mean of the largest of P sums of exponential times of mean 1: the integral of 1 - F^P."""
    found, _ = quad(lambda x: 1 - gammainc(tasks, x) ** ranks, 0, 20 * tasks + 100, limit=500)
    return float(found)


@pytest.mark.parametrize(("ranks", "tasks"), [(16, 16), (64, 4), (64, 64)])
def test_the_largest_of_random_sums_is_an_integral(ranks: int, tasks: int) -> None:
    expected_s = 0.16 / tasks * largest_sum(tasks, ranks)
    assert close(simulated("static", ranks=ranks, tasks=tasks), expected_s)


def test_the_formula_of_kruskal_and_weiss_is_near_the_integral() -> None:
    """As the lesson states: too high by a few per cent on 64 ranks with 16 tasks, too low with 4."""
    times = formula_times(run_of("load-balance", "largest"))
    run = run_of("load-balance", "largest")
    at = stop_of(run, "ranks", 64)
    errors = [
        times[at, stop_of(run, "tasks", tasks)] / (0.16 / tasks * largest_sum(tasks, 64)) - 1 for tasks in (4, 16)
    ]
    assert -0.1 < errors[0] < 0 < errors[1] < 0.1


def harmonic(count: int) -> float:
    return float(sum(Fraction(1, k) for k in range(1, count + 1)))


def test_a_queue_of_exponential_tasks_is_exact() -> None:
    """All workers are busy until the queue is empty, and the last P take 1 + 1/2 + ... + 1/P means."""
    run = run_of("load-balance", "queue")
    for place, stop in enumerate(run.sliders[0].stops):
        workers = int(stop.value)
        expected_s = 0.01 * (256 / workers - 1 + harmonic(workers))
        assert formula_times(run)[place] == pytest.approx(expected_s, rel=1e-3)
        if workers in (4, 16, 64):
            assert close(simulated("queue", workers=workers), expected_s)


def self_scheduled_s(times: NDArray[np.float64], workers: int) -> float:
    """The end of the last task if the first worker that is free takes the next one."""
    free = [0.0] * workers
    for one in times:
        heapq.heappush(free, heapq.heappop(free) + float(one))
    return max(free)


@pytest.mark.parametrize("chunk", [1, 4, 64])
def test_chunks_are_list_scheduling(chunk: int) -> None:
    """Chunks drawn task by task, with a constant overhead each. The lesson draws a whole chunk with this mean and deviation."""
    random = np.random.default_rng(3)
    ends = []
    for _ in range(2000):
        tasks = random.exponential(0.01, (1024 // chunk, chunk)).sum(axis=1)
        ends.append(self_scheduled_s(tasks + 1e-3, 16))
    found = simulated("chunks", chunk=chunk)
    assert close(found, float(np.mean(ends)), float(np.std(ends)) / math.sqrt(len(ends)))


def test_machines_of_chunks_have_their_mean_and_deviation() -> None:
    for stop in run_of("load-balance", "chunks").sliders[0].stops:
        changes = dict(stop.machine)
        mean_ms = float(str(changes["disk.read_startup"]).removesuffix(" ms"))
        assert mean_ms == 10 * stop.value + 1
        assert changes["noise"]["disk"]["variation"] == f"{100 * 10 * math.sqrt(stop.value) / mean_ms:.4f} %"


@pytest.mark.parametrize("neighbours", [False, True])
def test_waits_are_the_largest_of_those_waited_for(neighbours: bool) -> None:
    """Step by step: a rank begins when the ranks that it waits for are done; 500 draws."""
    random = np.random.default_rng(5)
    ends = []
    for _ in range(500):
        done = np.zeros(64)
        for _ in range(16):
            done = done + random.exponential(0.01, 64)
            around = np.maximum(done, np.maximum(np.roll(done, 1), np.roll(done, -1)))
            done = around if neighbours else np.full(64, done.max())
        ends.append(done.max())
    found = simulated("neighbours" if neighbours else "barrier", ranks=64)
    assert close(found, float(np.mean(ends)), float(np.std(ends)) / math.sqrt(len(ends)))


def test_a_slow_rank_is_waited_for_either_way() -> None:
    """16 steps of 10 ms, a quarter longer; messages take 16 times some microseconds."""
    for name in ("slow", "slow_barrier"):
        assert 0.2 <= simulated(name)[0] <= 0.2002
