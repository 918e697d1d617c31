"""The command ``fit``: requirement models out of measurements, their errors, and what they predict."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from simcodesign.cli.app import app
from simcodesign.cli.fit.counters import (
    Against,
    Counters,
    CountersAsked,
    Dimensions,
    Guard,
    MachineOfCounters,
    NormalForm,
    Threshold,
    Volume,
    check_options,
    fit_counters,
)
from simcodesign.cli.fit.options import JSON, LATEX, PYTHON, TABLE, Asked, WorkloadAsked
from simcodesign.cli.options import AsJson, Plot, check_files
from simcodesign.cli.validation import usable_cpus
from simcodesign.core.errors import InputError
from simcodesign.report.common.terminal import complain, print_all, write

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Measurements: Extra-P text, JSON, JSON lines, Talpas, a table (csv, parquet), a folder of Score-P runs. "
        "Several are taken together. With --counters: hardware counters.",
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        metavar="p=1024,n=1e6",
        help="Where to predict; by default four times the largest values measured. With --counters: P=128 or "
        "P=256,size=1e6, repeatable.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="text, json, jsonlines, talpas, csv, parquet or cube (with --counters: csv, perf or "
        "likwid); else found out.",
    ),
]
Exponents = Annotated[
    str,
    typer.Option(
        metavar="SET",
        help="extrap (42 pairs), paper (155), or own: powers; logarithms, all combined: '0,1/2,1;0,1'.",
    ),
]
Terms = Annotated[int, typer.Option(metavar="N", min=0, max=8, help="The most terms beside the constant.")]
Collective = Annotated[
    list[str] | None,
    typer.Option(metavar="OP=PARAMETER", help="Allreduce, Bcast or Alltoall may be a factor: Alltoall=p. Repeatable."),
]
NegativeExponents = Annotated[bool, typer.Option("--negative-exponents", help="What shrinks may be a factor.")]
NegativeCoefficients = Annotated[bool, typer.Option("--negative-coefficients", help="Terms may be subtracted.")]
NoRefine = Annotated[
    bool,
    typer.Option(
        "--no-refine",
        help="Exponents of the set only, none between them. With --counters: runs at a second frequency, or of "
        "communication alone, are left out.",
    ),
]
Weighting = Annotated[
    str, typer.Option(metavar="NAME", help="relative: errors in proportion to the values; or absolute: all alike.")
]
Level = Annotated[float, typer.Option(metavar="SHARE", help="How surely the interval holds a measurement.")]
Regions = Annotated[
    list[str] | None, typer.Option("--region", metavar="PATTERN", help="Only these: main, 'solve*'. Repeatable.")
]
Metrics = Annotated[list[str] | None, typer.Option("--metric", metavar="PATTERN", help="Only these. Repeatable.")]
Partial = Annotated[bool, typer.Option("--partial", help="Series may lack points that others have.")]
Workers = Annotated[
    int | None, typer.Option("-j", "--jobs", metavar="N", min=1, help="The most processes; by default one a CPU.")
]
Exact = Annotated[
    bool, typer.Option("--exact", help="The values have no noise, as counts; repeated ones that are equal say so too.")
]
WorkloadFile = Annotated[
    Path | None,
    typer.Option(
        "--workload",
        metavar="FILE",
        help="Write the models, also those of --counters, as a workload (.yaml) that can be simulated.",
    ),
]
Demands = Annotated[
    list[str] | None,
    typer.Option(
        "--as", metavar="METRIC=DEMAND", help="With --workload: fp=flops, x=bytes_sent:allreduce, y=none. Repeatable."
    ),
]
Neighbours = Annotated[
    str | None, typer.Option(metavar="NAME", help="With --workload: halo1d (the default) to halo4d, for bytes_sent.")
]
RanksParameter = Annotated[
    str | None,
    typer.Option("--ranks", metavar="NAME", help="With --workload: the number of processes; else p, ranks, ..."),
]
AsLatex = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")]
AsPython = Annotated[bool, typer.Option("--python", help="Print a Python module with a function for each model.")]


@app.command(no_args_is_help=True)
def fit(
    context: typer.Context,
    files: Files,
    target: Target = None,
    format: Format = None,
    exponents: Exponents = "extrap",
    terms: Terms = 3,
    collective: Collective = None,
    negative_exponents: NegativeExponents = False,
    negative_coefficients: NegativeCoefficients = False,
    no_refine: NoRefine = False,
    weighting: Weighting = "relative",
    exact: Exact = False,
    level: Level = 0.9,
    region: Regions = None,
    metric: Metrics = None,
    partial: Partial = False,
    jobs: Workers = None,
    as_json: AsJson = False,
    latex: AsLatex = False,
    python: AsPython = False,
    plot: Plot = None,
    workload: WorkloadFile = None,
    demands: Demands = None,
    neighbours: Neighbours = None,
    ranks: RanksParameter = None,
    counters: Counters = False,
    threshold: Threshold = None,
    normal_form: NormalForm = False,
    guard: Guard = None,
    volume: Volume = None,
    dimensions: Dimensions = None,
    machine: MachineOfCounters = None,
    against: Against = None,
) -> None:
    """Fit models of the performance-model normal form to measurements: c0 + sums of c x^i log2(x)^j ...

    Each region and metric gets a model, its errors, and a prediction with an interval.

    With --counters: kernels out of hardware counters of three or more small runs, models of their counters, and the
    time of larger runs with where it goes.
    """
    _one_thread()
    check_options(context, counters)
    if counters:
        given = CountersAsked(
            [str(file) for file in files],
            target or [],
            format,
            not no_refine,
            threshold,
            normal_form,
            guard,
            volume,
            dimensions,
            machine,
            against or [],
        )
        fit_counters(given, as_json, plot, workload)
        return
    asked = Asked(
        files,
        format,
        partial,
        region or [],
        metric or [],
        target or [],
        level,
        exponents,
        terms,
        collective or [],
        negative_exponents,
        negative_coefficients,
        not no_refine,
        weighting,
        exact,
        _output(as_json, latex, python),
    )
    wanted = WorkloadAsked(workload, demands or [], neighbours, ranks)
    asked.check()
    wanted.check()
    check_files(plot)
    measurements = asked.measurements()
    blocks: list[Any] | None = [] if workload else None
    digest, heading = _fitted(asked, measurements, jobs or usable_cpus(), bool(plot), blocks)
    if asked.output == TABLE:
        print_all(import_module("simcodesign.report.fits.tables").fit_tables(digest, heading))
    if plot:
        drawn = import_module("simcodesign.report.fits.plot").fits_plot(digest, heading, plot)
        if drawn < digest.series:
            complain(f"note: the plot shows {drawn} of {digest.series:,} series (--region and --metric choose)")
    if blocks:
        for note in wanted.written(
            import_module("simcodesign.fitting.parallel_fit").joined(measurements, blocks), files
        ):
            complain(f"note: {note}")


def _one_thread() -> None:
    """Threads of linear algebra cost a third more processor time here than they save; processes do the work."""
    if "numpy" not in sys.modules:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")


def _output(as_json: bool, latex: bool, python: bool) -> str:
    chosen = [name for name, given in ((JSON, as_json), (LATEX, latex), (PYTHON, python)) if given]
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} exclude each other", allowed="one of them")
    return chosen[0] if chosen else TABLE


def _fitted(asked: Asked, measurements: Any, workers: int, draws: bool, blocks: list[Any] | None) -> tuple[Any, Any]:
    """What tables and plots show; what is printed for each series is printed as it is found. ``blocks`` takes all."""
    report, options = import_module("simcodesign.report.fits.tables"), asked.fit_options()
    given = asked.target_of(measurements)
    target = tuple(
        given or import_module("simcodesign.fitting.batch_predictions").default_target(measurements).tolist()
    )
    shown = {**options, "exponents": asked.exponents}
    files = [str(file) for file in asked.files]
    heading = report.Heading(measurements.parameters, target, given is not None, asked.level, shown, files)
    digests = draws or asked.output == TABLE or blocks is not None
    writer = import_module("simcodesign.report.fits.output").WRITERS[asked.output](heading, measurements)
    digest = report.Digest()
    make = partial(import_module("simcodesign.report.fits.output").made, writer.make, digests)
    fitted = import_module("simcodesign.fitting.parallel_fit").fitted
    wanted = asked.output == TABLE or not sys.stdout.isatty()
    with import_module("simcodesign.report.common.progress").fit_progress(
        len(measurements.regions), wanted=wanted
    ) as on_progress:
        found = fitted(measurements, make, workers=workers, on_progress=on_progress, target=target, **options)
        with closing(found):  # an error ends the processes at once
            for fits, seen, parts in found:
                if digests:
                    digest.add(fits, seen)
                if blocks is not None:
                    blocks.append(fits)
                if text := "".join(writer.texts(parts)):
                    write(text)
    write(writer.end())
    return digest, heading
