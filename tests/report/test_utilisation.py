"""Activity over time: exact by hand, and the area under every curve is the time that the operations took."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import RankTimes, Timeline
from simcodesign.report.results.utilisation import Profile, binned_profile, profile, recorded, step_profile

COMPUTATION, COMMUNICATION, DISK, MEMORY = range(4)
# Component of each kind, written out once more.
PART = {0: COMPUTATION, 1: COMMUNICATION, 2: COMMUNICATION, 3: DISK, 4: DISK}

Row = tuple[int, int, int, float, float, float]  # rank, phase, kind, ready, start, finish


def timeline(rows: list[Row], phases: tuple[str, ...] = ("one", "two")) -> Timeline:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    rank, phase, kind, ready, start, finish = (np.array(column) for column in columns)
    return Timeline(
        phases,
        rank.astype(np.int32),
        phase.astype(np.int16),
        kind.astype(np.int8),
        ready.astype(float),
        start.astype(float),
        finish.astype(float),
        np.full(len(rows), -1, np.int32),
        np.zeros(len(rows)),
        np.full(len(rows), -1),
    )


def result(shown: Timeline | None, ranks: int | None = None, reading: str = "simulation") -> Result:
    times = None if ranks is None else RankTimes((), np.zeros((ranks, 0, 4)), np.zeros((ranks, 0, 4)), np.zeros(ranks))
    return Result(reading, "w", "m", {}, 0.0, {}, 0, 0, 0, ranks=times, timeline=shown)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Ranks whose operations follow one another; times in eighths, so that sums are exact, and often equal."""
    rows: list[Row] = []
    for rank in range(draw(st.integers(1, 5))):
        now = 0.0
        for _ in range(draw(st.integers(0, 12))):
            waited, lasted = (draw(st.integers(0, 9)) / 8 for _ in range(2))
            row = (rank, draw(st.integers(0, 1)), draw(st.integers(0, 4)), now, now + waited, now + waited + lasted)
            rows.append(row)
            now = row[-1]
    return timeline(rows)


def seconds(shown: Timeline) -> tuple[np.ndarray, np.ndarray]:
    """Working and waiting seconds per phase and component, one operation after another."""
    working, waiting = np.zeros((2, 2, len(COMPONENTS)))
    for phase, kind, ready, start, finish in zip(
        shown.phase, shown.kind, shown.ready_s, shown.start_s, shown.finish_s, strict=True
    ):
        working[phase, PART[int(kind)]] += finish - start
        waiting[phase, PART[int(kind)]] += start - ready
    return working, waiting


# Two ranks: rank 0 computes 0-2, reads 2-5 after waiting 2-3; rank 1 sends 0-1, computes 1-2 and is done.
SMALL = timeline([(0, 0, 0, 0, 0, 2), (0, 1, 3, 2, 3, 5), (1, 0, 1, 0, 0, 1), (1, 0, 0, 1, 1, 2)])


def test_a_small_example_by_hand() -> None:
    shown = step_profile(SMALL, ranks=3)
    assert shown.edges_s.tolist() == [0, 1, 2, 3, 5]
    assert shown.working[0, COMPUTATION].tolist() == [1, 2, 0, 0]
    assert shown.working[0, COMMUNICATION].tolist() == [1, 0, 0, 0]
    assert shown.working[1, DISK].tolist() == [0, 0, 0, 1]
    assert shown.waiting[1, DISK].tolist() == [0, 0, 1, 0]
    assert shown.idle.tolist() == [1, 1, 2, 2]
    assert shown.working.sum() == 5
    assert shown.waiting.sum() == 1
    assert shown.most.tolist() == [2, 1, 1, 0]
    assert not shown.averaged


def test_bins_by_hand() -> None:
    shown = binned_profile(SMALL, 2, bins=2)
    assert shown.edges_s.tolist() == [0, 2.5, 5]
    assert shown.working[0, COMPUTATION] * 2.5 == pytest.approx([3, 0])
    assert shown.waiting[1, DISK] * 2.5 == pytest.approx([0.5, 0.5])
    assert shown.working[1, DISK] * 2.5 == pytest.approx([0, 2])
    assert shown.most.tolist() == [2, 1, 1, 0]
    assert shown.averaged


@given(timelines())
def test_steps_keep_the_area(shown: Timeline) -> None:
    steps = step_profile(shown, 5)
    working, waiting = seconds(shown)
    assert np.array_equal(steps.working_s, working)
    assert np.array_equal(steps.waiting_s, waiting)


@given(timelines(), st.integers(1, 40))
def test_bins_keep_the_area(shown: Timeline, bins: int) -> None:
    binned = binned_profile(shown, 5, bins)
    working, waiting = seconds(shown)
    assert binned.working_s == pytest.approx(working)
    assert binned.waiting_s == pytest.approx(waiting)
    assert len(binned.edges_s) <= bins + 1


@given(timelines())
def test_steps_count_the_operations_that_are_under_way(shown: Timeline) -> None:
    steps = step_profile(shown, 5)
    middles = (steps.edges_s[1:] + steps.edges_s[:-1]) / 2
    for place, moment in enumerate(middles):
        busy = (shown.start_s < moment) & (moment < shown.finish_s)
        queued = (shown.ready_s < moment) & (moment < shown.start_s)
        assert steps.working[..., place].sum() == busy.sum()
        assert steps.waiting[..., place].sum() == queued.sum()
    assert np.all(np.diff(steps.edges_s) > 0)
    assert steps.idle.min(initial=0) >= 0
    everyone = (steps.working + steps.waiting).sum(axis=0)
    assert steps.most.tolist() == everyone.max(axis=1, initial=0).tolist()


@given(timelines(), st.integers(1, 12))
def test_bins_are_averages_of_the_steps(shown: Timeline, bins: int) -> None:
    steps, binned = step_profile(shown, 5), binned_profile(shown, 5, bins)

    def area_until(of: Profile, moments: np.ndarray) -> np.ndarray:
        spans = np.clip(moments[:, None] - of.edges_s[:-1], 0, np.diff(of.edges_s))
        return np.asarray((of.working + of.waiting) @ spans.T)

    assert area_until(binned, binned.edges_s) == pytest.approx(area_until(steps, binned.edges_s), abs=1e-9)
    assert binned.idle.min(initial=0) >= -1e-9


@given(timelines(), st.integers(1, 12))
def test_bounds_are_the_least_and_the_most_of_the_steps(shown: Timeline, bins: int) -> None:
    """Of a stack of all phases that work and then all that wait, step by step; steps too short for a float apart."""
    steps, binned = step_profile(shown, 5), binned_profile(shown, 5, bins)
    if binned.bounds is None:
        return
    stack = np.cumsum(np.concatenate([steps.working, steps.waiting]), axis=0).swapaxes(0, 1)
    for place, (low, high) in enumerate(pairwise(binned.edges_s)):
        inside = (steps.edges_s[:-1] < high) & (steps.edges_s[1:] > low)
        assert np.array_equal(binned.bounds[0, ..., place], stack[..., inside].min(axis=-1))
        assert np.array_equal(binned.bounds[1, ..., place], stack[..., inside].max(axis=-1))


def test_few_steps_are_exact_and_many_are_averaged() -> None:
    shown = timeline([(0, 0, 0, number, number, number + 0.5) for number in range(50)])
    assert len(profile(result(shown, 1)).edges_s) == 100
    assert len(profile(result(shown, 1), most_steps=99).edges_s) == 100
    averaged = profile(result(shown, 1), most_steps=98)
    assert averaged.averaged
    assert len(averaged.edges_s) == 99
    assert averaged.working_s.sum() == pytest.approx(25)


def test_ranks_without_operations_are_idle() -> None:
    assert profile(result(SMALL, 7)).idle.tolist() == [5, 5, 6, 6]
    assert profile(result(SMALL)).idle.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("rows", [[], [(0, 0, 0, 0.0, 0.0, 0.0)]])
def test_a_run_without_time_has_no_steps(rows: list[Row]) -> None:
    for shown in (step_profile(timeline(rows), 2), binned_profile(timeline(rows), 2, 10)):
        assert shown.edges_s.tolist() == [0]
        assert shown.working_s.sum() == shown.waiting_s.sum() == shown.most.sum() == 0
        assert shown.idle.shape == (0,)


@pytest.mark.parametrize(("reading", "message"), [("forecast", "a forecast"), ("simulation", "without timeline")])
def test_a_result_without_timeline_is_an_error(reading: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"{message}.*timeline=True"):
        recorded(result(None, 1, reading))
    with pytest.raises(InputError):
        profile(replace(result(SMALL, 1), timeline=None))
