"""Caches that processors share, and prefetchers: against lists in plain Python, and against what theory says of them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.locality.associativity import hit_probability, level_hits, shared_distance
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.prefetch import sequential_share
from simcodesign.locality.hierarchy.shared import PAGE_BYTES, SharedHierarchy
from simcodesign.locality.hits_by_level import Stream, served_by_profile, served_in_sets, served_together
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.stack.distances import stack_profile
from simcodesign.locality.stack.writebacks import profiles_with_writebacks
from simcodesign.locality.streams.kernels import kernel_trace
from simcodesign.locality.traces.trace import LOAD, MODIFY, STORE, ArrayTrace
from tests import examples

LINE = 64
#: Lines of the memory of each processor of the tests: a page of lines, and a page between two.
LINES = PAGE_BYTES // LINE
Access = tuple[int, int]  # key, kind


class PlainCache:
    """Sets as lists, the least recently used line first; and which lines are dirty."""

    def __init__(self, geometry: CacheGeometry) -> None:
        self.sets: dict[int, list[int]] = defaultdict(list)
        self.count, self.ways = geometry.sets, geometry.ways_per_set
        self.dirty = set[int]()

    def holds(self, key: int) -> bool:
        return key in self.sets[key % self.count]

    def use(self, key: int) -> int | None:
        """Make the line the most recent; the one that had to go."""
        lines, gone = self.sets[key % self.count], None
        if key in lines:
            lines.remove(key)
        elif len(lines) == self.ways:
            gone = lines.pop(0)
        lines.append(key)
        return gone


def plainly(
    streams: list[list[Access]], geometries: list[CacheGeometry], caches: list[list[int]], table: int
) -> list[dict[str, list[int]]]:
    """What becomes of the streams, one access of each in turn."""
    levels = len(geometries)
    every = [defaultdict(lambda geometry=geometry: PlainCache(geometry)) for geometry in geometries]
    heads: list[list[int]] = [[] for _ in streams]  # of the sequences of each, the one seen last at the end
    counts = [{"hits": [0] * levels, "written": [0] * levels, "back": [0], "ahead": [0]} for _ in streams]
    for turn in range(max(map(len, streams))):
        for processor, stream in enumerate(streams):
            if turn >= len(stream):
                continue
            own, kind = stream[turn]
            key = own + 2 * LINES * processor
            mine = [every[level][caches[level][processor]] for level in range(levels)]
            found = next((level for level in range(levels) if mine[level].holds(key)), levels)
            if found < levels:
                counts[processor]["hits"][found] += 1
                mine[found].use(key)
            elif table:
                near = [head for head in reversed(heads[processor]) if abs(head - key) == 1]
                counts[processor]["ahead"][0] += bool(near)
                if near:
                    heads[processor].remove(near[0])
                heads[processor] = [*heads[processor], key][-table:]
            for level in reversed(range(found)):
                gone = mine[level].use(key)
                if gone is not None and gone in mine[level].dirty:
                    mine[level].dirty.remove(gone)
                    owner = gone // (2 * LINES)
                    counts[owner]["written"][level] += 1
                    farther = (every[far][caches[far][owner]] for far in range(level + 1, levels))
                    holder = next((cache for cache in farther if cache.holds(gone)), None)
                    if holder is None:
                        counts[owner]["back"][0] += 1
                    else:
                        holder.dirty.add(gone)
            if kind in (STORE, MODIFY):
                mine[0].dirty.add(key)
    return counts


ONE_STREAM = st.lists(st.tuples(st.integers(0, 24), st.sampled_from([LOAD, STORE, MODIFY])), min_size=1, max_size=60)


@settings(max_examples=examples(150), deadline=None)
@given(
    streams=st.lists(ONE_STREAM, min_size=1, max_size=4),
    shared=st.sampled_from([(1, 1, 1), (1, 2, 2), (1, 1, 4), (1, 2, 4), (2, 2, 4), (4, 4, 4)]),
    ways=st.sampled_from([(1, 2, 4), (2, 2, None), (None, 4, 8), (2, None, None)]),
    table=st.integers(0, 4),
)
def test_streams_go_through_shared_caches_as_through_lists(
    streams: list[list[Access]], shared: tuple[int, ...], ways: tuple[int | None, ...], table: int
) -> None:
    """Every hit, every line written back and every line fetched ahead, of streams of any lengths."""
    geometries = [CacheGeometry(lines * LINE, LINE, way) for lines, way in zip((4, 8, 24), ways, strict=True)]
    caches = [[processor // count for processor in range(len(streams))] for count in shared]
    spans = [(0, PAGE_BYTES)] * len(streams)
    hierarchy = SharedHierarchy(geometries, np.array(caches), table, spans)
    traces = [
        ArrayTrace(np.array([key * LINE for key, _ in one], np.uint64), np.array([kind for _, kind in one], np.uint8))
        for one in streams
    ]
    hierarchy.run(traces)
    expected = plainly(streams, geometries, caches, table)
    for one, count, wanted in zip(streams, hierarchy.counts(), expected, strict=True):
        passed = np.append(len(one), count.misses)
        assert (passed[:-1] - passed[1:]).tolist() == wanted["hits"]
        assert count.written.tolist() == wanted["written"]
        assert ([count.back], [count.prefetched]) == (wanted["back"], wanted["ahead"])
        assert (count.accesses, count.stores) == (len(one), sum(kind == STORE for _, kind in one))


@pytest.mark.parametrize("kernel", [("stencil", {"n": 40, "sweeps": 2}), ("triad", {"n": 700, "repeats": 3})])
def test_one_stream_alone_is_that_of_the_hierarchy(kernel: tuple[str, dict[str, int]]) -> None:
    """Caches that nobody else uses serve what they serve where they are no shared ones."""
    trace = kernel_trace(kernel[0], **kernel[1])
    levels = [CacheGeometry(2048, LINE, 4), CacheGeometry(8192, LINE, 8)]
    (served,) = served_together([Stream(trace, trace.span)], levels, np.zeros((2, 1), np.int64), 0)
    assert served == served_in_sets(trace, levels)


@settings(max_examples=examples(100), deadline=None)
@given(
    keys=st.lists(st.integers(0, 20), min_size=2, max_size=80),
    sharers=st.integers(1, 5),
    lines=st.integers(1, 64),
)
def test_equal_streams_have_equal_shares(keys: list[int], sharers: int, lines: int) -> None:
    """k equal streams, one access of each in turn, in a fully associative cache of C lines: each hits as it does alone
    in one of C / k lines, rounded down (an LRU list, access by access)."""
    cache = CacheGeometry(lines * LINE, LINE)
    counts = plainly([[(key, LOAD) for key in keys]] * sharers, [cache], [[0] * sharers], 0)
    alone = 0
    if lines // sharers:
        share = CacheGeometry(lines // sharers * LINE, LINE)
        alone = plainly([[(key, LOAD) for key in keys]], [share], [[0]], 0)[0]["hits"][0]
    assert [count["hits"][0] for count in counts] == [alone] * sharers
    profile = stack_profile(np.array(keys, np.uint64) * np.uint64(LINE), LINE)
    assert level_hits(profile, [cache], "full", (float(sharers),)).hits[0] == alone


def test_the_shared_distance_is_that_of_the_interleaved_trace() -> None:
    """Distances of three equal streams, counted in the trace that they are together."""
    generator = np.random.default_rng(3)
    keys = generator.integers(0, 30, 400).astype(np.uint64)
    together = np.ravel(keys[:, None] + np.arange(3, dtype=np.uint64) * np.uint64(100), order="C") * np.uint64(LINE)
    own, mixed = stack_profile(keys * np.uint64(LINE), LINE), stack_profile(together, LINE)
    assert mixed.distance.tolist() == shared_distance(own.distance, 3).tolist()
    assert mixed.count.tolist() == (3 * own.count).tolist()
    assert mixed.cold == 3 * own.cold


def test_levels_are_shared_by_different_numbers() -> None:
    """What one level has no room for may find it in the next, but not in less room than it had."""
    profile = StackDistanceProfile(np.array([0, 5, 12, 30]), np.array([10.0, 20.0, 30.0, 40.0]), 5.0, LINE)
    levels = [CacheGeometry(8 * LINE, LINE), CacheGeometry(64 * LINE, LINE)]
    for sharers, hits in (
        ((1.0, 1.0), (30, 70)),
        ((1.0, 4.0), (30, 30)),
        ((1.0, 8.0), (30, 0)),
        ((2.0, 16.0), (10, 0)),
    ):
        assert level_hits(profile, levels, "full", sharers).hits == hits


def test_lines_that_go_back_are_shared_likewise() -> None:
    """A dirty line goes back where the cache has not the room of all streams: as in a list of that share of the lines;
    what is dirty when the streams end counts to within the turns of its last access."""
    trace = kernel_trace("stencil", n=24, sweeps=4)
    profile, intervals = profiles_with_writebacks(trace, LINE)
    for lines in (64, 128, 256):
        levels = [CacheGeometry(lines * LINE, LINE)]
        model = served_by_profile(profile, levels, "full", intervals, (4.0,))
        every = served_together([Stream(trace, trace.span)] * 4, levels, np.zeros((1, 4), np.int64), 0)
        for served in every:
            assert served.shares == pytest.approx(model.shares, abs=1e-12)
            assert served.written_back[0] * trace.accesses == pytest.approx(
                model.written_back[0] * trace.accesses, abs=lines // 4 + 4
            )
        assert sum(one.written_back[0] for one in every) > 0


def test_sets_see_all_streams_at_once() -> None:
    """The binomial correction takes the lines of all streams as spread over the sets, not a share of the ways."""
    cache = CacheGeometry(64 * LINE, LINE, 2)
    distance = shared_distance(10, 4)
    assert distance == 43
    chance = sum(
        np.prod([(43 - i) / (i + 1) for i in range(a)]) * (1 / 32) ** a * (31 / 32) ** (43 - a) for a in range(2)
    )
    assert hit_probability(distance, cache, "binomial") == pytest.approx(chance, rel=1e-12)


# --- Prefetch -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [1, 2, 3, 4, 8])
def test_triad_has_three_streams(streams: int) -> None:
    """Of three arrays in turn, three entries see each line follow the one before; fewer have lost it by then. The first
    line of each array begins its stream."""
    n = 4096
    lines = 3 * n // 8
    trace = kernel_trace("triad", n=n)
    share = sequential_share(trace, LINE, 64, streams)
    if streams >= 3:
        assert share == (lines - 3) / lines
    else:  # the three arrays lie side by side: where one ends and the next begins, lines of two streams are neighbours
        assert share <= 2 / lines
    levels = [CacheGeometry(4096, LINE, 8)]
    (served,) = served_together([Stream(trace, trace.span)], levels, np.zeros((1, 1), np.int64), streams)
    assert served.prefetched == pytest.approx(share * served.shares[-1], abs=3 / trace.accesses)


@pytest.mark.parametrize(("lines", "needed", "ahead"), [(64, 4, 1.0), (1024, 2, 74 / 78)])
def test_streams_of_a_stencil_by_its_layer_condition(lines: int, needed: int, ahead: float) -> None:
    """Where three rows fit, one row of u comes from memory and one of v, but at first three rows of u and one of v: 4
    of 78. Else three rows of u come, each of its own. With an entry less, hardly a line is fetched ahead."""
    trace = kernel_trace("stencil", n=1002, rows=40, centre=False)
    enough, few = (sequential_share(trace, LINE, lines, streams) for streams in (needed, needed - 1))
    assert enough == pytest.approx(ahead, abs=0.01)
    assert few < 0.03


def test_random_lines_are_not_fetched_ahead() -> None:
    """Of lines drawn at random from very many, two neighbours seldom follow one another among the last few."""
    trace = kernel_trace("random_access", n=2**22, updates=100_000, seed=1)
    assert sequential_share(trace, LINE, 1024, 16) < 2 * 16 / (2**22 / 8) * 3


@pytest.mark.parametrize("step", [1, -1])
def test_streams_go_up_or_down(step: int) -> None:
    trace = ArrayTrace((1000 + step * np.arange(100)).astype(np.uint64) * np.uint64(LINE))
    assert sequential_share(trace, LINE, 4, 1) == 0.99


def test_a_line_apart_is_no_stream() -> None:
    trace = ArrayTrace((2 * np.arange(100)).astype(np.uint64) * np.uint64(LINE))
    assert sequential_share(trace, LINE, 4, 8) == 0
