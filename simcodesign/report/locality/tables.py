"""The locality of a program: its stack distances, miss ratios and hits as tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table

from simcodesign.core.to_json import attributes_of
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.counts import ByKind, HierarchyCounts
from simcodesign.locality.profile import StackDistanceProfile
from simcodesign.locality.sampling.sampling import BurstProfiles, SampledProfile
from simcodesign.locality.traces.record import Recording
from simcodesign.report.common.numbers import ends_of, grouped
from simcodesign.report.common.tables import facts, new_table, paragraph
from simcodesign.report.results.tables import HIT_WORDS

CONVENTION = (
    "Stack distance: distinct other lines of {} used strictly between two uses of a line; first touches are apart. "
    "An access counts for each line that it touches, if the trace has sizes, otherwise for the line of its first byte."
)
REUSE_CONVENTION = "Reuse distance: accesses strictly between two uses of a line; first touches are apart."
#: Groups in the table; JSON has all of them.
MOST_GROUPS = 20
#: Miss ratios are shown from this size of a cache on, unless the program uses little more memory.
MIN_BYTES = 1 << 10
MOST_BYTES = 1 << 62
BAR = 24
_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))

Numbers = NDArray[np.float64]


class Level(NamedTuple):
    """A cache, the accesses that reach it, those that it serves, and by which method: a key of ``HIT_WORDS``."""

    geometry: CacheGeometry
    accesses: float
    hits: float
    method: str
    writebacks: int | None

    def json_fields(self) -> dict[str, Any]:
        """Return the cache and what it serves, side by side."""
        return attributes_of(
            self,
            *("accesses", "hits", "writebacks", "method"),
            size_bytes="geometry.size_bytes",
            sets="geometry.sets",
            ways="geometry.ways_per_set",
        )


@dataclass(frozen=True)
class Hits:
    """Accesses served by levels of caches, of all ``accesses``; with ``counts`` if they were simulated."""

    accesses: float
    levels: tuple[Level, ...]
    counts: HierarchyCounts | None = None

    @property
    def memory(self) -> float:
        """Accesses that no level serves."""
        return self.levels[-1].accesses - self.levels[-1].hits

    def json_fields(self) -> dict[str, Any]:
        """Return the levels, and the memory behind them."""
        memory = {"accesses": self.memory}
        if self.counts:
            memory |= attributes_of(self.counts, reads_lines="memory_reads_lines", writes_lines="memory_writes_lines")
        return {"levels": self.levels, "memory": memory}


class AccessGroup(NamedTuple):
    """The accesses of one instruction, or of one array of a kernel."""

    address: int
    name: str
    profile: StackDistanceProfile

    def json_fields(self) -> dict[str, Any]:
        """Return the instruction or array, and its accesses in short."""
        profile = attributes_of(self.profile, "accesses", "cold", "median", "mode")
        return attributes_of(self, "name", group="address") | profile


def ordered(groups: Iterable[AccessGroup]) -> tuple[AccessGroup, ...]:
    """Sort groups, most accesses first."""
    every: Sequence[AccessGroup] = sorted(groups, key=lambda group: (-group.profile.accesses, group.address))
    return tuple(every)


@dataclass(frozen=True)
class Findings:
    """The locality of a trace, kernel, program or saved profile.

    ``profile`` covers all its accesses, or what ``sample`` or ``bursts`` make of it; ``kinds`` is None where the
    accesses have none.
    """

    source: str
    profile: StackDistanceProfile
    accesses: float
    kinds: ByKind | None = None
    recording: Recording | None = None
    sample: SampledProfile | None = None
    bursts: BurstProfiles | None = None
    groups: tuple[AccessGroup, ...] | None = None
    reuse: StackDistanceProfile | None = None
    hits: Hits | None = None

    def interval(self, lines: NDArray[np.int64]) -> tuple[Numbers, Numbers] | None:
        """Lowest and highest miss ratio at these sizes: with 95 % confidence of a sample.

        For bursts: what reaches out of a burst may hit or miss. None where the curve is exact.
        """
        if self.sample and not self.sample.exact:
            return self.sample.interval(lines)
        if self.bursts:
            high = np.asarray(self.profile.miss_ratio(lines))
            return np.maximum(high - self.profile.cold / self.profile.accesses, 0), high
        return None

    @property
    def cold_name(self) -> str:
        """Name of the cold accesses of the profile."""
        return "not in its burst" if self.bursts else "first touch"


class Bin(NamedTuple):
    """Distances from ``low`` to ``high`` and how many accesses have them."""

    low: int
    high: int
    accesses: float

    def json_fields(self) -> dict[str, Any]:
        """As an interval, both ends included."""
        return attributes_of(self, "accesses", to="high", **{"from": "low"})


def bins(profile: StackDistanceProfile) -> list[Bin]:
    """Return the histogram by powers of two: 0, 1, 2 to 3, 4 to 7, ... up to the largest distance."""
    if not profile.reuses:
        return []
    used = profile.distance[profile.count > 0]
    edges = [0, *(1 << power for power in range(int(used[-1]).bit_length() + 1))]
    below = profile.hits_below(np.array(edges))
    counts = np.diff(below).tolist()
    return [Bin(low, high - 1, count) for low, high, count in zip(edges, edges[1:], counts, strict=False)]


def sizes_bytes(findings: Findings) -> list[int]:
    """Sizes of caches, ascending: powers of two up to one that holds all reused lines, and the given caches."""
    profile, line = findings.profile, findings.profile.line_bytes
    farthest = int(profile.distance[profile.count > 0].max(initial=0))
    top = min(1 << ((farthest + 1) * line - 1).bit_length(), MOST_BYTES)
    low = MIN_BYTES if top > 4 * MIN_BYTES else 1
    if findings.sample:  # below its resolution there is nothing to tell
        low = max(low, math.ceil(findings.sample.resolution_lines * line))
    powers = {1 << power for power in range(top.bit_length())}
    caches = {level.geometry.size_bytes for level in findings.hits.levels} if findings.hits else set()
    return sorted({size for size in powers if size >= max(low, line)} | caches | {max(top, line)})


# --- Tables ---------------------------------------------------------------------------------------------------


def locality_tables(findings: Findings) -> Iterator[RenderableType]:
    """All results, as tables and sentences."""
    line = binary(findings.profile.line_bytes)
    yield paragraph(f"Locality of {findings.source}, in lines of {line}", bold=True)
    yield facts(_rows(findings))
    yield CONVENTION.format(line) + "\n"
    yield histogram_table("Stack distances", findings.profile, findings.cold_name)
    if findings.reuse:
        yield histogram_table("Reuse distances", findings.reuse, "first touch")
        yield REUSE_CONVENTION + "\n"
    yield miss_table(findings)
    if findings.hits:
        yield from hit_tables(findings.hits)
    if findings.groups is not None:
        yield from group_tables(findings)


def _rows(findings: Findings) -> Iterator[tuple[str, str]]:
    profile, kinds = findings.profile, findings.kinds
    yield "accesses", count(findings.accesses)
    if kinds:
        parts = ((kinds.loads, "loads"), (kinds.stores, "stores"), (kinds.modifies, "modifies"))
        fetched = [f"{kinds.fetches:,} fetches"] if kinds.fetches else []
        yield "of these", ", ".join([*(f"{number:,} {name}" for number, name in parts), *fetched])
    if not (findings.sample or findings.bursts) and profile.accesses > findings.accesses:
        further = profile.accesses - findings.accesses
        more = "1 more access to a line, which counts" if further == 1 else f"{count(further)} more, which count"
        yield "across lines", f"{more} like the others"
    if findings.recording:
        stopped = "the program was stopped then" if findings.recording.stopped else "the whole program"
        yield "recorded", f"{findings.recording.accesses:,} accesses: {stopped}"
    about = "about " if findings.sample and not findings.sample.exact else ""
    if not findings.bursts:
        size = binary(profile.cold * profile.line_bytes)
        yield "distinct lines", f"{about}{count(profile.cold)}, a footprint of {size}"
    if profile.reuses:
        yield "stack distance", f"median {count(profile.median)}, mode {count(profile.mode)}"
    else:
        yield "stack distance", "none: no line is used twice"
    if findings.sample:
        yield "sample", _sample_text(findings.sample)
    if findings.bursts:
        yield "bursts", _bursts_text(findings.bursts)


def _sample_text(sample: SampledProfile) -> str:
    if sample.exact:
        return f"all {sample.keys:,} lines: what follows is exact"
    least = binary(sample.resolution_lines * sample.profile.line_bytes)
    return f"{sample.keys:,} lines, {share(sample.rate)} of all; sizes below {least} have one miss ratio"


def _bursts_text(bursts: BurstProfiles) -> str:
    outside = share(bursts.program.cold / bursts.program.accesses)
    dropped = f"; groups dropped for too few samples: {len(bursts.dropped):,}" if bursts.dropped else ""
    accesses = count(bursts.program.accesses)
    return f"{bursts.bursts:,}, with {accesses} accesses, {outside} not used before in theirs{dropped}"


class _Bar:
    """A bar with a fraction of its longest length."""

    def __init__(self, part: float) -> None:
        self.length = math.ceil(part * BAR)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(("#" if options.ascii_only else "\N{FULL BLOCK}") * self.length)


def histogram_table(title: str, profile: StackDistanceProfile, cold_name: str) -> Table:
    """Return accesses by powers of two of their distance; first touches last."""
    table = new_table(f"{title} by powers of two", "distance", "to", "accesses", "fraction")
    table.columns[0].justify = "right"
    table.add_column("", width=BAR, no_wrap=True)
    bars = bins(profile)
    most = max([profile.cold, *(one.accesses for one in bars)])
    for one in bars:
        row = (f"{one.low:,}", f"{one.high:,}", count(one.accesses), share(one.accesses / profile.accesses))
        table.add_row(*row, _Bar(one.accesses / most))
    table.add_section()
    table.add_row(cold_name, "", count(profile.cold), share(profile.cold / profile.accesses), _Bar(profile.cold / most))
    return table


def miss_table(findings: Findings) -> Table:
    """Miss ratios of fully associative LRU caches of several sizes."""
    sizes = sizes_bytes(findings)
    lines = np.array(sizes) // findings.profile.line_bytes
    ratios, interval = findings.profile.miss_ratio(lines), findings.interval(lines)
    exact = ["miss ratio", *(["95 % interval"] if interval else [])]
    names = ["at least", "at most"] if findings.bursts else exact
    table = new_table("Fully associative LRU", "size", "lines", *names)
    table.columns[0].justify = "right"
    for place, size in enumerate(sizes):
        ends = [share(end[place]) for end in interval] if interval else []
        cells = ends if findings.bursts else [share(ratios[place]), *([ends_of(*ends)] if ends else [])]
        table.add_row(binary(size), f"{lines[place]:,}", *cells)
    return table


def hit_tables(hits: Hits) -> Iterator[RenderableType]:
    """Yield accesses served by each level, by which method, and the traffic of memory if the levels were simulated.

    First, what the method leaves out.
    """
    if any(level.method == "full" and not level.geometry.fully_associative for level in hits.levels):
        yield (
            "Caches are treated as fully associative: conflicts within their sets, as of strides of powers of two, are "
            "not counted. --method sets simulates the sets of a trace.\n"
        )
    written = ["written"] if hits.counts else []
    table = new_table("Caches", "level", "size", "ways", "accesses", "hit ratio", "of all", *written, "method")
    for number, level in enumerate(hits.levels, 1):
        shape = level.geometry
        table.add_row(
            f"L{number}",
            binary(shape.size_bytes),
            "full" if shape.fully_associative else f"{shape.ways}",
            count(level.accesses),
            share(level.hits / level.accesses) if level.accesses else "-",
            share(level.hits / hits.accesses),
            *([f"{level.writebacks:,}"] if hits.counts else []),
            level.method,
        )
    blank = [""] * len(written)
    table.add_row("memory", "", "", count(hits.memory), "", share(hits.memory / hits.accesses), *blank, "")
    yield table
    used = dict.fromkeys(level.method for level in hits.levels)
    yield "; ".join(f"{method}: {HIT_WORDS[method]}" for method in used) + "\n"
    if hits.counts:
        counts, line = hits.counts, hits.levels[0].geometry.line_bytes
        read, wrote = counts.memory_reads_lines, counts.memory_writes_lines
        yield (
            f"Memory: {read:,} lines read ({binary(read * line)}), {wrote:,} written ({binary(wrote * line)}); "
            f"{sum(level.dirty_lines for level in counts.levels):,} copies are dirty at the end\n"
        )


def group_tables(findings: Findings) -> Iterator[RenderableType]:
    """Yield the groups with most accesses."""
    groups = findings.groups or ()
    table = new_table(
        "Groups with most accesses", "group", "accesses", "fraction", "median", "mode", findings.cold_name
    )
    for _, name, profile in groups[:MOST_GROUPS]:
        table.add_row(
            name,
            count(profile.accesses),
            share(profile.accesses / findings.profile.accesses),
            count(profile.median),
            count(profile.mode),
            count(profile.cold),
        )
    yield table
    if len(groups) > MOST_GROUPS:
        yield f"And {len(groups) - MOST_GROUPS:,} more (--json has all)\n"


def count(number: float) -> str:
    """Return a whole number with its commas; none if there is none."""
    return grouped(number) if math.isfinite(number) else "-"


def share(part: float) -> str:
    """In percent; one digit if that would be 0.00, because little is not nothing."""
    return f"{part:.2%}" if part >= 5e-5 or part < 1e-12 else f"{100 * part:.1g}%"


def binary(size_bytes: float) -> str:
    """Return a size with a binary prefix: ``32 KiB``, ``1.5 MiB``."""
    factor, unit = next(((factor, unit) for factor, unit in _BINARY if size_bytes >= factor), (1, "B"))
    value = size_bytes / factor
    return f"{value:.4g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


# --- JSON -----------------------------------------------------------------------------------------------------


def locality_dict(findings: Findings) -> dict[str, Any]:
    """All numbers, with None for what was not looked for."""
    profile = findings.profile
    return attributes_of(
        findings,
        *("source", "accesses", "kinds", "recording", "sample", "bursts", "groups"),
        line_bytes="profile.line_bytes",
        caches="hits",
    ) | {
        "convention": CONVENTION.format(binary(profile.line_bytes)),
        **_profile_dict(profile),
        "footprint_bytes": None if findings.bursts else profile.cold * profile.line_bytes,
        "miss_ratio": _miss_dicts(findings),
        "reuse": findings.reuse and _profile_dict(findings.reuse),
    }


def _profile_dict(profile: StackDistanceProfile) -> dict[str, Any]:
    return attributes_of(profile, "cold", "median", "mode") | {"histogram": bins(profile)}


def _miss_dicts(findings: Findings) -> list[dict[str, Any]]:
    sizes = sizes_bytes(findings)
    lines = np.array(sizes) // findings.profile.line_bytes
    ratios = findings.profile.miss_ratio(lines)
    low, high = findings.interval(lines) or (ratios, ratios)
    shown = [None] * len(sizes) if findings.bursts else ratios  # bursts give bounds only
    rows = zip(sizes, lines, shown, low, high, strict=True)
    return [dict(zip(("size_bytes", "lines", "miss_ratio", "low", "high"), row, strict=True)) for row in rows]
