"""Runs of several repetitions, and intervals as named values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError, Place
from simcodesign.lessons.compute import Numbers
from simcodesign.lessons.lattice import assembled, formula_times, ladder_at
from simcodesign.lessons.scenarios import scenario_at, simulated_stops, start_of
from simcodesign.lessons.values import Values
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.small import small_lesson

TRACES = "    traces:\n      - {nodes: 8}\n"
EARLY = "  early: {run: near, reading: arrived, effect: links, by: half}\n"


def without_traces(folder: Path, **more: str) -> Path:
    """The small lesson without traces and what is read of them; ``more``: keys of its run."""
    small_lesson(folder)
    text = (folder / "lesson.yaml").read_text(encoding="utf-8")
    keys = "".join(f"    {key}: {value}\n" for key, value in more.items())
    text = text.replace(TRACES, keys).replace(EARLY, "  width: {run: near, reading: interval, effect: noise}\n")
    (folder / "lesson.yaml").write_text(text, encoding="utf-8")
    return folder


def test_times_are_those_of_one_repetition(tmp_path: Path) -> None:
    (whole,) = read_lesson(without_traces(tmp_path / "whole")).runs.values()
    (part,) = read_lesson(without_traces(tmp_path / "part", scale="1/4")).runs.values()
    assert formula_times(part) == pytest.approx(formula_times(whole) / 4, rel=1e-15)
    at = start_of(whole)
    assert ladder_at(part, at) == pytest.approx(ladder_at(whole, at) / 4, rel=1e-12)


@pytest.mark.parametrize("scale", ["0", "-1", "1/0", "inf", "nan", "4 ms", "1e400", "[1]"])
def test_a_factor_that_is_none_is_refused(tmp_path: Path, scale: str) -> None:
    with pytest.raises(InputError, match="scale"):
        read_lesson(without_traces(tmp_path / "part", scale=scale))


def test_traces_are_of_runs_as_they_are(tmp_path: Path) -> None:
    small_lesson(tmp_path / "both", change=("    seeds: 3\n", "    seeds: 3\n    scale: 4\n"))
    with pytest.raises(InputError, match="as they are"):
        read_lesson(tmp_path / "both")


def test_a_curve_may_have_effects_of_its_own(tmp_path: Path) -> None:
    """By the number of effects that are on: the run has hops, links and noise."""
    small_lesson(tmp_path / "own", change=("predict: true, given: 1,", "predict: true, given: 1, effect: links,"))
    view = read_lesson(tmp_path / "own").steps[0].views[0]
    assert view.options["rung"] == 2
    small_lesson(tmp_path / "no", change=("predict: true, given: 1,", "predict: true, given: 1, effect: disks,"))
    with pytest.raises(InputError, match="not an effect of the run"):
        read_lesson(tmp_path / "no")


def test_an_interval_is_that_of_its_seeds(tmp_path: Path) -> None:
    """Student's t of two degrees of freedom, 4.303, times the standard error of three runs."""
    lesson = read_lesson(without_traces(tmp_path / "one"))
    run = lesson.runs["near"]
    lattice = assembled(run, formula_times(run), [ladder_at(run, stops) for stops in simulated_stops(run)])
    numbers = Numbers({"near": lattice}, {})
    width_s = Values(lesson, numbers.lattices, numbers.traces).named("width", Place("here"))
    scenario = scenario_at(run, start_of(run))
    times_s = [float(sc.simulate(scenario, effects=run.effects, seed=seed).makespan_s) for seed in range(3)]
    assert width_s == pytest.approx(4.3027 * np.std(times_s, ddof=1) / math.sqrt(3), rel=1e-4)
    assert width_s > 0
