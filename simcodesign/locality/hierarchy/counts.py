"""Counts of a simulated cache hierarchy: of each level and of the memory behind them."""

from __future__ import annotations

from dataclasses import dataclass

from simcodesign.core.errors import InputError

NON_INCLUSIVE, INCLUSIVE, EXCLUSIVE = "non_inclusive", "inclusive", "exclusive"
#: Policies for lines in several levels.
INCLUSIONS = (NON_INCLUSIVE, INCLUSIVE, EXCLUSIVE)


@dataclass(frozen=True)
class Policy:
    """Inclusion policy between levels (one of ``INCLUSIONS``), and whether a store that misses fetches its line."""

    inclusion: str = NON_INCLUSIVE
    write_allocate: bool = True

    def __post_init__(self) -> None:
        if self.inclusion not in INCLUSIONS:
            raise InputError(
                "a cache hierarchy has no such inclusion", value=self.inclusion, allowed=", ".join(INCLUSIONS)
            )


@dataclass(frozen=True)
class ByKind:
    """Accesses by what issued them: loads, stores, modifies (a load and a store in one), instruction fetches."""

    loads: int
    stores: int
    modifies: int
    fetches: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.loads + self.stores + self.modifies + self.fetches


@dataclass(frozen=True)
class LevelCounts:
    """One level.

    Lines enter it by fills and leave it by evictions (to make space) or removals (for the sake of another level):
    ``resident_lines = fills - evictions - removals``.

    ``accesses_by_kind`` of an outer level are the misses of the previous level, and keep the kind of their instruction.
    """

    accesses_by_kind: ByKind
    hits_by_kind: ByKind
    fills: int  # lines put in, from memory or another level
    evictions: int  # lines that left to make space for another
    removals: int  # inclusive: lines that an outer level evicted; exclusive: lines that went back to level 1
    writebacks: int  # dirty lines that went outward when they left
    resident_lines: int  # at the end
    dirty_lines: int  # of these; not written back, and in no other count

    @property
    def accesses(self) -> int:
        """Accesses that got as far as this level. Lines written back to it are none."""
        return self.accesses_by_kind.total

    @property
    def hits(self) -> int:
        """Accesses whose line was here."""
        return self.hits_by_kind.total

    @property
    def misses(self) -> int:
        """Accesses that did not."""
        return self.accesses - self.hits


@dataclass(frozen=True)
class HierarchyCounts:
    """All levels, the one next to the processor first, and the memory."""

    levels: tuple[LevelCounts, ...]
    memory_reads_lines: int  # lines fetched from memory
    memory_writes_lines: int  # lines written back to memory, and single stores to it
    memory_stores: int  # the single stores among these: no-write-allocate, and no level held the line

    @property
    def hits(self) -> tuple[int, ...]:
        """Accesses served by each level."""
        return tuple(level.hits for level in self.levels)
