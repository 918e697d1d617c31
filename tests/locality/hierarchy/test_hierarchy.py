"""Hierarchies of caches: the compiled one equals the readable one, and both what was recorded and what hand and
stack distances say."""

from __future__ import annotations

import json
import lzma
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import CapacityError, InputError
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy import simulate
from simcodesign.locality.hierarchy.counts import INCLUSIONS, ByKind, HierarchyCounts, Policy
from simcodesign.locality.hierarchy.simulate import lru_hits, simulate_hierarchy
from simcodesign.locality.traces.trace import FETCH, LOAD, MODIFY, STORE, Accesses, ArrayTrace
from tests import examples
from tests.oracles.hierarchy_model import HierarchyModel

POLICIES = [Policy(inclusion, allocate) for inclusion in INCLUSIONS for allocate in (True, False)]
Maker = Callable[[Sequence[CacheGeometry], Policy], simulate.Simulator]


def engine(geometries: Sequence[CacheGeometry], policy: Policy) -> simulate.Simulator:
    return simulate.simulator_of(geometries, policy)


SIMULATORS = [pytest.param(HierarchyModel, id="readable"), pytest.param(engine, id="compiled")]


def count(make: Maker, geometries: Sequence[CacheGeometry], policy: Policy, text: str) -> HierarchyCounts:
    """Counts of a trace such as ``"a B c*"``: lines by letter, a capital for a store, a star for a modify."""
    words = text.split()
    kind = [MODIFY if "*" in word else STORE if word.isupper() else LOAD for word in words]
    key = np.array([ord(word[0].lower()) - ord("a") for word in words], np.uint64)
    simulator = make(geometries, policy)
    simulator.run(Accesses(key * np.uint64(64), np.array(kind, np.uint8)))
    return simulator.counts()


def levels(*lines: int, ways: int | None = None) -> list[CacheGeometry]:
    return [CacheGeometry(64 * number, 64, ways) for number in lines]


# --- By hand --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", SIMULATORS)
def test_least_recently_used_by_hand(make: Maker) -> None:
    """Two lines: a and b come in, a is used again, so that c takes the place of b."""
    (level,) = count(make, levels(2), Policy(), "a b a c a b").levels
    assert (level.hits, level.misses, level.fills, level.evictions, level.resident_lines) == (2, 4, 4, 2, 2)


@pytest.mark.parametrize("make", SIMULATORS)
def test_non_inclusive_by_hand(make: Maker) -> None:
    """One line, then two. Level 1 keeps b while c and then a push it out of level 2; so its dirty data passes by
    level 2, and goes to memory."""
    policy = Policy("non_inclusive")
    geometries = levels(2, 2)
    # a, b everywhere, b dirty in level 1. c replaces a in both; b is used in level 1 alone, so that d replaces it in
    # level 2, where it is the oldest, but c in level 1. e replaces b in level 1: dirty, and not in level 2.
    counts = count(make, geometries, policy, "a B c b d e")
    one, two = counts.levels
    assert counts.hits == (1, 0)
    assert (one.evictions, one.writebacks, one.dirty_lines) == (3, 1, 0)
    assert (two.evictions, two.writebacks, two.dirty_lines) == (3, 0, 0)
    assert (counts.memory_reads_lines, counts.memory_writes_lines) == (5, 1)


@pytest.mark.parametrize("make", SIMULATORS)
def test_a_write_back_makes_the_next_level_dirty_and_no_newer(make: Maker) -> None:
    """One line over three: A goes dirty to level 2 when b comes; it is still the oldest there when d comes."""
    counts = count(make, levels(1, 3), Policy(), "A b c d")
    one, two = counts.levels
    assert (one.writebacks, two.writebacks, two.dirty_lines) == (1, 1, 0)
    assert (counts.memory_reads_lines, counts.memory_writes_lines) == (4, 1)


@pytest.mark.parametrize("make", SIMULATORS)
def test_inclusive_by_hand(make: Maker) -> None:
    """As above, but whatever level 2 evicts (a, then the dirty b, then c) leaves level 1 too, which never has to."""
    counts = count(make, levels(2, 2), Policy("inclusive"), "a B c b d b")
    one, two = counts.levels
    assert counts.hits == (1, 0)
    assert (one.evictions, one.removals, one.writebacks) == (0, 3, 1)
    assert (two.evictions, two.removals, two.writebacks) == (3, 0, 1)
    assert (one.resident_lines, two.resident_lines, two.dirty_lines) == (2, 2, 0)
    assert (counts.memory_reads_lines, counts.memory_writes_lines) == (5, 1)


@pytest.mark.parametrize("make", SIMULATORS)
def test_exclusive_by_hand(make: Maker) -> None:
    """One line and two: they hold three lines together. A goes dirty to level 2, comes back dirty, and goes again."""
    counts = count(make, levels(1, 2), Policy("exclusive"), "A b c a b c")
    one, two = counts.levels
    assert counts.hits == (0, 3)
    assert (one.fills, one.evictions, one.removals, one.writebacks) == (6, 5, 0, 2)
    assert (two.fills, two.evictions, two.removals, two.writebacks) == (5, 0, 3, 0)
    assert (one.dirty_lines, two.dirty_lines) == (0, 1)
    assert (counts.memory_reads_lines, counts.memory_writes_lines) == (3, 0)
    assert count(make, levels(1, 2), Policy("exclusive"), "A b c d").memory_writes_lines == 1


@pytest.mark.parametrize("make", SIMULATORS)
@pytest.mark.parametrize("inclusion", INCLUSIONS)
def test_no_write_allocate_by_hand(make: Maker, inclusion: str) -> None:
    """A misses everywhere and goes to memory; a load brings a in, and the store that follows hits."""
    counts = count(make, levels(1, 2), Policy(inclusion, write_allocate=False), "A a A b A b c*")
    one, two = counts.levels
    assert one.accesses_by_kind == ByKind(loads=3, stores=3, modifies=1, fetches=0)
    assert one.hits_by_kind == ByKind(loads=1, stores=1, modifies=0, fetches=0)
    assert two.hits_by_kind == ByKind(loads=0, stores=1, modifies=0, fetches=0)  # the third A, where it stays
    assert (counts.memory_reads_lines, counts.memory_stores) == (3, 1)


# --- The two against each other -------------------------------------------------------------------------------


@st.composite
def geometry(draw: st.DrawFn) -> CacheGeometry:
    """Any number of sets; few ways, more than are looked at one by one, or one set."""
    ways = draw(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 17, 20, None]))
    sets = draw(st.integers(1, 9))
    return CacheGeometry(64 * sets * (ways or 3), 64, ways)


def stream(seed: int, length: int, spread: int) -> Accesses:
    """Lines far and near, so that there are hits at every level; some far apart, some at the end of memory."""
    generator = np.random.default_rng(seed)
    key = np.where(
        generator.random(length) < 0.6, generator.integers(0, 8, length), generator.integers(0, spread, length)
    )
    far = np.array([0, 1 << 20, (1 << 58) - spread], np.uint64)[generator.integers(0, 3, length) * (seed % 3 == 0)]
    address = (key.astype(np.uint64) + far) * np.uint64(64) + generator.integers(0, 64, length).astype(np.uint64)
    return Accesses(address, generator.integers(LOAD, FETCH + 1, length).astype(np.uint8) if seed % 4 else None)


@settings(max_examples=examples(500))
@given(
    st.lists(geometry(), min_size=1, max_size=3),
    st.sampled_from(POLICIES),
    st.integers(0, 2**32),
    st.integers(0, 400),
    st.integers(1, 300),
)
def test_the_compiled_hierarchy_equals_the_readable_one(
    geometries: list[CacheGeometry], policy: Policy, seed: int, length: int, spread: int
) -> None:
    """In chunks of any length: what came before a chunk is remembered."""
    accesses = stream(seed, length, spread)
    readable, compiled = HierarchyModel(geometries, policy), engine(geometries, policy)
    readable.run(accesses)
    cuts = sorted(random.Random(seed).choices(range(length + 1), k=3))
    for start, end in pairwise([0, *cuts, length]):
        compiled.run(accesses[start:end])
        check_conservation(compiled.counts(), policy)
    assert compiled.counts() == readable.counts()


def check_conservation(counts: HierarchyCounts, policy: Policy) -> None:
    """What comes in goes out or stays."""
    for level in counts.levels:
        assert level.resident_lines == level.fills - level.evictions - level.removals
        assert level.dirty_lines <= level.resident_lines
        assert level.writebacks <= level.evictions + level.removals
    for inner, outer in pairwise(counts.levels):
        assert outer.accesses == inner.misses
    last = counts.levels[-1]
    assert counts.memory_reads_lines == last.misses - counts.memory_stores
    if policy.write_allocate:
        assert counts.memory_stores == 0
    if policy.inclusion == "exclusive":
        assert counts.memory_reads_lines == last.evictions + sum(level.resident_lines for level in counts.levels)


@given(st.lists(geometry(), min_size=1, max_size=3), st.sampled_from(POLICIES), st.integers(0, 2**32))
def test_where_lines_may_be(geometries: list[CacheGeometry], policy: Policy, seed: int) -> None:
    """Inclusive: whatever a level holds, the next one holds. Exclusive: no line is in two levels."""
    model = HierarchyModel(geometries, policy)
    model.run(stream(seed, 200, 100))
    held = [Counter(key for lines in level.sets for key in lines) for level in model.levels]
    if policy.inclusion == "inclusive":
        assert all(inner <= outer for inner, outer in pairwise(held))
    if policy.inclusion == "exclusive":
        assert max(sum(held, Counter()).values(), default=0) <= 1


@given(st.lists(geometry(), min_size=1, max_size=3), st.integers(0, 2**32))
def test_hits_do_not_depend_on_stores(geometries: list[CacheGeometry], seed: int) -> None:
    accesses = stream(seed, 300, 100)
    for inclusion in INCLUSIONS:
        of_kinds = simulate_hierarchy(ArrayTrace(accesses.address, accesses.kind), geometries, inclusion=inclusion)
        assert of_kinds.hits == simulate_hierarchy(accesses.address, geometries, inclusion=inclusion).hits


# --- Against others -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40), min_size=1, max_size=120), st.integers(1, 45))
def test_fully_associative_hits_have_a_stack_distance_below_the_lines(keys: list[int], lines: int) -> None:
    expected = 0
    for n, key in enumerate(keys):
        before = [m for m in range(n) if keys[m] == key]
        expected += bool(before) and len(set(keys[before[-1] + 1 : n])) < lines
    assert lru_hits(np.array(keys) * 8, lines, line_bytes=8) == (expected, len(keys) - expected)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=300), st.integers(1, 7), st.integers(1, 20))
def test_every_set_is_a_fully_associative_cache_of_its_own(keys: list[int], sets: int, ways: int) -> None:
    (level,) = simulate_hierarchy(np.array(keys), [CacheGeometry(sets * ways, 1, ways)]).levels
    parts = [[key for key in keys if key % sets == number] for number in range(sets)]
    assert level.hits == sum(lru_hits(np.array(part), ways, 1)[0] for part in parts if part)


@pytest.mark.parametrize("name", ["mm_naive_1M", "mm_blocked_1M", "triad_1M", "gzip_1M"])
def test_recorded_hits(cases: Path, name: str) -> None:
    """Four other programs agree on these, all accesses treated as reads."""
    expected = json.loads((cases / "cache" / "hits.json").read_text())[name]
    with lzma.open(cases / "cache" / f"{name}.npy.xz") as file:
        address = np.load(file)  # type: ignore[arg-type]
    geometries = [CacheGeometry(size << 10, 64, 8) for size in (32, 256, 2048)]
    counts = simulate_hierarchy(address, geometries)
    values = {f"L{n}": {"hits": level.hits, "misses": level.misses} for n, level in enumerate(counts.levels, start=1)}
    assert values == expected["hier_8way_32K_256K_2M"]
    hits, misses = lru_hits(address, 512)
    assert {"hits": hits, "misses": misses} == expected["fa_lru_512"]
    assert counts.memory_reads_lines == counts.levels[-1].misses


def test_lines_in_step_with_the_hash_table_are_found_fast() -> None:
    """Strides of powers of two, which a poor hash table puts in one chain: a minute, if it were so."""
    for log_stride in range(6, 50, 4):
        address = np.tile(np.arange(1 << 14, dtype=np.uint64) << np.uint64(log_stride), 4)
        assert lru_hits(address, 1 << 14) == (3 << 14, 1 << 14)


# --- What is refused ------------------------------------------------------------------------------------------


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: simulate_hierarchy([0], []), "a cache hierarchy has a wrong number of levels, got 0 (allowed: 1 to 16)"),
    (
        lambda: simulate_hierarchy([0], levels(2), inclusion="strict"),
        "a cache hierarchy has no such inclusion, got 'strict' (allowed: non_inclusive, inclusive, exclusive)",
    ),
    (
        lambda: simulate_hierarchy([0], [CacheGeometry(64), CacheGeometry(256, 128)]),
        "the levels of a cache hierarchy have different line_bytes, got [64, 128] (allowed: one size for all)",
    ),
    (lambda: lru_hits([0], 0), "a cache needs a whole number of lines, got 0 (allowed: 1 or more)"),
    (lambda: lru_hits([0], 2.5), "a cache needs a whole number of lines, got 2.5 (allowed: 1 or more)"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_simulated_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


def test_the_end_of_memory() -> None:
    """With lines of 4 bytes and more every address can be simulated; with shorter ones it is said what can."""
    last = np.array([2**64 - 1, 0, 2**64 - 1], np.uint64)
    assert lru_hits(last, 2, line_bytes=4) == (1, 2)
    with pytest.raises(InputError, match=r"lines of 1 bytes, got 18446744073709551615 \(allowed: below 2\^62 lines"):
        lru_hits(last, 2, line_bytes=1)


def test_caches_too_large_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    from_engine = pytest.importorskip("simcodesign.locality.hierarchy.engine")
    monkeypatch.setattr(from_engine, "sets_for", full)
    with pytest.raises(CapacityError, match="too many lines for memory"):
        simulate_hierarchy([0], levels(4))
