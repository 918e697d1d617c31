"""Profiles of stack distances: compared with counting one access after the other, and files against what was saved."""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.locality.profile import FARTHEST, StackDistanceProfile, load_profile

DISTANCES = st.lists(st.one_of(st.just(-1), st.integers(0, 12), st.integers(0, 2**62)), min_size=1, max_size=60)
COUNTS = st.floats(0, 1e300, allow_subnormal=True)
HISTOGRAMS = st.dictionaries(st.integers(0, 2**62), COUNTS, max_size=20)
LINE = st.sampled_from([1, 8, 64, 4096])
SUFFIXES = ("json", "csv", "npz")


@st.composite
def profiles(draw: st.DrawFn) -> StackDistanceProfile:
    histogram = draw(HISTOGRAMS)
    distance = sorted(histogram)
    return StackDistanceProfile(
        np.array(distance, np.int64), np.array([histogram[d] for d in distance]), draw(COUNTS), draw(LINE)
    )


def whole(*distances: int) -> StackDistanceProfile:
    return StackDistanceProfile.from_distances(distances)


# Counting


@given(DISTANCES)
def test_counts_are_those_of_single_accesses(distances: list[int]) -> None:
    profile = StackDistanceProfile.from_distances(np.array(distances))
    counted = Counter(d for d in distances if d >= 0)
    assert dict(zip(profile.distance.tolist(), profile.count.tolist(), strict=True)) == counted
    assert (profile.cold, profile.accesses) == (distances.count(-1), len(distances))
    assert profile.reuses == sum(counted.values())


@given(DISTANCES, st.lists(st.floats(0, 20), max_size=20))
def test_hits_are_those_of_single_accesses(distances: list[int], sizes: list[float]) -> None:
    profile = StackDistanceProfile.from_distances(distances)
    hits = [sum(0 <= d < math.floor(size) for d in distances) for size in sizes]
    assert profile.hits_below(sizes).tolist() == hits
    misses = [len(distances) - hit for hit in hits]
    assert profile.misses_above(sizes).tolist() == misses
    assert profile.miss_ratio(sizes).tolist() == [miss / len(distances) for miss in misses]


@given(DISTANCES)
def test_median_and_mode_are_those_of_single_accesses(distances: list[int]) -> None:
    profile = StackDistanceProfile.from_distances(distances)
    reuses = sorted(d for d in distances if d >= 0)
    if not reuses:
        assert math.isnan(profile.median)
        assert math.isnan(profile.mode)
    else:
        assert profile.median == float(reuses[(len(reuses) - 1) // 2])  # the lower one of two
        assert profile.mode == float(min(d for d in reuses if reuses.count(d) == max(map(reuses.count, reuses))))


@given(DISTANCES)
def test_the_curve_changes_only_where_it_says(distances: list[int]) -> None:
    profile = StackDistanceProfile.from_distances(distances)
    curve = profile.miss_ratio_curve()
    assert (curve.lines[0], curve.miss_ratio[0]) == (0, 1)
    assert np.array_equal(curve.miss_ratio, profile.miss_ratio(curve.lines))
    assert np.array_equal(curve.miss_ratio[:-1], profile.miss_ratio(curve.lines[1:] - 1))
    assert np.all(np.diff(curve.miss_ratio) < 0)


def test_sizes_of_any_shape() -> None:
    profile = whole(-1, 0, 0, 3, 10)
    assert profile.miss_ratio(np.full((2, 0, 3), 5)).shape == (2, 0, 3)
    assert profile.miss_ratio([[0, 1], [3, 4]]).tolist() == [[1, 0.6], [0.6, 0.4]]
    assert profile.miss_ratio(10) == 0.4
    assert np.ndim(profile.miss_ratio(10)) == 0
    assert profile.miss_ratio([10.999, 11, math.inf, 2.0**80]).tolist() == [0.4, 0.2, 0.2, 0.2]
    assert whole(FARTHEST).miss_ratio([FARTHEST, FARTHEST + 1]).tolist() == [1, 0]
    assert whole(FARTHEST).miss_ratio([float(FARTHEST), math.inf]).tolist() == [1, 0]
    assert whole(3).miss_ratio(np.array([3, 4, 200], np.uint8)).tolist() == [1, 0, 0]
    assert whole(3).miss_ratio(np.array([3, 2**64 - 1], np.uint64)).tolist() == [1, 0]


def test_many_sizes_among_many_distances() -> None:
    generator = np.random.default_rng(5)
    distances = generator.integers(0, 10**6, 40_000)
    sizes = generator.integers(0, 1_100_000, (150, 100))
    table = np.concatenate([[0], np.cumsum(np.bincount(distances, minlength=1_100_000))])
    assert np.array_equal(StackDistanceProfile.from_distances(distances).hits_below(sizes), table[sizes])


def test_recorded_histograms_hold_the_hits_of_another_program(cases: Path) -> None:
    """Fully associative LRU of 512 lines, which the histogram alone must give."""
    hits = json.loads((cases / "cache" / "hits.json").read_text())
    for name, expected in hits.items():
        profile = load_profile(cases / "cache" / f"hist_{name}_line64.csv")
        assert profile.hits_below(512) == expected["fa_lru_512"]["hits"]
        assert profile.misses_above(512) == expected["fa_lru_512"]["misses"]


# Changing


@given(st.lists(DISTANCES, min_size=1, max_size=4))
def test_merging_is_one_trace_after_the_other(lists: list[list[int]]) -> None:
    merged = StackDistanceProfile.merged(StackDistanceProfile.from_distances(one) for one in lists)
    assert merged == StackDistanceProfile.from_distances([d for one in lists for d in one])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_counts_in_any_order(rows: list[tuple[int, int]]) -> None:
    profile = StackDistanceProfile.from_counts([d for d, _ in rows], [c for _, c in rows], 3)
    counted = Counter(d for d, c in rows for _ in range(c))
    assert dict(zip(profile.distance.tolist(), profile.count.tolist(), strict=True)) == counted


@given(DISTANCES, st.integers(0, 8))
def test_scaling_is_repeating(distances: list[int], times: int) -> None:
    profile = StackDistanceProfile.from_distances(distances)
    scaled = profile.scaled(factor=times)
    assert scaled.count.tolist() == (profile.count * times).tolist()
    assert scaled.cold == profile.cold * times
    assert profile.scaled(accesses=times * profile.accesses) == scaled


def test_equal_profiles_are_equal() -> None:
    one, other = whole(0, -1, 3), whole(3, 0, -1)
    assert one == other
    assert len({one, other, whole(0, 3)}) == 2
    assert one != StackDistanceProfile.from_distances([0, -1, 3], 8)
    assert one != "profile"


def test_arrays_are_the_profiles_own() -> None:
    distance, count = np.array([1, 2]), np.array([3.0, 4.0])
    profile = StackDistanceProfile(distance, count)
    distance[0], count[0] = 7, 7
    assert (profile.distance.tolist(), profile.count.tolist()) == ([1, 2], [3, 4])
    with pytest.raises(ValueError, match="read-only"):
        profile.count[0] = 1


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 1], [1, 1]), "not in order, got (1, 1) (allowed: ascending, each once)"),
        (([2, 1], [1, 1]), "got (2, 1)"),
        (([-1, 1], [1, 1]), "got -1 (allowed: 0 to 2**62)"),
        (([2**63], [1]), "whole numbers up to 2**62"),
        (([1.5], [1]), "got 1.5"),
        ((["a"], [1]), "whole numbers"),
        (([1], [1, 2]), "two lists of equal length"),
        (([[1]], [[1]]), "two lists of equal length"),
        (([1], [-1]), "got -1.0 (allowed: finite numbers of 0 or more)"),
        (([1], [math.nan]), "got nan"),
        (([1], [math.inf]), "got inf"),
        (([1], ["a"]), "numbers of 0 or more"),
        (([1], [1], -1), "cold of a profile is out of range, got -1.0"),
        (([1], [1], 1e308), "a profile has too many cold accesses, got 1e+308"),
        (([1], [1], 0, 48), "line_bytes of a profile must be a power of two, got 48 (allowed: 1, 2, 4"),
        (([1], [1], 0, 0), "got 0"),
        (([1], [1], 0, 64.0), "got 64.0"),
    ],
)
def test_what_is_no_profile(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        StackDistanceProfile(*arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: whole(-2, 0), "a stack distance is too small, got -2"),
        (lambda: whole(0).miss_ratio(-1), "lines of a cache is out of range, got -1.0"),
        (lambda: whole(0).miss_ratio([1, math.nan]), "got nan"),
        (lambda: whole().miss_ratio(1), "no miss ratio"),
        (lambda: StackDistanceProfile.merged([]), "there is no profile to merge"),
        (lambda: StackDistanceProfile.merged([whole(0), StackDistanceProfile([0], [1], 0, 8)]), "got [8, 64]"),
        (lambda: whole(0).scaled(), "either accesses or factor"),
        (lambda: whole(0).scaled(1, 1), "either accesses or factor"),
        (lambda: whole(0).scaled(factor=-1), "got -1.0"),
        (lambda: whole().scaled(accesses=5), "cannot be scaled"),
        (lambda: StackDistanceProfile.from_counts([1, 2], [1]), "two lists of equal length"),
    ],
)
def test_what_cannot_be_asked(action: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        action()
    assert message in str(caught.value)


# Files


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(profile=profiles())
def test_a_file_brings_back_every_bit(suffix: str, tmp_path_factory: pytest.TempPathFactory, profile: object) -> None:
    path = tmp_path_factory.mktemp("files") / f"profile.{suffix}"
    profile.save(path)
    assert load_profile(path) == profile
    assert [result.name for result in path.parent.iterdir()] == [path.name]


def test_fractions_survive(tmp_path: Path) -> None:
    profile = whole(0, 5, -1).scaled(factor=1 / 3)
    for suffix in SUFFIXES:
        profile.save(str(tmp_path / f"a.{suffix}"))
        assert Fraction(load_profile(tmp_path / f"a.{suffix}").cold) == Fraction(1 / 3)


def test_a_table_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("distance,count\r\n-1,2\r\n0, 7\r\n3,1e1\r\n")
    assert load_profile(path) == StackDistanceProfile([0, 3], [7, 10], 2, 64)
    path.write_text("# line_bytes = 8\n# more\nsd, count\n4,1")
    assert load_profile(path) == StackDistanceProfile([4], [1], 0, 8)
    path.write_text("distance,count\n")
    assert load_profile(path).accesses == 0


BROKEN_TABLES = [
    ("", ":1: a profile's table begins with an unknown head"),
    ("a,b\n1,2\n", ":1: a profile's table begins with an unknown head, got 'a,b'"),
    ("distance,count\n1,2\n1,2\n", ":3: a distance is not above the previous distance, got 1"),
    ("distance,count\n-1,2\n-1,2\n", ":3: a distance is not above"),
    ("distance,count\n1,2\n2\n", ":3: this row is no row of a profile, got '2'"),
    ("distance,count\n1,2\n\n2\n", ":4: this row is no row of a profile, got '2'"),
    ("distance,count\n1,2,3\n", ":2: this row is no row of a profile"),
    ("distance,count\n1.5,2\n", ":2: this entry is not a number in range, got '1.5' (allowed: a whole number"),
    ("distance,count\n-2,2\n", ":2: this number is out of range, got -2"),
    (f"distance,count\n{2**62 + 1},2\n", ":2: this number is out of range"),
    (f"distance,count\n{10**30},2\n", ":2: this entry is not a number in range"),
    ("distance,count\n0,1\n1,nan\n", ":3: this number is out of range, got nan"),
    ("distance,count\n0,1\n1,-1\n", ":3: this number is out of range, got -1.0"),
    ("distance,count\n0,1\n1,x\n", ":3: this entry is not a number in range, got 'x'"),
    (
        "# line_bytes = 48\ndistance,count\n0,1\n",
        ":1: line_bytes: line_bytes of a profile must be a power of two, got 48",
    ),
    (
        "# line_bytes = x\ndistance,count\n0,1\n",
        ":1: line_bytes: line_bytes of a profile must be a power of two, got 'x'",
    ),
    ("# line_bytes = 64, rows = 2\ndistance,count\n0,1\n", ":3: the table is cut off or added to: 1 rows"),
    ("# line_bytes = 64, rows = 1\ndistance,count\n0,1", ":3: the table is cut off or added to"),
    (b"\xff\xfa", "byte 0: the file is not text in UTF-8"),
]
GOOD = {"format": 1, "line_bytes": 64, "cold": 1.0, "distance": [0, 5], "count": [1.0, 2.0]}
BROKEN_OBJECTS = [
    ({"format": 2}, ": format: this version of the format of profiles is unknown, got 2 (allowed: 1)"),
    ({"format": True}, ": format: "),
    ({"line_bytes": 6}, ": line_bytes: "),
    ({"cold": -1}, ": cold: this entry is not a number in range, got -1"),
    ({"cold": 10**400}, ": cold: this entry is not a number in range"),
    ({"distance": 5}, ": distance: this field must be a list, got 5"),
    ({"distance": [0, 2.0]}, ": distance[1]: this entry is not a number in range, got 2.0"),
    ({"distance": [0, 0]}, ": distance[1]: a distance is not above"),
    ({"distance": [0, True]}, ": distance[1]: this entry is not a number in range"),
    ({"count": [1]}, ": a profile needs one count for each distance, got (2, 1)"),
    ({"count": [1, None]}, ": count[1]: this entry is not a number in range"),
    ({"count": [math.inf, 1]}, ": count[0]: this entry is not a number in range, got inf"),
    ({"more": 1}, ": a saved profile needs exactly its fields"),
]


def said_of(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_profile(path)
    assert str(caught.value).startswith(str(path))
    return str(caught.value).removeprefix(str(path))


@pytest.mark.parametrize(("text", "expected"), BROKEN_TABLES)
def test_a_broken_table_is_an_error_with_its_line(tmp_path: Path, text: str | bytes, expected: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    assert expected in said_of(path)


@pytest.mark.parametrize(("change", "expected"), BROKEN_OBJECTS)
def test_a_broken_object_is_an_error_with_its_entry(tmp_path: Path, change: dict[str, object], expected: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(GOOD | change))
    assert expected in said_of(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]", "fields"),
        ("{", ":1: the file is not JSON"),
        ("{}\n}", ":2: the file is not JSON"),
        ("[" * 10**5, "the file is not JSON"),
        ("9" * 5000, "the file is not JSON"),
    ],
)
def test_what_is_no_json(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    assert expected in said_of(path)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"distance": np.array([0.0, 5])}, ": distance: an array has the type float64"),
        ({"distance": np.array([0, 5], object)}, ": distance: the NPZ file is broken"),
        ({"count": np.array([[1.0, 2]])}, ": count: an array has the type float64 and the shape (1, 2)"),
        ({"count": np.array([1, np.nan])}, ": count[1]: this number is out of range, got nan"),
        ({"distance": np.array([0, -5])}, ": distance[1]: this number is out of range"),
        ({"distance": np.array([0, 0])}, ": distance[1]: a distance is not above"),
        ({"cold": np.float64(-1)}, ": cold: this number is out of range"),
        ({"format": np.int64(3)}, ": format: "),
        ({"line_bytes": np.int64(3)}, ": line_bytes: "),
        ({"more": np.int64(3)}, ": a saved profile needs exactly its fields"),
    ],
)
def test_broken_arrays_are_an_error_with_their_entry(tmp_path: Path, change: dict[str, object], expected: str) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, **({name: np.array(value) for name, value in GOOD.items()} | change))
    assert expected in said_of(path)


def test_every_cut_of_a_file_is_an_error(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"a.{suffix}"
        whole(-1, 0, 0, 12, 345).save(path)
        contents = path.read_bytes()
        most = len(contents) - (suffix == "json")  # its last byte ends the line
        for length in range(0, most, 1 if suffix != "npz" else 7):
            path.write_bytes(contents[:length])
            if not (suffix == "csv" and length < contents.index(b"\ndistance") and contents[:length].find(b"rows") > 0):
                said_of(path)


def test_every_damaged_byte_of_arrays_is_an_error_or_changes_nothing(tmp_path: Path) -> None:
    path, profile = tmp_path / "a.npz", whole(-1, 0, 0, 12, 345)
    profile.save(path)
    contents = path.read_bytes()
    for place in range(0, len(contents), 5):
        path.write_bytes(contents[:place] + bytes([contents[place] ^ 0x55]) + contents[place + 1 :])
        with suppress(InputError):
            assert load_profile(path) == profile  # a byte that nothing depends on


def test_places_that_cannot_be(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in said_of(tmp_path / "none.csv")
    assert "cannot be read: No such file" in said_of(tmp_path / "none.npz")
    assert "cannot be read: No such file" in said_of(tmp_path / "none.json")
    assert "a profile cannot have this suffix, got '.txt' (allowed: .json, .csv, .npz)" in said_of(tmp_path / "a.txt")
    with pytest.raises(InputError, match="cannot be written: No such file"):
        whole(0).save(tmp_path / "none" / "a.csv")
    with pytest.raises(InputError, match="a profile cannot have this suffix"):
        whole(0).save(tmp_path / "a")
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        whole(0).save(tmp_path / "b.csv")
    assert [result.name for result in tmp_path.iterdir()] == ["b.csv"]


def test_what_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    whole(0, 1).save(path)

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json, "dumps", full)
    with pytest.raises(InputError, match="No space left"):
        whole(5).save(path)
    assert load_profile(path) == whole(0, 1)
    assert [result.name for result in tmp_path.iterdir()] == ["a.json"]
