"""The shipped lessons: what they call measured is published, and their answers are what can be said by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.files import shipped_path
from simcodesign.lessons.description import ReadValue
from simcodesign.lessons.folders import available, lesson_folder, new_lesson
from simcodesign.lessons.lattice import formula_times, ladder_at
from simcodesign.lessons.scenarios import start_of
from simcodesign.lessons.yaml.lesson import read_lesson


def test_all_are_read() -> None:
    network = ["all-to-all", "allreduce", "broadcast", "halo", "ping-pong"]
    node = ["caches", "numa", "queue", "roofline"]
    whole = ["amdahl", "bank", "checkpoints", "co-design", "exam", "load-balance", "noise", "own-program", "seismic"]
    training = ["data-parallel", "pipeline"]
    assert available() == sorted([*network, *node, *whole, *training])
    for name in available():
        lesson = read_lesson(lesson_folder(name))
        assert (lesson.name, bool(lesson.teacher), bool(lesson.objectives), bool(lesson.sources)) == (
            name,
            True,
            True,
            True,
        )


def test_what_was_measured_on_fugaku_is_published() -> None:
    lesson = read_lesson(lesson_folder("broadcast"))
    table = pd.read_csv(shipped_path("validation", "published/fugaku-collectives.csv"), comment="#")
    rows = table[(table.operation == "broadcast") & (table.algorithm == "binomial") & (table.bytes == 2**26)]
    published = {str(row["shape"]): row for _, row in rows.iterrows()}
    cube = lesson.sliders["cube"].stops
    points = lesson.runs["fugaku"].measured
    assert len(points) == len(published) == 3
    for one in points:
        row = published[cube[one.at["cube"]].note]
        found = np.array([one.low_s, one.value_s, one.high_s]) * 1e6
        assert found == pytest.approx([row.lower_us, row.median_us, row.upper_us], rel=1e-9)
    for name, shape in (("measured_64", "4x4x4"), ("measured_512", "8x8x8")):
        value = lesson.values[name]
        assert not isinstance(value, ReadValue)
        assert value.evaluate({}) * 1e6 == pytest.approx(published[shape].median_us, rel=1e-9)


def test_the_formula_of_the_broadcast_is_that_of_the_book() -> None:
    """Grama et al. 2003, Eq. 4.1, with the constants of the lesson's machine."""
    run = read_lesson(lesson_folder("broadcast")).runs["near"]
    found = formula_times(run)
    nodes, sizes, startups = (np.array([stop.value for stop in slider.stops]) for slider in run.sliders)
    expected = np.log2(nodes)[:, None, None] * (startups + sizes[:, None] / 6.345e9)
    assert found == pytest.approx(expected, rel=1e-12)


def test_hops_of_a_ping_pong_are_counted_by_hand() -> None:
    """Both ways 15 links of 1 us; nothing else is added, and nobody waits."""
    lesson = read_lesson(lesson_folder("ping-pong"))
    run = lesson.runs["turn"]
    ladder = ladder_at(run, start_of(run))[:, 0]
    assert ladder[0] == pytest.approx(2 * (20e-6 + 1024 / 100e6), rel=1e-12)
    assert ladder[1] - ladder[0] == pytest.approx(2 * 15 * 1e-6, rel=1e-9)
    assert ladder[2] == pytest.approx(ladder[1], rel=1e-12)


@pytest.mark.thorough
def test_answers_of_the_exam_are_reckoned_by_hand() -> None:
    """A line of n nodes takes 3n/4 long messages in place of log2 n; the slowest of n exponential times has the mean
    1 + 1/2 + ... + 1/n (200 steps of 5 runs: standard error below 1 %); eight messages of 8 bytes are not in the law."""
    runs = read_lesson(lesson_folder("exam")).runs
    for stop, line in ((1, 4), (2, 8), (3, 16)):
        at = {"nodes": stop, "size": len(runs["near"].sliders[1].stops) - 1}
        seconds = ladder_at(runs["near"], at)[-1, 0]
        assert seconds / formula_times(runs["near"])[tuple(at.values())] == pytest.approx(
            0.75 * line / np.log2(line), rel=0.01
        )
    for stop, workers in ((2, 8), (3, 16)):
        seconds = ladder_at(runs["steps"], {"workers": stop})[-1, 0]
        harmonic = sum(1 / k for k in range(1, workers + 1))
        assert seconds / 2.0 == pytest.approx(harmonic, rel=0.03)
    for stop in range(3):
        extra_s = ladder_at(runs["serial"], {"work": stop})[-1, 0] - formula_times(runs["serial"])[stop]
        assert extra_s == pytest.approx(8 * (10e-6 + 8 / 100e6), rel=1e-9)


def test_a_new_lesson_is_one_that_works(tmp_path: Path) -> None:
    new_lesson(tmp_path / "mine")
    lesson = read_lesson(tmp_path / "mine")
    assert lesson.name == "mine"
    assert len(lesson.steps) == 2


@pytest.mark.parametrize("name", ["x: y", "'q", "2024", "true", "übung", "a b", "#1", "[x]"])
def test_a_lesson_may_have_any_name(name: str, tmp_path: Path) -> None:
    new_lesson(tmp_path / name)
    assert read_lesson(tmp_path / name).name == name


def test_a_new_lesson_has_no_name_of_a_shipped_one(tmp_path: Path) -> None:
    """``lesson check exam`` would take the shipped one."""
    with pytest.raises(InputError, match="shipped"):
        new_lesson(tmp_path / "exam")
