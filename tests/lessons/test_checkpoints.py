"""The lesson on checkpoints: both formulas, the best interval by search, failures drawn one by one, and a published rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import formula_times, ladder_at
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.test_shipped_by_hand import run_of, stop_of
from tests.lessons.test_shipped_numbers import formula_values_of

HOUR_S, RESTART_S = 3600.0, 600.0


def young_s(interval_s: float, write_s: float, between_s: float) -> float:
    """An hour of progress: Young 1974, with restarts."""
    return HOUR_S * (1 + write_s / interval_s + (interval_s / 2 + RESTART_S) / between_s)


def drawn_s(interval_s: float, write_s: float, between_s: float, hours: int) -> float:
    """Work with a checkpoint after each interval, failures drawn one by one, also during checkpoints and restarts; for an hour of it."""
    random = np.random.default_rng(7)
    now, failure = 0.0, random.exponential(between_s)
    for _ in range(round(hours * HOUR_S / interval_s)):
        needed = interval_s + write_s
        while failure < now + needed:
            now, failure = failure, failure + random.exponential(between_s)
            needed = RESTART_S + interval_s + write_s
        now += needed
    return now / hours


@pytest.mark.parametrize(("name", "write_s"), [("young", 300.0), ("slow", 3600.0)])
def test_youngs_formula_is_by_hand(name: str, write_s: float) -> None:
    run = run_of("checkpoints", name)
    intervals = [stop.value for stop in run.sliders[0].stops]
    nodes = [stop.value for stop in run.sliders[1].stops] if len(run.sliders) == 2 else [4096.0]
    expected = [[young_s(one, write_s, 24576 * HOUR_S / count) for count in nodes] for one in intervals]
    assert formula_times(run).reshape(len(intervals), -1) == pytest.approx(np.array(expected), rel=1e-9)


@pytest.mark.parametrize(("name", "write_s", "minutes"), [("daly", 300.0, 480), ("slow_daly", 3600.0, 180)])
def test_formula_and_simulation_are_failures_one_by_one(name: str, write_s: float, minutes: int) -> None:
    """Over 400,000 hours the mean of the draws has a standard error below 1 %; that of 20 runs is within three of its own."""
    run = run_of("checkpoints", name)
    at = {"interval": stop_of(run, "interval", minutes * 60.0)}
    if len(run.sliders) == 2:
        at["nodes"] = stop_of(run, "nodes", 4096)
    expected_s = drawn_s(minutes * 60.0, write_s, 6 * HOUR_S, 400_000)
    assert formula_times(run)[tuple(at.values())] == pytest.approx(expected_s, rel=0.01)
    mean_s, low_s, _ = ladder_at(run, at)[-1]
    assert mean_s == pytest.approx(expected_s, abs=1.5 * (mean_s - low_s) + 0.01 * expected_s)


def test_the_best_interval_is_found_by_search() -> None:
    """The smallest of Young's times in steps of a second, on the nodes of every code."""
    lesson = read_lesson(lesson_folder("checkpoints"))
    for stop in lesson.seeded["group"]:
        between_s = 24576 * HOUR_S / lesson.sliders["group"].stops[stop].value
        found_s = min(range(60, 40_000), key=lambda one: young_s(one, 300, between_s))
        known = replace(formula_values_of(lesson), drawn={"group": stop})
        assert known.named("best", lesson.runs["young"].place) == pytest.approx(found_s, abs=1)


def test_the_shorter_guess_is_better() -> None:
    """By draws: 30 minutes in place of 60 cost less than 120 do."""
    half_s, twice_s, long_s = (drawn_s(minutes * 60.0, 300, 6 * HOUR_S, 400_000) for minutes in (30, 120, 480))
    assert half_s < twice_s < long_s


def test_interruptions_of_llama_are_published() -> None:
    """419 in 54 days on 16,384 GPUs (arXiv 2407.21783): one in 3.1 hours, or in 264 days of a node of 8."""
    lesson = read_lesson(lesson_folder("checkpoints"))
    known, place = formula_values_of(lesson), lesson.runs["young"].place
    assert known.named("meta_s", place) / HOUR_S == pytest.approx(54 * 24 / 419)
    assert known.named("meta_node_days", place) == pytest.approx(54 * 16384 / 8 / 419)
    found_s = min(range(60, 5000), key=lambda one: young_s(one, 60, 54 * 24 * HOUR_S / 419))
    assert known.named("meta_best", place) == pytest.approx(found_s, abs=1)
