"""The lesson on rooflines: limits by hand, misses counted one by one, and times that were measured on an A100."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import formula_times, ladder_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.test_shipped_by_hand import run_of, stop_of
from tests.lessons.test_shipped_numbers import formula_values_of

RATE, BANDWIDTH = 312e12, 2039e9


def roofline_s(rows: int, columns: int, launch_s: float = 0.0) -> float:
    """m x n by n x n numbers of two bytes."""
    operations, numbers = 2 * rows * columns**2, 2 * rows * columns + columns**2
    return launch_s + max(operations / RATE, 2 * numbers / BANDWIDTH)


@pytest.mark.parametrize(("name", "fixed"), [("layer", 12288), ("gpu", 12288), ("small", 8192)])
def test_products_on_the_gpu_are_rooflines(name: str, fixed: int) -> None:
    run = run_of("roofline", name)
    for number, stop in enumerate(run.sliders[0].stops):
        value = int(stop.value)
        rows, columns = (fixed, value) if name == "small" else (value, fixed)
        for launch, launch_s in enumerate((0.0, 28.6e-6) if name == "small" else (0.0,)):
            at = {run.sliders[0].name: number} | ({"launch": launch} if name == "small" else {})
            assert ladder_at(run, at)[-1, 0] == pytest.approx(roofline_s(rows, columns, launch_s), rel=1e-9)
        found = formula_times(run)[number]
        assert np.atleast_1d(found)[0] == pytest.approx(2 * rows * columns**2 / RATE, rel=1e-12)


def test_the_memory_limits_up_to_the_rows_of_the_answer() -> None:
    """The first whole number of rows whose operations take longer than its bytes, one by one."""
    lesson = read_lesson(lesson_folder("roofline"))
    for stop in lesson.seeded["side"]:
        side = int(lesson.sliders["side"].stops[stop].value)
        rows = next(m for m in range(1, 1000) if 2 * m * side**2 / RATE > 2 * (2 * m * side + side**2) / BANDWIDTH)
        known = replace(formula_values_of(lesson), drawn={"side": stop})
        assert rows - 1 < known.named("turn", lesson.runs["gpu"].place) <= rows


def count_misses(side: int, block: int, lines: int) -> int:
    """Of a product in blocks, in a cache that keeps what was used last: block of B by block, all rows of A past each."""
    kept: dict[tuple[str, int, int], None] = {}
    misses = 0
    blocks = range(0, side, block)
    for column, row, i in product(blocks, blocks, range(side)):
        for k in range(row, row + block):
            inner = [one for j in range(column, column + block) for one in (("B", k, j), ("C", i, j))]
            for element in [("A", i, k), *inner]:
                if element in kept:
                    del kept[element]
                else:
                    misses += 1
                    if len(kept) == lines:
                        del kept[next(iter(kept))]
                kept[element] = None
    return misses


@pytest.mark.parametrize("block", [1, 8, 24, 32])
def test_blocks_are_the_longer_of_arithmetic_and_misses(block: int) -> None:
    """16 GFLOP/s, 8 GB/s, and 1,024 numbers in the cache."""
    run = run_of("roofline", "blocks")
    memory_s = 8 * count_misses(96, block, 1024) / 8e9
    found_s = ladder_at(run, {"block": stop_of(run, "block", block)})[0, 0]
    assert found_s == pytest.approx(max(2 * 96**3 / 16e9, memory_s), rel=0.02)


def test_the_formula_of_blocks_is_by_hand() -> None:
    run = run_of("roofline", "blocks")
    block = np.array([stop.value for stop in run.sliders[0].stops])
    expected = np.maximum(2 * 96**3 / 16e9, 8 * (2 * 96**3 / block + 96**2) / 8e9)
    assert formula_times(run) == pytest.approx(expected, rel=1e-12)


def test_times_on_an_a100_are_published(shared_measured: Path) -> None:
    """LLMCompass, ae/figure5 at commit 2e015fd."""
    path = shared_measured / "ai-clusters" / "llmcompass_matmul_A100.csv"
    if not path.is_file():
        pytest.skip("needs ai-clusters among the measurements")
    lines = [[one.strip() for one in line.split(",")] for line in path.read_text(encoding="utf-8").splitlines()]
    published = {tuple(map(int, line[:3])): float(line[3].removesuffix("ms")) / 1e3 for line in lines}
    lesson = read_lesson(lesson_folder("roofline"))
    for name in ("gpu", "small"):
        run = lesson.runs[name]
        for one in run.measured:
            value = int(run.sliders[0].stops[one.at[run.sliders[0].name]].value)
            shape = (value, 12288, 12288) if name == "gpu" else (8192, value, value)
            assert one.value_s == pytest.approx(published[shape], rel=1e-9)
    for name, shape in (
        ("measured_64", (64, 12288, 12288)),
        ("measured_8192", (8192, 12288, 12288)),
        ("measured_small_64", (8192, 64, 64)),
        ("measured_small_512", (8192, 512, 512)),
    ):
        found = formula_values_of(lesson).named(name, lesson.runs["gpu"].place)
        assert found == pytest.approx(published[shape], rel=1e-9)
