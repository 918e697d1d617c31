"""``simcodesign explore tune | size | machine | architect``: planners over a space of designs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simcodesign.cli.app import app
from simcodesign.cli.explore.run import Explored, explored
from simcodesign.cli.options import AsJson, Phases, Plot, Preset, Ranks, Settings

explore = typer.Typer(no_args_is_help=True, help="Planners: search a space of designs under constraints.")
app.add_typer(explore, name="explore")

OptionalWorkload = Annotated[
    str | None,
    typer.Argument(metavar="[WORKLOAD]", help="A shipped workload or a path (.yaml, .aspen); not needed with --file."),
]
OptionalMachine = Annotated[
    str | None,
    typer.Argument(metavar="[MACHINE]", help="A shipped machine or a path (.yaml, .aspen); not needed with --file."),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="NAME=RANGE",
        help="What is varied: NAME=LOW:HIGH, with :whole, :log or :linear, or choices NAME=A,B,C. A parameter, P, or a "
        "constant of the machine (network.bandwidth='1 GB/s:10 GB/s'). Of Aspen models NAME alone is all of its range. "
        "Repeatable.",
    ),
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(
        "--subject-to",
        metavar="CONSTRAINT",
        help="'time <= 10 s', 'footprint <= capacity', 'P*n >= 1e9': expressions over metrics, variables and what is "
        "fixed. Repeatable.",
    ),
]
Minimise = Annotated[
    list[str] | None,
    typer.Option(
        "--minimise",
        "--minimize",
        metavar="EXPRESSION",
        help="A metric or an expression, with a weight if there are several: 'time*2'. Repeatable.",
    ),
]
Maximise = Annotated[
    list[str] | None,
    typer.Option("--maximise", "--maximize", metavar="EXPRESSION", help="The same, to be large. Repeatable."),
]
StudyFile = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="The same statements in a YAML file.")]
Solver = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="auto (the default), enumeration, bisection, evolution, or isres (needs NLopt)."),
]
SearchSeed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, help="Seed of the search, and of what --confirm simulates; default 0."),
]
Evaluations = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=100,
        help="Limit of the points that each search evaluates, polishing included: the search for the optimum (of a "
        "whole --pareto front), and for each relaxation, bound, or objective of a weighted sum beside it. Without, "
        "20000 and what polishing takes.",
    ),
]
Trace = Annotated[Path | None, typer.Option(metavar="FILE", help="Write every evaluation (.csv or .parquet).")]
Pareto = Annotated[
    bool, typer.Option("--pareto", help="The front of two or three objectives, in place of one optimum.")
]
FrontPoints = Annotated[
    int | None, typer.Option("--points", metavar="N", min=2, help="With --pareto: points of the front; default 20.")
]
Confirm = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        min=1,
        help="Simulate the K best points and their neighbours: does the order stay, and if not, why? With --pareto K "
        "points spread over the front: is each still beaten by none?",
    ),
]
Effects = Annotated[
    str | None, typer.Option(metavar="LIST", help="With --confirm: all (the default), none, or some effects.")
]
Engine = Annotated[
    str | None, typer.Option(metavar="NAME", help="With --confirm: auto (the default), simpy, or compiled.")
]


Socket = Annotated[str | None, typer.Option(metavar="NAME", help="Aspen: the kind of socket of the machine.")]
Kernel = Annotated[str | None, typer.Option(metavar="NAME", help="Aspen: the kernel that is run; default main.")]


@explore.command()
def tune(
    workload: OptionalWorkload = None,
    machine: OptionalMachine = None,
    vary: Vary = None,
    subject_to: SubjectTo = None,
    minimise: Minimise = None,
    maximise: Maximise = None,
    file: StudyFile = None,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    solver: Solver = None,
    seed: SearchSeed = None,
    evaluations: Evaluations = None,
    trace: Trace = None,
    pareto: Pareto = False,
    points: FrontPoints = None,
    confirm: Confirm = None,
    effects: Effects = None,
    engine: Engine = None,
    as_json: AsJson = False,
    plot: Plot = None,
    socket: Socket = None,
    kernel: Kernel = None,
) -> None:
    """Tune the parameters of an application on a machine: by default for the least time."""
    explored(
        Explored(
            "tune",
            workload,
            machine,
            vary,
            subject_to,
            minimise,
            maximise,
            file,
            settings,
            ranks,
            preset,
            phase,
            solver,
            seed,
            evaluations,
            trace,
            pareto,
            points,
            confirm,
            effects,
            engine,
            as_json,
            plot,
            socket=socket,
            kernel=kernel,
        )
    )


@explore.command()
def size(
    workload: OptionalWorkload = None,
    machine: OptionalMachine = None,
    vary: Vary = None,
    subject_to: SubjectTo = None,
    minimise: Minimise = None,
    maximise: Maximise = None,
    size: Annotated[str | None, typer.Option(metavar="NAME", help="The parameter that is the size; default n.")] = None,
    file: StudyFile = None,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    solver: Solver = None,
    seed: SearchSeed = None,
    evaluations: Evaluations = None,
    trace: Trace = None,
    pareto: Pareto = False,
    points: FrontPoints = None,
    confirm: Confirm = None,
    effects: Effects = None,
    engine: Engine = None,
    as_json: AsJson = False,
    plot: Plot = None,
    socket: Socket = None,
    kernel: Kernel = None,
) -> None:
    """Find the largest problem that a machine solves under constraints."""
    explored(
        Explored(
            "size",
            workload,
            machine,
            vary,
            subject_to,
            minimise,
            maximise,
            file,
            settings,
            ranks,
            preset,
            phase,
            solver,
            seed,
            evaluations,
            trace,
            pareto,
            points,
            confirm,
            effects,
            engine,
            as_json,
            plot,
            size,
            socket=socket,
            kernel=kernel,
        )
    )


@explore.command()
def machine(
    workload: OptionalWorkload = None,
    machine: OptionalMachine = None,
    vary: Vary = None,
    subject_to: SubjectTo = None,
    minimise: Minimise = None,
    maximise: Maximise = None,
    file: StudyFile = None,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    solver: Solver = None,
    seed: SearchSeed = None,
    evaluations: Evaluations = None,
    trace: Trace = None,
    pareto: Pareto = False,
    points: FrontPoints = None,
    confirm: Confirm = None,
    effects: Effects = None,
    engine: Engine = None,
    as_json: AsJson = False,
    plot: Plot = None,
    socket: Socket = None,
    kernel: Kernel = None,
) -> None:
    """Find the least machine on which an application meets its constraints.

    By default the product of the rates that are varied, and of the inverse of the times, is minimised.
    """
    explored(
        Explored(
            "machine",
            workload,
            machine,
            vary,
            subject_to,
            minimise,
            maximise,
            file,
            settings,
            ranks,
            preset,
            phase,
            solver,
            seed,
            evaluations,
            trace,
            pareto,
            points,
            confirm,
            effects,
            engine,
            as_json,
            plot,
            socket=socket,
            kernel=kernel,
        )
    )


@explore.command()
def architect(
    machine: OptionalMachine = None,
    vary: Vary = None,
    subject_to: SubjectTo = None,
    minimise: Minimise = None,
    maximise: Maximise = None,
    file: StudyFile = None,
    settings: Settings = None,
    solver: Solver = None,
    seed: SearchSeed = None,
    evaluations: Evaluations = None,
    trace: Trace = None,
    pareto: Pareto = False,
    points: FrontPoints = None,
    as_json: AsJson = False,
    plot: Plot = None,
    socket: Socket = None,
) -> None:
    """Find the most capable machine under constraints, without an application: by default the largest peak rate."""
    explored(
        Explored(
            "architect",
            None,
            machine,
            vary,
            subject_to,
            minimise,
            maximise,
            file,
            settings,
            None,
            None,
            None,
            solver,
            seed,
            evaluations,
            trace,
            pareto,
            points,
            None,
            None,
            None,
            as_json,
            plot,
            socket=socket,
        )
    )
