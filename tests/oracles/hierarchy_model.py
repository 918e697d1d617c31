"""A hierarchy of caches as readable as it can be: each set is an ``OrderedDict``, its least recently used line first.

It says what the compiled engine does, and is compared with it. The choices are those that ``simulate_hierarchy``
states. A line is known by its key.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence

from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.counts import (
    EXCLUSIVE,
    INCLUSIVE,
    ByKind,
    HierarchyCounts,
    LevelCounts,
    Policy,
)
from simcodesign.locality.traces.trace import FETCH, LOAD, MODIFY, STORE, Accesses, line_shift


class LevelModel:
    """One level: which lines it holds, which of them are dirty, and its counts."""

    def __init__(self, geometry: CacheGeometry) -> None:
        self.ways = geometry.ways_per_set
        self.sets: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(geometry.sets)]
        self.accesses: Counter[int] = Counter()
        self.hits: Counter[int] = Counter()
        self.fills = self.evictions = self.removals = self.writebacks = 0

    def holder(self, key: int) -> OrderedDict[int, bool]:
        """The set where the line may lie: whether it is dirty, by key."""
        return self.sets[key % len(self.sets)]

    def access(self, key: int, kind: int) -> bool:
        """Whether the line is here; it is then the most recently used of its set."""
        self.accesses[kind] += 1
        lines = self.holder(key)
        if key not in lines:
            return False
        self.hits[kind] += 1
        lines.move_to_end(key)
        return True

    def fill(self, key: int, dirty: bool) -> tuple[int, bool] | None:
        """Put the line in as the most recently used. The line that makes room for it, if any, and whether dirty."""
        lines = self.holder(key)
        victim = lines.popitem(last=False) if len(lines) == self.ways else None
        lines[key] = dirty
        self.fills += 1
        self.evictions += victim is not None
        return victim

    def remove(self, key: int) -> bool:
        """Take the line out, if it is here. Whether it was and was dirty."""
        lines = self.holder(key)
        self.removals += key in lines
        return lines.pop(key, False)

    def counts(self) -> LevelCounts:
        dirty = [is_dirty for lines in self.sets for is_dirty in lines.values()]
        return LevelCounts(
            _by_kind(self.accesses),
            _by_kind(self.hits),
            self.fills,
            self.evictions,
            self.removals,
            self.writebacks,
            len(dirty),
            sum(dirty),
        )


def _by_kind(count: Counter[int]) -> ByKind:
    return ByKind(count[LOAD], count[STORE], count[MODIFY], count[FETCH])


class HierarchyModel:
    """The levels, the one next to the processor first."""

    def __init__(self, geometries: Sequence[CacheGeometry], policy: Policy) -> None:
        self.levels = [LevelModel(geometry) for geometry in geometries]
        self.policy = policy
        self.shift = line_shift(geometries[0].line_bytes)
        self.memory_reads = self.memory_writebacks = self.memory_stores = 0

    def run(self, chunk: Accesses) -> None:
        """Do the accesses in turn. Those without kinds are loads."""
        kinds = [LOAD] * len(chunk) if chunk.kind is None else chunk.kind.tolist()
        for address, kind in zip(chunk.address.tolist(), kinds, strict=True):
            self.access(address >> self.shift, kind)

    def access(self, key: int, kind: int) -> None:
        """One access, level by level outward until one holds the line; it is then put where it belongs."""
        at = next((n for n, level in enumerate(self.levels) if level.access(key, kind)), len(self.levels))
        writes = kind in (STORE, MODIFY)
        if at and kind == STORE and not self.policy.write_allocate:
            self.store_outside(key, at)
        elif at and self.policy.inclusion == EXCLUSIVE:
            self.move_to_first(key, at, writes)
        else:
            self.fill_inward(key, at)
            self.levels[0].holder(key)[key] |= writes

    def store_outside(self, key: int, at: int) -> None:
        """No-write-allocate: the store is done where the line is, and brings it nowhere."""
        if at < len(self.levels):
            self.levels[at].holder(key)[key] = True
        else:
            self.memory_stores += 1

    def fill_inward(self, key: int, at: int) -> None:
        """Non-inclusive and inclusive: bring the line into every level before this one, the outermost first."""
        self.memory_reads += at == len(self.levels)
        for n in reversed(range(at)):
            victim = self.levels[n].fill(key, dirty=False)
            if victim is not None:
                self.evict(*victim, n)

    def evict(self, key: int, dirty: bool, n: int) -> None:
        """Level n has lost a line: where it is inclusive, so do the levels before it, and their dirty data goes too."""
        if self.policy.inclusion == INCLUSIVE:
            for inner in self.levels[:n]:
                was_dirty = inner.remove(key)
                inner.writebacks += was_dirty
                dirty |= was_dirty
        if dirty:
            self.levels[n].writebacks += 1
            self.write_back(key, n + 1)

    def write_back(self, key: int, n: int) -> None:
        """Dirty data goes to the next level from n on that holds the line, else to memory."""
        for level in self.levels[n:]:
            if key in level.holder(key):
                level.holder(key)[key] = True
                return
        self.memory_writebacks += 1

    def move_to_first(self, key: int, at: int, writes: bool) -> None:
        """Exclusive: the line leaves where it was and enters level 1; every victim moves one level outward."""
        if at < len(self.levels):
            writes |= self.levels[at].remove(key)
        else:
            self.memory_reads += 1
        for level in self.levels:
            victim = level.fill(key, writes)
            if victim is None:
                return
            key, writes = victim
            level.writebacks += writes
        self.memory_writebacks += writes

    def counts(self) -> HierarchyCounts:
        """What has been counted so far."""
        writes = self.memory_writebacks + self.memory_stores
        return HierarchyCounts(
            tuple(level.counts() for level in self.levels), self.memory_reads, writes, self.memory_stores
        )
