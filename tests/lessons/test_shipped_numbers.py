"""Lessons on noise, on two laws of the serial part, on SPECseis96 and on co-design: measured times are those that are published,
and what can be computed by hand is."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from simcodesign.describe.yaml.files import load_workload, shipped_path
from simcodesign.lessons.compute import Numbers
from simcodesign.lessons.description import Lesson, Run
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import Lattice, formula_times, ladder_at
from simcodesign.lessons.values import Values
from simcodesign.lessons.yaml.lesson import read_lesson


def published(name: str) -> pd.DataFrame:
    return pd.read_csv(shipped_path("validation", f"published/{name}.csv"), comment="#")


def measured_s(run: Run, slider: str) -> dict[float, float]:
    (one,) = (one for one in run.sliders if one.name == slider)
    return {one.stops[point.at[slider]].value: point.value_s for point in run.measured}


def formula_values_of(lesson: Lesson) -> Values:
    """Values of a lesson that need no simulation."""
    nothing = np.zeros(0)
    lattices = {name: Lattice(formula_times(run), nothing) for name, run in lesson.runs.items()}
    numbers = Numbers(lattices, {})
    return Values(lesson, numbers.lattices, numbers.traces)


def test_the_largest_of_exponential_times_is_a_harmonic_number() -> None:
    """1 + 1/2 + ... + 1/P; of one process the asymptotic series is 0.6 % low."""
    run = read_lesson(lesson_folder("noise")).runs["once"]
    (slider,) = run.sliders
    expected = [sum(1 / k for k in range(1, int(stop.value) + 1)) for stop in slider.stops]
    assert formula_times(run) == pytest.approx(expected, rel=0.007)
    assert formula_times(run)[3:] == pytest.approx(expected[3:], rel=1e-5)


def test_simulated_pieces_wait_for_the_largest() -> None:
    """16 nodes, 100 draws: the mean is a harmonic number, within three of its standard errors. The variance of the largest
    is 1 + 1/4 + ... + 1/P^2."""
    run = read_lesson(lesson_folder("noise")).runs["once"]
    mean = ladder_at(run, {"nodes": 4})[-1, 0]
    error = math.sqrt(sum(1 / k**2 for k in range(1, 17)) / run.seeds)
    assert mean == pytest.approx(sum(1 / k for k in range(1, 17)), abs=3 * error)


def test_a_straggler_is_waited_for_at_every_barrier() -> None:
    """A quarter slower for the whole second, and the messages of the barriers: up and down 5 levels, 1.5 us each and 8 bytes
    at 10 GB/s."""
    run = read_lesson(lesson_folder("noise")).runs["straggler"]
    for place, barriers in enumerate((1, 4, 16)):
        messages_s = barriers * 10 * (1.5e-6 + 8 / 10e9)
        ladder = ladder_at(run, {"slowness": 1, "barriers": place})[:, 0]
        assert ladder[0] == pytest.approx(1 + messages_s, rel=1e-9)
        assert 1.25 < ladder[1] <= 1.25 + messages_s


def test_measured_times_of_lulesh_are_published() -> None:
    run = read_lesson(lesson_folder("noise")).runs["lulesh"]
    rows = published("lulesh-regions").query("region == 'main'").set_index("ranks")
    assert measured_s(run, "ranks") == {float(ranks): float(row["mean"]) for ranks, row in rows.iterrows()}
    assert [(one.low_s, one.high_s) for one in run.measured] == list(zip(rows["lowest"], rows["highest"], strict=True))


def test_eight_steps_stand_for_eight_hundred() -> None:
    """Work of 800 steps of 30^3 elements, by the file's times of an element; messages take less than 0.1 s."""
    run = read_lesson(lesson_folder("noise")).runs["lulesh"]
    work_s = 800 * 30**3 * (807 + 34.9 + 238 + 233 + 7.4) * 1e-9
    assert run.scale == 100
    assert work_s < formula_times(run)[0] < work_s + 0.1
    assert formula_times(run)[0] == pytest.approx(ladder_at(run, {"ranks": 0})[0, 0], rel=1e-3)


@pytest.mark.parametrize(
    ("lesson", "run", "column"),
    [
        ("amdahl", "whole", "total"),
        ("amdahl", "stacking", "phase2"),
        ("seismic", "generation", "phase1"),
        ("seismic", "stacking", "phase2"),
        ("seismic", "time_migration", "phase3"),
        ("seismic", "depth_migration", "phase4"),
    ],
)
def test_measured_times_of_specseis_are_published(lesson: str, run: str, column: str) -> None:
    table = published("seismic-table-1").set_index("P")
    expected = {float(processors): float(value) for processors, value in table[column].items()}
    assert measured_s(read_lesson(lesson_folder(lesson)).runs[run], "processors") == expected


def test_the_small_data_set_is_the_preset() -> None:
    preset = load_workload("seismic").presets["small"]
    for name in ("generation", "stacking", "time_migration", "depth_migration", "disks"):
        parameters = read_lesson(lesson_folder("seismic")).runs[name].parameters
        assert {key: float(value) for key, value in parameters.items()} == {k: float(v) for k, v in preset.items()}


def test_two_times_determine_amdahls_parts() -> None:
    """T(4) and T(16) come out, and T(8) is a + b/8 with b = (T(4) - T(16))/(1/4 - 1/16)."""
    for name, four, sixteen in (("whole", 795, 215), ("stacking", 28.8, 12.2)):
        times = formula_times(read_lesson(lesson_folder("amdahl")).runs[name])
        parallel = (four - sixteen) / (1 / 4 - 1 / 16)
        serial = sixteen - parallel / 16
        assert times == pytest.approx([serial + parallel / count for count in (1, 2, 4, 8, 16)], rel=1e-12)


def test_laws_of_the_serial_part() -> None:
    runs = read_lesson(lesson_folder("amdahl")).runs
    nodes, shares, _ = (np.array([stop.value for stop in one.stops]) for one in runs["fixed"].sliders)
    found = formula_times(runs["fixed"])[:, :, 0]
    assert found == pytest.approx(0.2 * (shares + (1 - shares) / nodes[:, None]), rel=1e-12)
    assert formula_times(runs["scaled"]) == pytest.approx(0.2)


def test_turns_cost_a_tree_each() -> None:
    """What 64 turns add to the law: up and down a tree of 7 levels, 20 us and 8 bytes at 100 MB/s each."""
    run = read_lesson(lesson_folder("amdahl")).runs["fixed"]
    at = {"nodes": 7, "share": 0, "turns": 3}
    added = ladder_at(run, at)[0, 0] - formula_times(run)[7, 0, 3]
    assert added == pytest.approx(64 * 2 * 7 * (20e-6 + 8 / 100e6), rel=1e-9)


def test_the_region_of_conjugate_gradients_is_the_published_one() -> None:
    """Bhatele et al.: 1120 ts + 1599600 tw <= 2.26e-4 - 2.10e-5/eta, and no more than eta = 0.0929 by these numbers, which are
    rounded (and the second truncated)."""
    values = formula_values_of(read_lesson(lesson_folder("co-design")))
    where = read_lesson(lesson_folder("co-design")).runs["iteration"].place
    found = {
        name: values.named(name, where) for name in ("startups", "sent_values", "allowed", "computation", "least_share")
    }
    assert (found["startups"], found["sent_values"]) == (1120, 1599600)
    assert found["allowed"] == pytest.approx(2.26e-4, abs=0.005e-4)
    assert found["computation"] == pytest.approx(2.10e-5, abs=0.01e-5)
    assert found["least_share"] == pytest.approx(0.0929, abs=0.0005)


def test_an_iteration_on_64_nodes_is_the_formula_of_the_paper() -> None:
    """((2 s + 6) n + N/Pc + 2 lg P) tc + 2 (S + 2 lg P) ts + 2 (S n' + 2 lg P) tw, with N/Pc of a cube of 64 nodes."""
    run = read_lesson(lesson_folder("co-design")).runs["iteration"]
    at = tuple(one.start for one in run.sliders)
    unknowns = (4 * 8 * 16 + 1) * (4 * 8 * 16 + 1) * (4 * 16 * 16 + 1)  # 4x4x4 nodes of 8x8x16 cores of 16^3 cubes
    flops = 42 * 4913 + unknowns / (64 * 1024) + 2 * 6
    expected = flops * 1e-10 + 2 * (520 + 2 * 6) * 100e-9 + 2 * (520 * 1538 + 2 * 6) * 8 / 100e9
    assert formula_times(run)[at] == pytest.approx(expected, rel=1e-3)


def test_upgrades_of_lulesh_are_those_of_its_model() -> None:
    """Table V prints 1.2 for both (validation: requirements/table-5)."""
    values = formula_values_of(read_lesson(lesson_folder("co-design")))
    where = read_lesson(lesson_folder("co-design")).runs["lulesh"].place
    row = published("requirements-table-5").query("upgrade == 'racks' and app == 'lulesh'").iloc[0]
    assert values.named("printed_loads", where) == row["memory"]
    assert values.named("lulesh_flop", where) == pytest.approx(2**0.25 * math.log2(2**18) / math.log2(2**17))
    assert values.named("lulesh_loads", where) == pytest.approx(math.log2(2**21) / math.log2(2**20))
