"""Lines written back by the stack algorithm, against a fully associative cache simulated access by access."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.simulate import simulate_hierarchy
from simcodesign.locality.stack.distances import stack_profile
from simcodesign.locality.stack.writebacks import profiles_with_writebacks
from simcodesign.locality.streams.kernels import kernel_trace
from simcodesign.locality.traces.trace import MODIFY, STORE, ArrayTrace
from tests import examples

LINE = 64


def written_back(keys: list[int], kinds: list[int], lines: int) -> int:
    """An LRU list of lines and a set of dirty ones, as the textbook has them."""
    recent: list[int] = []
    dirty, count = set[int](), 0
    for key, kind in zip(keys, kinds, strict=True):
        if key in recent:
            recent.remove(key)
        elif len(recent) == lines:
            gone = recent.pop(0)
            count += gone in dirty
            dirty.discard(gone)
        recent.append(key)
        if kind in (STORE, MODIFY):
            dirty.add(key)
    return count


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from([0, STORE, MODIFY, 3])), min_size=1, max_size=120))
def test_every_size_of_cache_writes_back_what_an_lru_list_does(accesses: list[tuple[int, int]]) -> None:
    keys, kinds = (list(column) for column in zip(*accesses, strict=True))
    trace = ArrayTrace(np.array(keys, np.uint64) * LINE, np.array(kinds, np.uint8))
    profile, intervals = profiles_with_writebacks(trace, LINE)
    reference = stack_profile(trace, LINE)
    assert (profile.distance.tolist(), profile.cold) == (reference.distance.tolist(), reference.cold)
    for lines in (1, 2, 3, 5, 8, 13, 20):
        assert intervals.misses_above(lines) == written_back(keys, kinds, lines)


@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        ("stencil", {"n": 70, "sweeps": 3}),
        ("blocked_matmul", {"n": 48, "b": 8}),
        ("fft", {"n": 1024}),
        ("random_access", {"n": 5000, "updates": 20_000}),
    ],
)
@pytest.mark.parametrize("lines", [8, 64, 512])
def test_kernels_write_back_what_the_hierarchy_does(kernel: str, sizes: dict[str, int], lines: int) -> None:
    """Fully associative caches, which the hierarchy simulates with code of its own; chunks and sparse pages too."""
    trace = kernel_trace(kernel, **sizes)
    _, intervals = profiles_with_writebacks(trace, LINE)
    counts = simulate_hierarchy(trace, [CacheGeometry(lines * LINE, LINE)])
    assert intervals.misses_above(lines) == counts.memory_writes_lines
