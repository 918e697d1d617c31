"""Shapes of caches: lines, sets, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.locality.cache import MOST_LINES, CacheGeometry


def test_a_level_1_cache() -> None:
    cache = CacheGeometry(32 * 1024, 64, 8)
    assert (cache.lines, cache.sets, cache.ways_per_set, cache.fully_associative) == (512, 64, 8, False)


def test_fully_associative_is_one_set() -> None:
    cache = CacheGeometry(640)
    assert (cache.lines, cache.sets, cache.ways_per_set, cache.fully_associative) == (10, 1, 10, True)
    assert CacheGeometry(640, 64, 10).fully_associative


@given(st.integers(0, 12), st.integers(1, 300), st.integers(1, 300))
def test_sets_times_ways_are_the_lines(log_line: int, sets: int, ways: int) -> None:
    """The number of sets need not be a power of two."""
    cache = CacheGeometry(sets * ways << log_line, 1 << log_line, ways)
    assert (cache.sets, cache.ways_per_set, cache.lines) == (sets, ways, sets * ways)


def test_whole_numbers_of_numpy_and_floats_are_taken_as_integers() -> None:
    cache = CacheGeometry(np.int64(4096), 64.0, np.uint8(4))  # type: ignore[arg-type]
    assert cache == CacheGeometry(4096, 64, 4)
    assert [type(field) for field in (cache.size_bytes, cache.line_bytes, cache.ways)] == [int] * 3


REFUSED = [
    ((0,), "size_bytes of a cache must be a whole number, got 0 (allowed: 1 or more)"),
    ((-64,), "size_bytes of a cache must be a whole number, got -64 (allowed: 1 or more)"),
    (("4 KiB",), "size_bytes of a cache must be a whole number, got '4 KiB' (allowed: 1 or more)"),
    ((64.5,), "size_bytes of a cache must be a whole number, got 64.5 (allowed: 1 or more)"),
    ((float("nan"),), "size_bytes of a cache must be a whole number, got nan (allowed: 1 or more)"),
    (
        (100,),
        "a cache must hold whole lines: its size_bytes do not fit, got 100 (allowed: a whole number of lines of 64 bytes)",
    ),
    ((96, 48), "line_bytes of a cache must be a power of two, got 48 (allowed: 1, 2, 4, ...)"),
    ((64, 0), "line_bytes of a cache must be a whole number, got 0 (allowed: 1 or more)"),
    ((64, True), "line_bytes of a cache must be a whole number, got True (allowed: 1 or more)"),
    (
        (384, 64, 4),
        "the lines of a cache cannot be divided into sets of this many ways, got 4 (allowed: a divisor of its 6 lines)",
    ),
    (
        (384, 64, 7),
        "the lines of a cache cannot be divided into sets of this many ways, got 7 (allowed: at most its 6 lines)",
    ),
    ((384, 64, 0), "ways of a cache must be a whole number, got 0 (allowed: 1 or more)"),
    ((64 << 40,), f"a cache has too many lines, got {1 << 40} (allowed: at most {MOST_LINES})"),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_no_cache_is_refused(fields: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        CacheGeometry(*fields)  # type: ignore[arg-type]
    assert str(caught.value) == message
