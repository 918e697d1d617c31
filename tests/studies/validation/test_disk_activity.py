"""Processors at the disk: compared with a count moment by moment, and with a queue that is known by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simcodesign as sc
from tests.builders import workload
from validation.papers.seismic.disk_activity import accesses, activity, not_exceeded

moments = st.integers(0, 12)


@given(st.lists(st.tuples(moments, moments).filter(lambda pair: pair[0] < pair[1]), min_size=1, max_size=12))
def test_activity_is_the_number_of_open_intervals(intervals: list[tuple[int, int]]) -> None:
    times, counts = activity(
        np.array([one for one, _ in intervals], float), np.array([two for _, two in intervals], float)
    )
    between = np.arange(0.5, 13)
    places = np.searchsorted(times, between) - 1
    shown = [int(counts[place]) if place >= 0 else 0 for place in places]
    assert shown == [sum(one < moment < two for one, two in intervals) for moment in between]
    assert counts.max() == max(shown)


def test_processors_that_wait_for_the_disk_are_at_it() -> None:
    """Four ranks read at once from one disk that takes 1 ms for each: four, three, two and one of them are at it. Only
    one is served at a time."""
    machine = sc.Machine.load(
        "power-challenge", {"disk.spindles": 1, "disk.read_startup": 1e-3, "disk.per_byte": 0.0, "nodes": 4}
    )
    run = sc.simulate(workload("- phase: all\n  do:\n    - read: {bytes: 8}"), machine, {"P": 4}, timeline=True)
    assert run.timeline is not None
    begin_s, end_s = accesses(run.timeline, "all")
    assert begin_s.tolist() == [0.0] * 4
    assert sorted(end_s) == pytest.approx([1e-3, 2e-3, 3e-3, 4e-3])
    times_s, counts = activity(begin_s, end_s)
    assert counts[3:].tolist() == [4, 3, 2, 1, 0]
    assert np.diff(times_s[3:]) == pytest.approx([1e-3] * 4)


@pytest.mark.parametrize(("fraction", "expected"), [(0.5, 1), (0.75, 2), (0.76, 3), (1.0, 3)])
def test_what_is_not_exceeded(fraction: float, expected: int) -> None:
    """One for 2 s, two for 1 s, three for 1 s, and nobody for 10 s, which does not count."""
    times_s, counts = np.array([0.0, 2.0, 12.0, 13.0, 14.0]), np.array([1, 0, 2, 3, 0])
    assert not_exceeded(times_s, counts, fraction) == expected
