"""The engine counts what the list of Mattson finds, wherever its arrays run out of room."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import CapacityError
from simcodesign.locality.stack import engine as stack_engine
from simcodesign.locality.stack import slots
from simcodesign.locality.stack.reuse import ReuseMeter
from tests.oracles.mattson import mattson_distances, reuse_distances_by_dict
from tests.oracles.plain_stack import PlainReuse, PlainStack

SEEDS = st.integers(0, 2**32 - 1)


def streams(seed: int, count: int) -> np.ndarray:
    """Keys of loops, of a few hot keys, and of any, mixed in pieces; the first of all keys is anywhere in 2^64."""
    rng = np.random.default_rng(seed)
    most = int(rng.choice([2, 5, 40, 700, 3000]))
    pieces = [np.empty(0, np.int64)]
    while sum(map(len, pieces)) < count:
        length = int(rng.integers(1, 200))
        start, step = rng.integers(0, most, 2)
        kind = rng.integers(4)
        loop = (start + step * np.arange(length)) % most
        hot = (start + rng.geometric(0.5, length)) % most
        pieces.append([loop, hot, rng.integers(0, most, length), np.arange(length) % 2 * step + start][kind])
    # Neighbours, one to a page, anywhere.
    spread = int(rng.choice([1, 3, 64, 4096, 2**48 + 1]))
    keys = np.concatenate(pieces)[:count].astype(np.uint64) * np.uint64(spread)
    return keys + rng.integers(0, 2**64, dtype=np.uint64)


def in_chunks(measure, keys: np.ndarray, seed: int) -> np.ndarray:
    """What is measured of a stream that comes in pieces, some of them empty."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, len(keys) + 1, int(rng.integers(0, 6))))
    return np.concatenate([measure(part) for part in np.split(keys, cuts)])


def histogram_of(distances: np.ndarray) -> tuple[list[int], list[int], int]:
    distance, count = np.unique(distances[distances >= 0], return_counts=True)
    return distance.tolist(), count.tolist(), int(np.sum(distances < 0))


def histogram(counter) -> tuple[list[int], list[int], int]:
    distance, count = counter.histogram
    return distance.tolist(), count.tolist(), counter.cold


@given(
    seed=SEEDS,
    count=st.integers(0, 1500),
    slots=st.sampled_from([64, 128, 640, 2048, 1 << 16]),
    spread=st.sampled_from([2, 8]),
    first=st.sampled_from([1, 60, 500, 2040, 32_000, 32_767, 32_768, 98_000]),
    page_bits=st.sampled_from([0, 2, 6]),
)
def test_engine_is_mattson(seed: int, count: int, slots: int, spread: int, first: int, page_bits: int) -> None:
    """Slots run out at once or never, and streams begin at the edge of a word, a block or a super."""
    keys = streams(seed, count)
    counter = stack_engine.StackCounter(0, slots, spread, first, page_bits)
    expected = mattson_distances(keys)
    assert in_chunks(counter.measure, keys, seed).tolist() == expected.tolist()
    assert histogram(counter) == histogram_of(expected)


@given(seed=SEEDS, shift=st.integers(0, 63))
def test_engine_counts_without_measuring(seed: int, shift: int) -> None:
    keys = streams(seed, 500)
    counter = stack_engine.StackCounter(shift)
    counter.add(keys[:100])
    counter.add(keys[100:])
    assert histogram(counter) == histogram_of(mattson_distances(keys >> np.uint64(shift)))


@given(seed=SEEDS, count=st.integers(0, 600), times=st.sampled_from([1, 5, 64, 4096]), shift=st.integers(0, 63))
def test_plain_is_mattson(seed: int, count: int, times: int, shift: int) -> None:
    keys = streams(seed, count)
    counter = PlainStack(shift, times)
    expected = mattson_distances(keys >> np.uint64(shift))
    assert in_chunks(counter.measure, keys, seed).tolist() == expected.tolist()
    assert histogram(counter) == histogram_of(expected)


@given(seed=SEEDS, count=st.integers(0, 1000), page_bits=st.sampled_from([0, 2, 6]))
def test_reuse_is_by_dict(seed: int, count: int, page_bits: int) -> None:
    keys = streams(seed, count)
    expected = reuse_distances_by_dict(keys)
    assert in_chunks(ReuseMeter(0, page_bits).measure, keys, seed).tolist() == expected.tolist()
    assert in_chunks(PlainReuse(0).measure, keys, seed).tolist() == expected.tolist()


def many(kind: str) -> np.ndarray:
    """100,000 accesses to so many keys that all arrays grow, and that slots are numbered anew."""
    rng = np.random.default_rng(5)
    keys = {
        "dense": rng.integers(0, 50_000, 100_000, np.uint64),
        "sparse": rng.integers(0, 50_000, 100_000, np.uint64) * np.uint64(4099),
        "first sparse, then dense": np.concatenate([np.arange(40_000) * 64, rng.integers(0, 60_000, 60_000)]),
        "a loop": np.arange(100_000) % 30_000,
        "there and back": np.abs(np.arange(100_000) % 40_000 - 20_000),
        "distinct": np.arange(100_000) * 3,
    }
    return keys[kind].astype(np.uint64)


@cache
def expected_of(kind: str) -> np.ndarray:
    return PlainStack(0).measure(many(kind))


@pytest.mark.parametrize(
    "kind", ["dense", "sparse", "first sparse, then dense", "a loop", "there and back", "distinct"]
)
@pytest.mark.parametrize(("slots", "spread"), [(1 << 16, 8), (64, 2)])
@pytest.mark.thorough
def test_engine_grows(kind: str, slots: int, spread: int) -> None:
    """Compared with the plain counter, which is compared with the list on shorter streams."""
    keys = many(kind)
    counter = stack_engine.StackCounter(0, slots, spread)
    expected = expected_of(kind)
    assert np.array_equal(in_chunks(counter.measure, keys, 1), expected)
    assert histogram(counter) == histogram_of(expected)


def test_the_two_last_keys_survive_new_pages() -> None:
    """Pages are broken up while the last keys are remembered by the place of their entries."""
    sparse = np.arange(5000, dtype=np.uint64) * np.uint64(1 << 20)
    keys = np.concatenate([np.array([key, key, other, key, other]) for key, other in pairwise(sparse)])
    assert np.array_equal(stack_engine.StackCounter(0).measure(keys), PlainStack(0).measure(keys))


def test_read_only_and_strided_arrays_are_read() -> None:
    keys = np.repeat(np.arange(9, dtype=np.uint64), 2)
    keys.setflags(write=False)
    assert stack_engine.StackCounter(0).measure(keys[::2]).tolist() == [-1] * 9


def test_slots_that_have_no_number_are_an_error() -> None:
    assert slots.capacity_for(3_000_000_000, 8, 1 << 16) < 2**32
    with pytest.raises(CapacityError, match="too many different lines, got 4000000000"):
        slots.capacity_for(4_000_000_000, 8, 1 << 16)


@pytest.mark.parametrize("page_bits", [0, 2, 6])
def test_a_chunk_may_begin_with_the_last_key(page_bits: int) -> None:
    """The page of the last key is the current one then, and its neighbours are others."""
    counter = stack_engine.StackCounter(0, page_bits=page_bits)
    counter.measure(np.array([64, 0, 130], np.uint64))
    counter.measure(np.array([0, 64], np.uint64))
    assert counter.measure(np.array([64, 0, 130, 64], np.uint64)).tolist() == [0, 1, 2, 2]
