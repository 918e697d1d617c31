"""``simcodesign sweep``: a workload on a machine, read at many points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from simcodesign.cli.app import app
from simcodesign.cli.options import (
    Effects,
    Engine,
    Iterations,
    MachineName,
    Phases,
    Preset,
    Ranks,
    Seed,
    Settings,
    WorkloadName,
)
from simcodesign.cli.sweep.run import ENDING, FORECAST, Swept, swept

_ARGUMENTS = "simcodesign arguments"

Over = Annotated[
    list[str],
    typer.Option(
        "--over",
        metavar="AXIS",
        help="What is varied, and how: P=1:2048:x2, n=0:10:+0.5, n=1e3:1e6:n=7:log, network.bandwidth=1,10,100GB/s, "
        "network.topology.kind=mesh,torus, seed=1,2,3. Several span a grid, the last running fastest. Repeatable.",
    ),
]
Sample = Annotated[
    tuple[int, str] | None,
    typer.Option(
        metavar="N METHOD", help="N points drawn by sobol or lhs from ranges LOW:HIGH[:log], in place of a grid."
    ),
]
Reading = Annotated[str, typer.Option(metavar="NAME", help="forecast, simulate, or both.")]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help=f"Where points are kept as they come; WORKLOAD-MACHINE{ENDING} where there are simulations. A sweep that "
        "is only forecast needs none.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a store, which may be there or not.")]
Retry = Annotated[bool, typer.Option("--retry", help="With --resume: try the points again that have failed.")]
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", metavar="N", min=1, help="Processes; by default one a CPU.")]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask scheduler (tcp://host:8786) or its scheduler file, in place of -j."),
]
Output = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table (.csv or .parquet).")]
SweepPlot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Plot over one or two axes (.png, .svg or .pdf)."),
]
Of = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="With --plot: forecast, simulated, ratio or a column of the table, a panel for each; by default those of "
        "the three that there are. Repeatable.",
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="With --plot: lines, heat or contour; by default lines of one axis, heat of two."
    ),
]
JsonLines = Annotated[bool, typer.Option("--json-lines", help="Print one JSON object per event, and no table.")]


class _Remembering(TyperCommand):
    """A command that can say how it was called."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


@app.command(no_args_is_help=True, cls=_Remembering)
def sweep(
    context: typer.Context,
    workload: WorkloadName,
    machine: MachineName,
    over: Over,
    sample: Sample = None,
    reading: Reading = FORECAST,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    effects: Effects = "all",
    engine: Engine = "auto",
    iterations: Iterations = "all",
    seed: Seed = 0,
    store: StoreFile = None,
    resume: Resume = False,
    retry: Retry = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    output: Output = None,
    plot: SweepPlot = None,
    of: Of = None,
    form: Form = None,
    json_lines: JsonLines = False,
) -> None:
    """Forecast or simulate a workload on a machine at every point of a grid or sample.

    Points are kept in a store as they come: whatever ends a sweep, --resume goes on with it. Points that fail are
    listed and do not end it; exit status 1 if all of them fail.
    """
    swept(
        Swept(
            workload,
            machine,
            over,
            sample,
            reading,
            settings or [],
            ranks,
            preset,
            phase,
            effects,
            engine,
            iterations,
            seed,
            store,
            resume,
            retry,
            jobs,
            scheduler,
            output,
            plot,
            of or [],
            form,
            json_lines,
        ),
        context.meta.get(_ARGUMENTS, []),
    )
