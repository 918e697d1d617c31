"""The readable list: distances counted by hand, by definition, and by caches of every size."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.mattson import mattson_distances, reuse_distances_by_dict

KEYS = st.lists(st.integers(0, 7), max_size=40)


@pytest.mark.parametrize(
    ("keys", "stack", "reuse"),
    [
        ("", [], []),
        ("a", [-1], [-1]),
        ("aa", [-1, 0], [-1, 0]),
        ("aba", [-1, -1, 1], [-1, -1, 1]),
        ("abba", [-1, -1, 0, 1], [-1, -1, 0, 2]),
        ("abcbbca", [-1, -1, -1, 1, 0, 1, 2], [-1, -1, -1, 1, 0, 2, 5]),
        ("abcabc", [-1, -1, -1, 2, 2, 2], [-1, -1, -1, 2, 2, 2]),
    ],
)
def test_by_hand(keys: str, stack: list[int], reuse: list[int]) -> None:
    assert mattson_distances(keys).tolist() == stack
    assert reuse_distances_by_dict(keys).tolist() == reuse


@given(KEYS)
def test_by_definition(keys: list[int]) -> None:
    """Distinct other keys, and accesses, strictly between two uses."""
    stack, reuse = [], []
    for now, key in enumerate(keys):
        before = [time for time in range(now) if keys[time] == key]
        stack.append(len(set(keys[before[-1] + 1 : now])) if before else -1)
        reuse.append(now - before[-1] - 1 if before else -1)
    assert mattson_distances(keys).tolist() == stack
    assert reuse_distances_by_dict(np.array(keys, np.uint64)).tolist() == reuse


@given(KEYS, st.integers(1, 9))
def test_a_cache_hits_what_is_nearer_than_its_size(keys: list[int], lines: int) -> None:
    cache: OrderedDict[int, None] = OrderedDict()
    hits = []
    for key in keys:
        hits.append(key in cache)
        cache[key] = None
        cache.move_to_end(key)
        if len(cache) > lines:
            cache.popitem(last=False)
    distances = mattson_distances(keys)
    assert ((distances >= 0) & (distances < lines)).tolist() == hits


def test_keys_up_to_the_last_address() -> None:
    keys = np.array([2**64 - 1, 0, 2**64 - 1], np.uint64)
    assert mattson_distances(keys).tolist() == [-1, -1, 1]
