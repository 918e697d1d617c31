"""The command ``locality``: stack distances, misses and hits of a trace, a kernel, a program that is run, a profile."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from simcodesign.cli.app import app
from simcodesign.cli.locality.options import (
    FILE,
    KERNEL,
    LINE_BYTES,
    PROFILE,
    Asked,
    burst_of,
    check_outputs,
    geometries_of,
    kernel_sizes,
)
from simcodesign.cli.options import AsJson, Plot, check_files
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.report.common.terminal import complain, print_all, write_json

#: Accesses that are recorded of a program unless more are asked for; it takes about a minute.
RECORDED = 10_000_000
#: Below so many ways the stack model is not to be relied on.
FEW_WAYS = 4


@app.command(no_args_is_help=True)
def locality(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TRACE",
            help="A trace (npy, npz, raw uint64, valgrind's lackey, din; gzip, xz, bz2), or a profile that was saved; "
            "with --run a program.",
            show_default=False,
        ),
    ] = None,
    line: Annotated[
        int | None, typer.Option(metavar="BYTES", help="Size of a line, a power of two; by default 64.")
    ] = None,
    groups: Annotated[bool, typer.Option("--groups", help="Also by instruction, or by array of a kernel.")] = False,
    reuse: Annotated[bool, typer.Option("--reuse", help="Also reuse distances: accesses between two uses.")] = False,
    caches: Annotated[
        str | None, typer.Option(metavar="LIST", help="Hits of caches, size:ways from L1 on: 32KiB:8,256KiB:8,2MiB:16.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How hits are found. By the stack model: full, binomial, or auto (full for 4 or more ways). sets: "
            "each level's sets simulated, with write-backs.",
        ),
    ] = None,
    inclusion: Annotated[
        str | None, typer.Option(metavar="NAME", help="Simulate: non-inclusive (the default), inclusive, exclusive.")
    ] = None,
    no_write_allocate: Annotated[
        bool, typer.Option("--no-write-allocate", help="Simulate: stores that miss do not fetch the line.")
    ] = False,
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="A generated stream: matmul, stencil, ...")] = None,
    size: Annotated[
        list[str] | None, typer.Option("--size", metavar="NAME=VALUE", help="A size of the kernel: n=172. Repeatable.")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Record a program with valgrind: --run -- PROGRAM ARGS.")] = False,
    keep: Annotated[Path | None, typer.Option(metavar="FILE", help="With --run: keep the trace (.npz).")] = None,
    any_exit: Annotated[bool, typer.Option("--any-exit", help="With --run: also of a program that fails.")] = False,
    most: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help=f"Only the first N accesses; of --run by default {RECORDED:,}."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(metavar="KEYS", help="From a sample of so many lines, with a 95 % interval: 8192.")
    ] = None,
    bursts: Annotated[
        str | None, typer.Option(metavar="LENGTH/PERIOD", help="From bursts of accesses: 10000/1000000.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of --sample and --bursts.")] = 0,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="Format of the trace, where its name and start do not tell.")
    ] = None,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Instruction fetches (lackey, din) are accesses too.")
    ] = False,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the profile (.json, .csv or .npz).")] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """How near a program's uses of memory are: stack distances, and the misses of caches of every size.

    The stack distance of an access is the number of distinct other lines used since its own was last.
    """
    asked = Asked(
        source or [],
        kernel,
        size or [],
        run,
        keep,
        any_exit,
        format,
        instructions,
        line,
        most,
        groups,
        reuse,
        sample,
        bursts,
        seed,
        caches,
        method,
        inclusion,
        not no_write_allocate,
    )
    asked.check()
    check_files(plot)
    check_outputs(asked, save, plot)
    findings = _found(asked)
    if save:
        findings.profile.save(save)
    if plot:
        import_module("simcodesign.report.locality.plot").locality_plot(findings, plot)
    if as_json:
        write_json(import_module("simcodesign.report.locality.tables").locality_dict(findings))
    else:
        print_all(import_module("simcodesign.report.locality.tables").locality_tables(findings))


def _found(asked: Asked) -> Any:
    """Everything that is asked for, measured."""
    report, kind = import_module("simcodesign.report.locality.tables"), asked.kind
    import_module("simcodesign.locality.traces.trace").line_shift(LINE_BYTES if asked.line is None else asked.line)
    _check_numbers(asked)
    levels = geometries_of(asked)
    if kind == PROFILE:
        profile = import_module("simcodesign.locality.profile").load_profile(asked.source[0])
        if asked.line not in (None, profile.line_bytes):
            what = "the profile is of lines of another size"
            raise InputError(what, Place("--line"), value=asked.line, allowed=str(profile.line_bytes))
        _check_not_empty(profile, asked.source[0])
        levels = levels and geometries_of(asked, profile.line_bytes)
        hits = _modelled(profile, levels, asked.method) if levels else None
        return report.Findings(asked.source[0], profile, profile.accesses, hits=hits)
    with (
        _opened(asked) as (trace, recording),
        import_module("simcodesign.report.common.progress").trace_progress() as counted,
    ):
        return _measured(asked, trace, recording, counted, levels)


def _check_numbers(asked: Asked) -> None:
    """InputError for what would else be refused only after a program has run or a trace been read."""
    inclusions = import_module("simcodesign.locality.hierarchy.counts").INCLUSIONS
    if asked.inclusion is not None and asked.inclusion.replace("-", "_") not in inclusions:
        allowed = nearest(asked.inclusion, inclusions)
        raise InputError("no such inclusion", Place("--inclusion"), value=asked.inclusion, allowed=allowed)
    if asked.sample is not None:
        sampling = import_module("simcodesign.locality.sampling.sampling")
        import_module("simcodesign.locality.sampling.bursts").at_least(
            "keys of a sample", asked.sample, sampling.LEAST_KEYS * sampling.PARTS
        )
    if asked.bursts is not None:
        burst_of(asked.bursts)


def _check_not_empty(profile: Any, source: str) -> None:
    if not profile.accesses:
        raise InputError("the profile is empty: it holds no access", Place(source), allowed="one access or more")


@contextmanager
def _opened(asked: Asked) -> Iterator[tuple[Any, Any]]:
    """The trace, and how it was recorded if it was."""
    readers = import_module("simcodesign.locality.traces.formats")
    if asked.kind == KERNEL:
        yield (
            import_module("simcodesign.locality.streams.kernels").kernel_trace(
                asked.kernel, **kernel_sizes(asked.sizes)
            ),
            None,
        )
    elif asked.kind == FILE:
        yield readers.open_trace(asked.source[0], asked.format, instructions=asked.instructions), None
    else:
        with tempfile.TemporaryDirectory(prefix="simcodesign-") as folder:
            recording = _recorded(asked, asked.keep or Path(folder, "trace.npz"))
            trace = readers.open_trace(recording.path)
            trace.name = " ".join(asked.source)
            yield trace, recording


def _recorded(asked: Asked, path: Path) -> Any:
    """The program is run; what it prints goes to standard error, apart from the report."""
    if sys.stderr.isatty():
        complain("recording with valgrind: the program is some hundred times slower")
    recording = import_module("simcodesign.locality.traces.record").record_trace(
        asked.source, asked.most or RECORDED, path, any_exit_status=asked.any_exit, stdout=2
    )
    if recording.stopped and asked.most is None:
        complain(f"note: the program was stopped after {recording.accesses:,} accesses (--most N for another limit)")
    elif status := recording.exit_status:
        ended = f"exit status {status}" if status > 0 else f"signal {signal.Signals(-status).name}"
        complain(f"note: the program ended with {ended}")
    return recording


def _measured(asked: Asked, trace: Any, recording: Any, counted: Any, levels: tuple[Any, ...]) -> Any:
    """All passes over a trace."""
    report, line = import_module("simcodesign.report.locality.tables"), asked.line or LINE_BYTES
    most = None if recording else asked.most
    first_pass = counted(trace, "stack distances", most)
    found: dict[str, Any] = _distances(asked, first_pass, line)
    accesses, kinds = first_pass.accesses, first_pass.kinds
    if asked.groups:
        if not first_pass.grouped:
            raise InputError("the trace has no instruction groups", Place(trace.name), allowed="without --groups")
        found["groups"] = _named(found["groups"], trace)
    else:
        found.pop("groups", None)
    if asked.reuse:
        reused = counted(trace, "reuse distances", most)
        found["reuse"] = import_module("simcodesign.locality.stack.distances").reuse_profile(reused, line)
    if levels and asked.simulates:
        found["hits"] = _simulated(asked, counted(trace, "simulating caches", most), levels)
    elif levels:
        found["hits"] = _modelled(found["profile"], levels, asked.method)
    return report.Findings(trace.name, accesses=accesses, kinds=kinds, recording=recording, **found)


def _distances(asked: Asked, trace: Any, line: int) -> dict[str, Any]:
    """The profile, and what it was made of: all accesses, groups of them, a sample or bursts."""
    if asked.sample is not None:
        sample = import_module("simcodesign.locality.sampling.sampling").sampled_profile(
            trace, line, asked.sample, asked.seed
        )
        return {"profile": sample.profile, "sample": sample}
    if asked.bursts is not None:
        length, period = burst_of(asked.bursts)
        bursts = import_module("simcodesign.locality.sampling.bursts").burst_profiles(
            trace, line, length, period, asked.seed
        )
        if not bursts.program.accesses:
            allowed = "longer bursts, or more of them"
            raise InputError(
                "no instruction has enough samples", Place("--bursts"), value=asked.bursts, allowed=allowed
            )
        return {"profile": bursts.program, "bursts": bursts, "groups": bursts.groups}
    if asked.groups:
        groups = import_module("simcodesign.locality.stack.distances").group_profiles(trace, line)
        return {
            "profile": import_module("simcodesign.locality.profile").StackDistanceProfile.merged(groups.values()),
            "groups": groups,
        }
    return {"profile": import_module("simcodesign.locality.stack.distances").stack_profile(trace, line)}


def _named(groups: dict[int, Any], trace: Any) -> Any:
    """Groups with their names: arrays of a kernel, else addresses of instructions; those with most accesses first."""
    report, names = import_module("simcodesign.report.locality.tables"), getattr(trace, "group_names", {})
    return report.ordered(
        report.Group(group, names.get(group, f"{group:#x}"), profile) for group, profile in groups.items()
    )


def _modelled(profile: Any, levels: tuple[Any, ...], method: str | None) -> Any:
    """Hits by the stack model."""
    report = import_module("simcodesign.report.locality.tables")
    found = import_module("simcodesign.locality.associativity").level_hits(profile, levels, method or "auto")
    few = [shape for shape in levels if shape.ways_per_set < FEW_WAYS and not shape.fully_associative]
    if few and method is None:
        complain(f"note: the stack model is not to be relied on below {FEW_WAYS} ways; --method sets simulates them")
    rows, left = [], profile.accesses
    for shape, hits, used in zip(levels, found.hits, found.methods, strict=True):
        rows.append(report.Level(shape, left, hits, used, None))
        left = max(left - hits, 0.0)
    return report.Hits(profile.accesses, tuple(rows))


def _simulated(asked: Asked, trace: Any, levels: tuple[Any, ...]) -> Any:
    """Hits in the sets of the caches, access by access."""
    report = import_module("simcodesign.report.locality.tables")
    inclusion = (asked.inclusion or "non_inclusive").replace("-", "_")
    counts = import_module("simcodesign.locality.hierarchy.simulate").simulate_hierarchy(
        trace, levels, inclusion=inclusion, write_allocate=asked.write_allocate
    )
    rows = tuple(
        report.Level(shape, level.accesses, level.hits, "sets", level.writebacks)
        for shape, level in zip(levels, counts.levels, strict=True)
    )
    return report.Hits(counts.levels[0].accesses, rows, counts)
