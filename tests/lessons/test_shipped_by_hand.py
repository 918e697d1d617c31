"""Answers of shipped lessons against what is counted by hand, brute force, or a published table."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from simcodesign.describe.yaml.files import shipped_path
from simcodesign.lessons.description import ChoiceQuestion, ReadValue, Run
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.lattice import formula_times, ladder_at
from simcodesign.lessons.scenarios import start_of
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons.test_shipped_numbers import formula_values_of


def run_of(lesson: str, name: str) -> Run:
    """A run of a shipped lesson."""
    return read_lesson(lesson_folder(lesson)).runs[name]


def stop_of(run: Run, slider: str, value: float) -> int:
    """The number of the stop of a value."""
    (stops,) = (one.stops for one in run.sliders if one.name == slider)
    return [stop.value for stop in stops].index(value)


def published(table: str, **columns: object) -> pd.DataFrame:
    """The rows of a published table that have these values."""
    rows = pd.read_csv(shipped_path("validation", f"published/{table}.csv"), comment="#")
    for column, value in columns.items():
        rows = rows[rows[column] == value]
    return rows


def test_the_all_to_all_on_fugaku_is_published() -> None:
    lesson = read_lesson(lesson_folder("all-to-all"))
    rows = published("fugaku-collectives", operation="all_to_all", bytes=2**26)
    pairwise = rows[rows.algorithm == "pairwise"].set_index("shape")
    points = lesson.runs["fugaku"].measured
    assert len(points) == len(pairwise) == 3
    for one in points:
        row = pairwise.loc[lesson.sliders["cube"].stops[one.at["cube"]].note]
        found = np.array([one.low_s, one.value_s, one.high_s]) * 1e6
        assert found == pytest.approx([row.lower_us, row.median_us, row.upper_us], rel=1e-9)
    for algorithm, side in product(("pairwise", "linear"), (4, 8)):
        value = lesson.values[f"{algorithm}_{side**3}"]
        (median_us,) = rows[(rows.algorithm == algorithm) & (rows["shape"] == f"{side}x{side}x{side}")].median_us
        assert value.evaluate({}) * 1e6 == pytest.approx(median_us, rel=1e-9)  # type: ignore[union-attr]


@pytest.mark.thorough
def test_no_all_to_all_on_a_mesh_is_quicker_than_its_bisection() -> None:
    """32 nodes send 32 blocks each over the 8 links of the cut, 64 KiB at 6.345 GB/s; and never quicker than the formula."""
    for name in ("mesh", "burst"):
        run = run_of("all-to-all", name)
        ladder_s = ladder_at(run, start_of(run))[:, 0]
        assert ladder_s[0] == pytest.approx(63 * (2.4e-6 + 65536 / 6.345e9), rel=1e-12)
        assert ladder_s[-1] >= 32 * 32 / 8 * 65536 / 6.345e9
        assert (ladder_s >= ladder_s[0] * (1 - 1e-12)).all()


def test_lulesh_is_published() -> None:
    lesson = read_lesson(lesson_folder("halo"))
    run = lesson.runs["lulesh"]
    for one in run.measured:
        ranks = int(run.sliders[0].stops[one.at["ranks"]].value)
        (row,) = published("lulesh-regions", ranks=ranks, region="main").itertuples()
        found = np.array([one.low_s, one.value_s, one.high_s]) * 800
        assert found == pytest.approx([row.lowest, row.mean, row.highest], rel=1e-9)
        if f"measured_{ranks}" in lesson.values:
            value = lesson.values[f"measured_{ranks}"]
            assert value.evaluate({}) == pytest.approx(one.value_s, rel=1e-9)  # type: ignore[union-attr]


def test_the_ping_pong_on_graphene_is_published() -> None:
    """All sizes for evidence from 10 B on; and the two of calibration, out of which startup and bandwidth follow."""
    run = run_of("ping-pong", "graphene")
    rows = published("smpi-ping-pong", cluster="graphene")
    (slider,) = run.sliders
    rows = rows[((rows.role == "evidence") & (rows.bytes > 10)) | rows.bytes.isin((10, 989921))].set_index("bytes")
    assert [stop.value for stop in slider.stops] == sorted(rows.index)
    for one in run.measured:
        row = rows.loc[int(slider.stops[one.at["bytes"]].value)]
        found = np.array([one.low_s, one.value_s, one.high_s]) * 1e6
        assert found == pytest.approx([row.lower_us, row.median_us, row.upper_us], rel=1e-9)
    short_s, long_s = (rows.loc[size].median_us * 1e-6 for size in (10, 989921))
    per_byte_s = (long_s - short_s) / (989921 - 10)
    sizes = np.array([stop.value for stop in slider.stops])
    assert formula_times(run) == pytest.approx(short_s + (sizes - 10) * per_byte_s, rel=1e-4)


def test_nothing_explains_what_is_missing_at_one_size_of_graphene() -> None:
    """Of the published medians: what a threshold in size adds, it adds to the next size as well; the simulation is the formula."""
    rows = published("smpi-ping-pong", cluster="graphene").set_index("bytes")
    short_us, long_us = rows.loc[10].median_us, rows.loc[989921].median_us
    per_byte_us = (long_us - short_us) / (989921 - 10)
    excess = {size: rows.loc[size].median_us - short_us - (size - 10) * per_byte_us for size in (91287, 116878)}
    measured_us, row = rows.loc[91287].median_us, rows.loc[91287]
    run = run_of("ping-pong", "graphene")
    here = stop_of(run, "bytes", 91287)
    added_us = 1e6 * (ladder_at(run, {"bytes": here})[-1, 0] - formula_times(run)[here])
    lesson = read_lesson(lesson_folder("ping-pong"))
    (question,) = (one for step in lesson.steps for one in step.questions if one.name == "missing")
    assert isinstance(question, ChoiceQuestion)
    known = formula_values_of(lesson).of
    expected = [excess[116878], row.upper_us - row.lower_us, excess[91287] - excess[116878]]
    found = [known(choice.value, question.place) for choice in question.choices[1:]]
    assert found == pytest.approx(np.array(expected) / measured_us, rel=1e-4)
    assert abs(added_us) < 0.01
    assert max(found) == found[-1] == pytest.approx(0.384, abs=0.001)


def test_a_broadcast_in_pieces_pays_for_its_bytes_twice() -> None:
    """6 startups of the scatter and 63 of the ring, and 63/64 of the bytes in each; hops and shared links cost less than 1 %."""
    run = run_of("broadcast", "scattered")
    (slider,) = run.sliders
    sizes = np.array([stop.value for stop in slider.stops])
    expected_s = (6 + 63) * 2.4e-6 + 2 * 63 / 64 * sizes / 6.345e9
    assert formula_times(run) == pytest.approx(expected_s, rel=1e-9)
    large = {"size": stop_of(run, "size", 2**26)}
    simulated_s = ladder_at(run, large)[-1, 0]
    assert expected_s[large["size"]] <= simulated_s < 1.01 * expected_s[large["size"]]
    tree_s = 12 * (2.4e-6 + 2**26 / 6.345e9)  # nearest child first takes twice the six rounds of the formula
    assert 1 - simulated_s / tree_s == pytest.approx(0.83, abs=0.005)


def test_a_sweep_is_surface_and_volume() -> None:
    """Four edges of 256 points of 64 bytes, and 65,536 points of 60 flops; between neighbours a hop for each message more."""
    run = run_of("halo", "near")
    sweep_s = 4 * (2e-6 + 256 * 64 / 2e9) + 256**2 * 60 / 50e9
    assert formula_times(run)[:, 1] == pytest.approx(sweep_s, rel=1e-12)
    ladder_s = ladder_at(run, start_of(run))[:, 0]
    assert ladder_s == pytest.approx(sweep_s + np.array([0, 4, 4, 4]) * 100e-9, rel=1e-9)


def test_queues_are_those_of_the_books() -> None:
    """M/M/1, M/D/1, M/M/2, and clients by the recursion of mean value analysis, for reads of 10 ms."""
    load = np.array([stop.value for stop in run_of("queue", "open").sliders[0].stops])
    assert formula_times(run_of("queue", "open")) == pytest.approx(10e-3 / (1 - load), rel=1e-9)
    assert formula_times(run_of("queue", "equal")) == pytest.approx(10e-3 * (1 + load / (2 * (1 - load))), rel=1e-9)
    assert formula_times(run_of("queue", "two")) == pytest.approx(10e-3 / (1 - (load / 2) ** 2), rel=1e-9)
    assert formula_times(run_of("queue", "fast")) == pytest.approx(5e-3 / (1 - load / 2), rel=1e-9)
    waiting, cycles_s = 0.0, []
    for clients in range(1, 13):
        at_disk_s = 10e-3 * (1 + waiting)
        cycles_s.append(50e-3 + at_disk_s)
        waiting = clients / cycles_s[-1] * at_disk_s
    assert formula_times(run_of("queue", "mean_value")) == pytest.approx(cycles_s, rel=1e-9)
    expected = [max(60e-3, clients * 10e-3) for clients in range(1, 13)]
    assert formula_times(run_of("queue", "closed")) == pytest.approx(expected, rel=1e-12)


def test_one_fast_disk_answers_sooner_and_lets_requests_wait_longer() -> None:
    """M/M/2 and M/M/1 of half the service, at 90 requests per second: with 0.45 erlangs a disk, the wait is S a^2/(1 - a^2)
    and S/2 a/(1 - a)."""
    known = formula_values_of(read_lesson(lesson_folder("queue"))).named
    where = run_of("queue", "two").place
    two_wait_s, fast_wait_s = known("two_9", where) - 10e-3, known("fast_9", where) - 5e-3
    assert (two_wait_s, fast_wait_s) == pytest.approx((10e-3 * 0.45**2 / (1 - 0.45**2), 5e-3 * 0.45 / 0.55), rel=1e-9)
    assert (round(two_wait_s * 1e3, 2), round(fast_wait_s * 1e3, 2)) == (2.54, 4.09)
    assert known("fast_9", where) < known("two_9", where)


def test_two_disks_are_quicker_where_lengths_vary_much() -> None:
    """98 of 100 reads take 5 ms and two 255 ms. Requests one by one: each goes to the disk that is free first."""
    random = np.random.default_rng(4)
    count = 60_000
    arrivals_ms = np.cumsum(random.exponential(1000 / 90, count))
    reads_ms = np.where(random.random(count) < 0.02, 255.0, 5.0)
    free, fast_free, two_ms, fast_ms = [0.0, 0.0], 0.0, 0.0, 0.0
    for now, read in zip(arrivals_ms.tolist(), reads_ms.tolist(), strict=True):
        first = free.index(min(free))
        free[first] = max(now, free[first]) + read
        fast_free = max(now, fast_free) + read / 2
        two_ms, fast_ms = two_ms + free[first] - now, fast_ms + fast_free - now
    assert two_ms / fast_ms == pytest.approx(0.75, abs=0.05)  # "about a quarter less"
    lesson = read_lesson(lesson_folder("queue"))
    square_ms2 = (0.98 * 5**2 + 0.02 * 255**2) / 4
    expected_ms = 5 + 0.09 * square_ms2 / (2 * (1 - 0.45))
    uneven = lesson.values["uneven_fast_9"]
    assert not isinstance(uneven, ReadValue)
    inputs = {"read_time": 10e-3, "uneven_mean_square": 4e-6 * square_ms2}
    assert float(uneven.evaluate(inputs)) * 1e3 == pytest.approx(expected_ms, rel=1e-9)
    assert fast_ms / count == pytest.approx(expected_ms, rel=0.1)


def test_clients_without_noise_keep_to_the_asymptotes() -> None:
    """But for the first cycle, in which all come at once: less than a cycle's length, over 400 cycles."""
    run = run_of("queue", "closed")
    for clients in (5, 12):
        at = {"clients": stop_of(run, "clients", clients)}
        bound_s = max(60e-3, clients * 10e-3)
        regular_s = ladder_at(run, at)[1, 0]
        assert bound_s * (1 - 1e-12) <= regular_s <= bound_s * (1 + 1 / 400)


def count_misses(n: int, lines: int) -> int:
    """Of three plain loops, C stored once for each sum, in a cache that keeps what was used last."""
    kept: dict[tuple[str, int, int], None] = {}
    misses = 0
    for i, j in product(range(n), repeat=2):
        inner = [one for k in range(n) for one in (("A", i, k), ("B", k, j))]
        for element in [*inner, ("C", i, j)]:
            if element in kept:
                del kept[element]
            else:
                misses += 1
                if len(kept) == lines:
                    del kept[next(iter(kept))]
            kept[element] = None
    return misses


@pytest.mark.thorough
def test_misses_are_those_that_are_counted_one_by_one() -> None:
    """The simulation without effects is the stack model; a miss takes 100 ns."""
    run = run_of("caches", "loops")
    for size in (512, 1024, 16384):
        at = {"size": stop_of(run, "size", size)}
        assert ladder_at(run, at)[0, 0] == pytest.approx(count_misses(48, size // 8) * 100e-9, rel=1e-9)


@pytest.mark.thorough
def test_the_published_distance_of_b_is_too_short() -> None:
    """At 2,432 elements, above n^2 + 2 n - 1 and below n^2 + 3 n - 1 for n = 48, most uses of B miss."""
    run = run_of("caches", "check")
    counted_s = {size: count_misses(48, size // 8) * 100e-9 for size in (18432, 19456, 20480)}
    found_s = {size: ladder_at(run, {"near": stop_of(run, "near", size)})[0, 0] for size in counted_s}
    assert found_s == pytest.approx(counted_s, rel=1e-9)
    assert counted_s[19456] > (counted_s[18432] + counted_s[20480]) / 2
