"""Streams that are made for a profile, measured with a Mattson list: they have it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import stack_profile
from simcodesign.locality.streams import lru_stack
from simcodesign.locality.streams.from_profile import synthetic_stream, warm_stream
from simcodesign.locality.streams.kernels import kernel_trace


def mattson(keys: list[int]) -> list[int]:
    """Stack distances by the list of T. Mattson et al. (1970): where a key stands, it moves to the front; -1: cold."""
    stack: list[int] = []
    distances = []
    for key in keys:
        distances.append(stack.index(key) if key in stack else -1)
        if key in stack:
            stack.remove(key)
        stack.insert(0, key)
    return distances


def keys(address: np.ndarray, line_bytes: int = 64) -> list[int]:
    assert address.dtype == np.uint64
    return (address // np.uint64(line_bytes)).tolist()


def profile(counts: dict[int, float], cold: float, line_bytes: int = 64) -> StackDistanceProfile:
    return StackDistanceProfile.from_counts([*counts], [*counts.values()], cold, line_bytes)


#: Counts by distance.
histograms = st.dictionaries(st.integers(0, 60) | st.integers(0, 3), st.integers(0, 30), max_size=12)


@given(histograms, st.integers(1, 80), st.integers(0, 2**63))
def test_a_stream_as_long_as_its_profile_has_it_exactly(counts: dict[int, int], cold: int, seed: int) -> None:
    cold = max(cold, 1 + max((distance for distance, times in counts.items() if times), default=0))
    total = cold + sum(counts.values())
    address = synthetic_stream(profile(counts, cold), total, seed)
    assert len(address) == total
    assert +Counter(mattson(keys(address))) == +Counter({**counts, -1: cold})


@example({}, 6.71166895232424e-309, 2, 0, 1)
@given(histograms, st.floats(0, 50), st.integers(1, 300), st.integers(0, 2**63), st.sampled_from([1, 8, 64, 4096]))
def test_a_warm_stream_has_the_scaled_profile(
    counts: dict[int, float], cold: float, accesses: int, seed: int, key_bytes: int
) -> None:
    """Reuses up to every distance within half an access of the profile: so are hits of every size of a cache."""
    assume(cold > 0 or any(counts.values()))
    wanted = profile(counts, cold)
    stream = warm_stream(wanted, accesses, seed, key_bytes)
    warm, measured = keys(stream.warmup, key_bytes), keys(stream.address, key_bytes)
    assert len({*warm}) == len(warm)
    assert len(measured) == accesses
    distances = np.array(mattson(warm + measured)[len(warm) :])
    assert len(warm) == max(distances.max() + 1, 0)
    scaled = wanted.scaled(accesses=accesses)
    for lines in range(62):
        hits = np.count_nonzero((distances >= 0) & (distances < lines))
        assert abs(hits - float(scaled.hits_below(lines))) <= 0.5 + 1e-9 * accesses
    assert abs(np.count_nonzero(distances < 0) - scaled.cold) <= 0.5 + 1e-9 * accesses


@given(st.lists(st.integers(0, 30), min_size=1, max_size=300), st.integers(0, 100), st.integers(1, 5))
def test_a_stream_made_for_the_profile_of_another_has_its_distances(trace: list[int], seed: int, times: int) -> None:
    """Every profile that was measured can be met, and a longer stream has all its numbers multiplied."""
    distances = mattson(trace)
    measured = StackDistanceProfile.from_distances(distances, 8)
    made = synthetic_stream(measured, times * len(trace), seed)
    assert Counter(mattson(keys(made, 8))) == Counter({d: times * n for d, n in Counter(distances).items()})


def test_keys_are_numbered_as_they_come() -> None:
    address = synthetic_stream(profile({0: 50, 7: 40}, 20), 110, 3, 16)
    first = [key for at, key in enumerate(keys(address, 16)) if key not in keys(address[:at], 16)]
    assert first == list(range(20))


def test_draws_are_in_a_random_order() -> None:
    """Far from the start, where every distance is possible: each half has half of every distance, within 5 standard
    deviations of the hypergeometric distribution (n/2 drawn of n: sqrt(times/4) at most)."""
    counts = {0: 4000, 3: 2000, 9: 1000}
    stream = warm_stream(profile(counts, 500), 7500, 5)
    distances = mattson(keys(np.concatenate(stream)))[len(stream.warmup) :]
    for distance, times in {**counts, -1: 500}.items():
        assert abs(distances[:3750].count(distance) - times / 2) < 5 * (times / 4) ** 0.5


def test_seeds() -> None:
    wanted = profile({0: 100, 5: 100, 20: 50}, 30)
    one, same, other = (synthetic_stream(wanted, 280, seed).tolist() for seed in (1, 1, 2))
    assert one == same != other


@given(histograms, st.integers(0, 40), st.integers(0, 2**32), st.integers(0, 3))
def test_draws_are_put_in_order_as_described(counts: dict[int, int], cold: int, seed: int, depth: int) -> None:
    """Each draw is chosen among those that are left and not too deep, until there are none."""
    draws = np.sort(np.repeat([-1, *counts], [cold, *counts.values()]))
    chances = np.random.default_rng(seed).random(len(draws))
    expected, left, keys_then = [], draws.tolist(), depth
    for chance in chances:
        possible = [at for at, distance in enumerate(left) if distance < keys_then]
        if not possible:
            break
        chosen = possible[int(chance * len(possible))]
        expected.append(left[chosen])
        left[chosen] = left[0]  # the first one that is left takes its place
        left.pop(0)
        keys_then += expected[-1] < 0
    assert lru_stack.shuffle(draws, chances, depth) == len(expected)
    assert draws.tolist() == expected + left


@given(st.lists(st.integers(-1, 2**30), min_size=1, max_size=3000), st.integers(1, 400), st.integers(0, 5))
def test_stack(sampled: list[int], most: int, deep: int) -> None:
    """Any distances, of many more accesses than the stack has slots, so that keys are moved together again and again."""
    distances, depth = [], 0
    for value in sampled * deep + sampled:
        distance = -1 if depth == 0 or (value < 0 and depth < most) else value % depth
        distances.append(distance)
        depth += distance < 0
    values = np.empty(len(distances), np.int64)
    lru_stack.touch(lru_stack.stack_for(most), np.array(distances), values)
    stack: list[int] = []
    for distance, key in zip(distances, values.tolist(), strict=True):
        assert key == (len(stack) if distance < 0 else stack.pop(-1 - distance))
        stack.append(key)


def test_a_large_stack() -> None:
    """As many keys as need many levels of the tree."""
    most, accesses = 20_000, 60_000
    distances = np.random.default_rng(2).integers(0, most, accesses)
    values = np.empty(most + accesses, np.int64)
    lru_stack.touch(lru_stack.stack_for(most), np.concatenate([np.full(most, -1), distances]), values)
    stack = list(range(most))
    for distance, key in zip(distances.tolist(), values[most:].tolist(), strict=True):
        assert key == stack.pop(-1 - distance)
        stack.append(key)


@pytest.mark.parametrize(
    ("counts", "cold", "accesses", "words"),
    [
        ({}, 0, 5, "without accesses"),
        ({3: 5}, 5, 0, "whole number, got 0"),
        ({3: 5}, 5, 2.5, "got 2.5"),
        ({3: 5}, 3, 8, "8 accesses with 3 cold ones cannot reach a stack distance of 3 .*8 are in .*warm_stream"),
        ({3: 50}, 50, 5, "5 accesses with 3 cold ones|5 accesses with 2 cold ones"),
        ({2: 1}, 0, 1, "with 0 cold ones"),
    ],
)
def test_streams_that_cannot_be(counts: dict[int, float], cold: float, accesses: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        synthetic_stream(profile(counts, cold), accesses, 1)


def test_other_bad_input() -> None:
    wanted = profile({0: 5}, 5)
    with pytest.raises(InputError, match="power of two"):
        synthetic_stream(wanted, 10, 1, 24)
    with pytest.raises(InputError, match="seed must be a whole number, got -1"):
        synthetic_stream(wanted, 10, -1)
    with pytest.raises(InputError, match="more keys than there are addresses"):
        synthetic_stream(wanted, 10, 1, 2**62)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=300), st.integers(0, 100))
def test_measured_by_the_engine(trace: list[int], seed: int) -> None:
    """What a profile was measured with gives that profile again."""
    measured = stack_profile(np.array(trace), 8)
    assert stack_profile(synthetic_stream(measured, len(trace), seed), 8) == measured


@pytest.mark.parametrize(
    ("name", "sizes"), [("matmul", {"n": 40}), ("stencil", {"n": 60, "sweeps": 3}), ("fft", {"n": 2**11})]
)
def test_streams_in_place_of_kernels(name: str, sizes: dict[str, int]) -> None:
    """Lines of 64 bytes: as many hits in every cache as the kernel itself has."""
    trace = kernel_trace(name, **sizes)
    measured = stack_profile(trace)
    assert stack_profile(synthetic_stream(measured, trace.accesses, 1)) == measured
    twice = stack_profile(synthetic_stream(measured, 2 * trace.accesses, 1))
    assert twice == measured.scaled(factor=2)
