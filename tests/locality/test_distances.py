"""Distances and profiles of whole traces: recorded ones against references, small ones against the Mattson list."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack import distances as module
from simcodesign.locality.stack.distances import (
    group_profiles,
    reuse_distances,
    reuse_profile,
    stack_distances,
    stack_profile,
)
from simcodesign.locality.traces.trace import Accesses, ArrayTrace, Trace
from tests.oracles.mattson import mattson_distances, reuse_distances_by_dict

ADDRESSES = st.lists(st.one_of(st.integers(0, 300), st.integers(2**64 - 300, 2**64 - 1)), min_size=1, max_size=60)
LINES = st.sampled_from([1, 8, 64, 2**62])


def recorded(cases: Path, name: str) -> np.ndarray:
    with lzma.open(cases / "cache" / f"{name}.npy.xz") as file:
        return np.load(file)


class Pieces(Trace):
    """A trace that comes in chunks of three accesses."""

    name = "pieces"

    def __init__(self, address: list[int], group: list[int] | None = None) -> None:
        self.whole = ArrayTrace(np.array(address, np.uint64), group=group)

    def chunks(self, most: int = 3):
        return self.whole.chunks(3)


def rows(profile: StackDistanceProfile) -> tuple[list[int], list[float], float]:
    return profile.distance.tolist(), profile.count.tolist(), profile.cold


@pytest.mark.parametrize("name", ["gzip_1M", "mm_blocked_1M", "mm_naive_1M", "triad_1M"])
@pytest.mark.parametrize(("grain", "line_bytes"), [("line64", 64), ("elem8", 8)])
def test_histograms_of_recorded_traces(cases: Path, name: str, grain: str, line_bytes: int) -> None:
    """Equal to those on which three other programs agree."""
    expected = pd.read_csv(cases / "cache" / f"hist_{name}_{grain}.csv")
    result = stack_profile(recorded(cases, name), line_bytes)
    warm = expected[expected["sd"] >= 0]
    assert np.array_equal(result.distance, warm["sd"])
    assert np.array_equal(result.count, warm["count"])
    assert result.cold == expected["count"][expected["sd"] == -1].sum()
    assert result.line_bytes == line_bytes


@given(address=ADDRESSES, line_bytes=LINES)
def test_small_traces(address: list[int], line_bytes: int) -> None:
    keys = [place // line_bytes for place in address]
    trace = Pieces(address)
    stack, reuse = mattson_distances(keys), reuse_distances_by_dict(keys)
    assert stack_distances(trace, line_bytes).tolist() == stack.tolist()
    assert reuse_distances(trace, line_bytes).tolist() == reuse.tolist()
    for profile, expected in ((stack_profile(trace, line_bytes), stack), (reuse_profile(trace, line_bytes), reuse)):
        assert rows(profile) == rows(StackDistanceProfile.from_distances(expected, line_bytes))
        assert profile.line_bytes == line_bytes


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([7, 400_000, 2**64 - 1])), min_size=1, max_size=50))
def test_profiles_of_groups(accesses: list[tuple[int, int]]) -> None:
    """Distances are those of the whole trace, counted where they occur."""
    address, group = (list(column) for column in zip(*accesses, strict=True))
    profiles = group_profiles(Pieces(address, group), 1)
    expected = mattson_distances(address)
    assert list(profiles) == sorted(set(group))
    for name, profile in profiles.items():
        own = expected[[other == name for other in group]]
        assert rows(profile) == rows(StackDistanceProfile.from_distances(own, 1))


def test_profiles_of_groups_are_added_up_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 4)
    address = np.arange(90) * 5 % 17
    profiles = group_profiles(Pieces(address.tolist(), (np.arange(90) % 4).tolist()), 1)
    assert rows(StackDistanceProfile.merged(profiles.values())) == rows(stack_profile(address, 1))


def test_an_array_is_a_trace() -> None:
    """Bytes 0 and 70 are in lines 0 and 1."""
    assert stack_distances([0, 70, 8, 64, 0]).tolist() == [-1, -1, 1, 1, 1]
    assert stack_distances(np.array([0, 70, 8, 64, 0]), 1).tolist() == [-1, -1, -1, -1, 3]


@pytest.mark.parametrize("function", [stack_distances, reuse_distances, stack_profile, reuse_profile, group_profiles])
def test_bad_input(function) -> None:
    with pytest.raises(InputError, match="power of two, got 48"):
        function([1, 2], 48)
    with pytest.raises(InputError, match="negative"):
        function(np.array([3, -1]))
    with pytest.raises(InputError, match="empty"):
        function(np.empty(0, np.uint64))


def test_groups_are_needed() -> None:
    with pytest.raises(InputError, match="array: the trace has no instruction groups"):
        group_profiles([1, 2, 3])


def test_chunks_hold_what_they_say() -> None:
    parts = list(Pieces([1, 2, 3, 4]).chunks())
    assert all(isinstance(part, Accesses) for part in parts)
    assert [len(part) for part in parts] == [3, 1]
