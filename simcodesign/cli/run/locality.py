"""Locality of a trace, a kernel, a program that is run, or a saved profile: measured, printed, saved."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypedDict

from simcodesign.cli.options.locality_options import FILE, KERNEL, PROFILE, RECORDED, LocalityOptions
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import parse_quantity
from simcodesign.locality.associativity import level_hits
from simcodesign.locality.cache import CacheGeometry
from simcodesign.locality.hierarchy.counts import INCLUSIONS, NON_INCLUSIVE
from simcodesign.locality.hierarchy.simulate import simulate_hierarchy
from simcodesign.locality.profile import StackDistanceProfile, load_profile
from simcodesign.locality.sampling.bursts import BurstProfiles, burst_profiles
from simcodesign.locality.sampling.sampling import LEAST_KEYS, PARTS, SampledProfile, sampled_profile
from simcodesign.locality.stack.distances import group_profiles, reuse_profile, stack_profile
from simcodesign.locality.streams.kernels import KernelTrace, kernel_trace
from simcodesign.locality.traces.counted import CountedTrace
from simcodesign.locality.traces.formats import open_trace
from simcodesign.locality.traces.record import Recording, record_trace
from simcodesign.locality.traces.trace import Trace, at_least, line_shift
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import complain
from simcodesign.report.locality.tables import (
    AccessGroup,
    Findings,
    Hits,
    Level,
    locality_dict,
    locality_tables,
    ordered,
)

#: Associativity below which the stack model is not to be relied on.
FEW_WAYS = 4
LINE_BYTES = 64
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


class _Distances(TypedDict, total=False):
    """The profile of a trace, and what it was made of."""

    profile: StackDistanceProfile
    sample: SampledProfile
    bursts: BurstProfiles


def run_locality(options: LocalityOptions, files: RequestedFiles) -> None:
    """Measure, write and print."""
    findings = _findings(options, files)
    files.show(findings, lambda: locality_tables(findings), options.output.as_json, lambda: locality_dict(findings))


def _findings(options: LocalityOptions, files: RequestedFiles) -> Findings:
    """Return the locality to measure; all that can be refused is refused before a program runs or a trace is read."""
    line_shift(LINE_BYTES if options.line is None else options.line)
    _check_numbers(options)
    levels = _geometries(options)
    if options.kind == PROFILE:
        return _of_profile(options)
    with _open(options, files) as (trace, recording), ProgressBar("{task.description}", unit="accesses") as bar:
        return _of_trace(options, trace, recording, partial(counted, bar), levels)


def counted(bar: ProgressBar, trace: Trace, description: str, most_accesses: int | None = None) -> CountedTrace:
    """Return the trace, or its first accesses, whose reading the bar shows under the name of the pass."""
    known = len(trace) if hasattr(trace, "__len__") else None
    bar.restart(description, min(filter(None, (known, most_accesses))) if known else None)
    return CountedTrace(trace, most_accesses, bar)


def _check_numbers(options: LocalityOptions) -> None:
    if options.inclusion is not None and options.inclusion.replace("-", "_") not in INCLUSIONS:
        allowed = nearest(options.inclusion, INCLUSIONS)
        raise InputError("no such inclusion", Place("--inclusion"), value=options.inclusion, allowed=allowed)
    if options.sampled_lines is not None:
        at_least("keys of a sample", options.sampled_lines, LEAST_KEYS * PARTS)
    if options.bursts is not None:
        parsed_bursts(options.bursts)


def _of_profile(options: LocalityOptions) -> Findings:
    """Return findings of a saved profile, which has no accesses any more."""
    source = options.source[0]
    profile = load_profile(source)
    if options.line not in (None, profile.line_bytes):
        what = "the profile is of lines of another size"
        raise InputError(what, Place("--line"), value=options.line, allowed=str(profile.line_bytes))
    if not profile.accesses:
        raise InputError("the profile is empty: it holds no access", Place(source), allowed="one access or more")
    levels = _geometries(options, profile.line_bytes)
    hits = _modelled(profile, levels, options.method) if levels else None
    return Findings(source, profile, profile.accesses, hits=hits)


@contextmanager
def _open(options: LocalityOptions, files: RequestedFiles) -> Iterator[tuple[Trace, Recording | None]]:
    """Yield the trace, and how it was recorded if it was."""
    if options.kind == KERNEL:
        yield kernel_trace(options.generate or "", **parsed_sizes(options.settings)), None
    elif options.kind == FILE:
        yield open_trace(options.source[0], options.format, instructions=options.instructions), None
    else:
        with tempfile.TemporaryDirectory(prefix="simcodesign-") as folder:
            recording = _record(options, next(iter(files.paths("trace")), Path(folder, "trace.npz")))
            trace = open_trace(recording.path)
            trace.name = " ".join(options.source)
            yield trace, recording


def _record(options: LocalityOptions, path: Path) -> Recording:
    """Run the program and record it; what it prints goes to standard error, apart from the report."""
    if sys.stderr.isatty():
        complain("recording with valgrind: the program is some hundred times slower")
    recording = record_trace(options.source, options.most or RECORDED, path, any_exit_status=options.any_exit, stdout=2)
    if recording.stopped and options.most is None:
        complain(f"note: the program was stopped after {recording.accesses:,} accesses (--most N for another limit)")
    elif status := recording.exit_status:
        ended = f"exit status {status}" if status > 0 else f"signal {signal.Signals(-status).name}"
        complain(f"note: the program ended with {ended}")
    return recording


def _of_trace(
    options: LocalityOptions,
    trace: Trace,
    recording: Recording | None,
    counted: Callable[[Trace, str, int | None], CountedTrace],
    levels: Sequence[CacheGeometry],
) -> Findings:
    """All passes over a trace."""
    line = options.line or LINE_BYTES
    most = None if recording else options.most
    first_pass = counted(trace, "stack distances", most)
    distances, by_address = _distances(options, first_pass, line)
    accesses, kinds = first_pass.accesses, first_pass.kinds
    groups = reuse = hits = None
    if options.groups:
        if not first_pass.grouped:
            raise InputError("the trace has no instruction groups", Place(trace.name), allowed="without --groups")
        groups = _named(by_address, trace)
    if options.reuse:
        reuse = reuse_profile(counted(trace, "reuse distances", most), line)
    if levels and options.simulates:
        hits = _simulated(options, counted(trace, "simulating caches", most), levels)
    elif levels:
        hits = _modelled(distances["profile"], levels, options.method)
    return Findings(
        trace.name,
        accesses=accesses,
        kinds=kinds,
        recording=recording,
        groups=groups,
        reuse=reuse,
        hits=hits,
        **distances,
    )


def _distances(
    options: LocalityOptions, trace: Trace, line_bytes: int
) -> tuple[_Distances, Mapping[int, StackDistanceProfile]]:
    """Return the profile of all accesses, a sample or bursts.

    Also return the profiles of groups by their address if there are any.
    """
    if options.sampled_lines is not None:
        sample = sampled_profile(trace, line_bytes, options.sampled_lines, options.seed)
        return {"profile": sample.profile, "sample": sample}, {}
    if options.bursts is not None:
        length, period = parsed_bursts(options.bursts)
        bursts = burst_profiles(trace, line_bytes, length, period, options.seed)
        if not bursts.program.accesses:
            what, allowed = "no instruction has enough samples", "longer bursts, or more of them"
            raise InputError(what, Place("--bursts"), value=options.bursts, allowed=allowed)
        return {"profile": bursts.program, "bursts": bursts}, bursts.groups
    if options.groups:
        groups = group_profiles(trace, line_bytes)
        return {"profile": StackDistanceProfile.merged(groups.values())}, groups
    return {"profile": stack_profile(trace, line_bytes)}, {}


def _named(groups: Mapping[int, StackDistanceProfile], trace: Trace) -> tuple[AccessGroup, ...]:
    """Return groups with their names: arrays of a kernel, otherwise addresses of instructions; most accesses first."""
    names = trace.group_names if isinstance(trace, KernelTrace) else {}
    return ordered(AccessGroup(group, names.get(group, f"{group:#x}"), profile) for group, profile in groups.items())


def _modelled(profile: StackDistanceProfile, levels: Sequence[CacheGeometry], method: str | None) -> Hits:
    """Hits by the stack model."""
    modelled = level_hits(profile, levels, method or "auto")
    few = [shape for shape in levels if shape.ways_per_set < FEW_WAYS and not shape.fully_associative]
    if few and method is None:
        complain(f"note: the stack model is not to be relied on below {FEW_WAYS} ways; --method sets simulates them")
    rows, left = [], float(profile.accesses)
    for shape, hits, used in zip(levels, modelled.hits, modelled.methods, strict=True):
        rows.append(Level(shape, left, hits, used, None))
        left = max(left - hits, 0.0)
    return Hits(profile.accesses, tuple(rows))


def _simulated(options: LocalityOptions, trace: Trace, levels: Sequence[CacheGeometry]) -> Hits:
    """Hits in the sets of the caches, access by access."""
    inclusion = (options.inclusion or NON_INCLUSIVE).replace("-", "_")
    counts = simulate_hierarchy(trace, levels, inclusion=inclusion, write_allocate=not options.no_write_allocate)
    rows = tuple(
        Level(shape, level.accesses, level.hits, "sets", level.writebacks)
        for shape, level in zip(levels, counts.levels, strict=True)
    )
    return Hits(counts.levels[0].accesses, rows, counts)


def _geometries(options: LocalityOptions, line_bytes: int | None = None) -> tuple[CacheGeometry, ...]:
    """Return the caches of --caches, from L1 on."""
    if options.caches is None:
        return ()
    line = line_bytes or (LINE_BYTES if options.line is None else options.line)
    return tuple(_geometry(item, line) for item in options.caches.split(","))


def _geometry(text: str, line_bytes: int) -> CacheGeometry:
    """``32KiB:8``."""
    place = Place("--caches")
    size, colon, ways = (part.strip() for part in text.partition(":"))
    if colon and not ways.isdecimal():
        raise InputError(
            "the associativity of a cache must be a whole number",
            place,
            value=text,
            allowed="size:ways, e.g. 32KiB:8, or size",
        )
    size_bytes = parse_quantity(size, "size", place)
    try:
        return CacheGeometry(size_bytes, line_bytes, int(ways) if colon else None)  # type: ignore[arg-type] # checked
    except InputError as error:
        place = Place("--caches", path=text.strip())
        raise InputError(error.what, place, value=error.value, allowed=error.allowed) from None


def parsed_sizes(items: Sequence[str]) -> dict[str, int | float | bool | str]:
    """Sizes of a kernel by their name; the kernel itself checks them."""
    sizes: dict[str, int | float | bool | str] = {}
    for item in items:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise InputError("not a size", Place("--set"), value=item, allowed="name=value, e.g. n=172")
        if name in sizes:
            raise InputError("given twice", Place("--set"), value=name, allowed="one value per name")
        sizes[name] = _value(value)
    return sizes


def _value(text: str) -> int | float | bool | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return _WORDS.get(text, text)


def parsed_bursts(text: str) -> tuple[int, int]:
    """Length and period of ``10000/1000000``, in accesses."""
    length, _, period = (part.strip() for part in text.partition("/"))
    if not (length.isdecimal() and period.isdecimal()):
        allowed = "LENGTH/PERIOD in accesses, e.g. 10000/1000000"
        raise InputError("not bursts", Place("--bursts"), value=text, allowed=allowed)
    if not 2 <= int(length) <= int(period):
        raise InputError(
            "the accesses of a burst are out of range", Place("--bursts"), value=text, allowed="LENGTH from 2 to PERIOD"
        )
    return int(length), int(period)
