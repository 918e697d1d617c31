"""``simcodesign explore tune | size | machine | architect``: planners over a space of designs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import click

from simcodesign.cli.app import app
from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options import Jobs, OutputOptions, Phases, Preset, Ranks, Settings
from simcodesign.cli.sections import Section, put_in
from simcodesign.core.errors import InputError, Place

explore = click.Group(
    "explore",
    help="Search for the best design among all that you let vary (codesign judges those that you name): which "
    "parameters, size or machine are the optimum under constraints?",
)
app.add_command(explore)
put_in(Section.DESIGN, explore.name or "")

#: Values of --with.
FORECAST, SIMULATION = READINGS = ("forecast", "simulation")

OptionalWorkload = Annotated[
    str | None,
    Argument(
        metavar="[WORKLOAD]",
        help="A shipped workload or a path (.yaml, .aspen); not needed with --file.",
        complete=names_of("workloads"),
    ),
]
OptionalMachine = Annotated[
    str | None,
    Argument(
        metavar="[MACHINE]",
        help="A shipped machine or a path (.yaml, .aspen); not needed with --file.",
        complete=names_of("machines"),
    ),
]


@dataclass(frozen=True, kw_only=True)
class ProblemOptions:
    """What is varied, under which constraints, for which objectives."""

    vary: Annotated[
        list[str],
        Option(
            metavar="NAME=RANGE",
            help="What is varied: NAME=LOW:HIGH, with :whole, :log or :linear, or choices NAME=A,B,C. A parameter, P, "
            "or a constant of the machine (network.bandwidth='1 GB/s:10 GB/s'), in SI units where none is given. Of "
            "Aspen models NAME alone is all of its range. Repeatable.",
        ),
    ] = field(default_factory=list)
    subject_to: Annotated[
        list[str],
        Option(
            metavar="CONSTRAINT",
            help="'time <= 10 s', 'footprint <= capacity', 'P*n >= 1e9': expressions over metrics, variables and what "
            "is fixed; a number without a unit is in SI units, as --metrics lists them. Repeatable.",
        ),
    ] = field(default_factory=list)
    minimise: Annotated[
        list[str],
        Option(
            "--minimise",
            "--minimize",
            metavar="EXPRESSION",
            help="A metric or an expression, with a weight if there are several: 'time*2'. Repeatable.",
        ),
    ] = field(default_factory=list)
    maximise: Annotated[
        list[str],
        Option("--maximise", "--maximize", metavar="EXPRESSION", help="The same, to be large. Repeatable."),
    ] = field(default_factory=list)
    metrics: Annotated[bool, Option(help="List the metrics that expressions may use, with their units, and end.")] = (
        False
    )
    file: Annotated[Path | None, Option(metavar="FILE", help="The same statements in a YAML file.")] = None
    settings: Settings = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How the space is searched, and what is written of the search."""

    solver: Annotated[
        str | None,
        Option(metavar="NAME", help="auto (the default), enumeration, bisection, evolution, or isres (needs NLopt)."),
    ] = None
    seed: Annotated[
        int | None,
        Option(metavar="N", min=0, help="Seed of the search, and of what --confirm simulates; default 0."),
    ] = None
    evaluations: Annotated[
        int | None,
        Option(
            metavar="N",
            min=100,
            help="Limit of the points that each search evaluates, polishing included: the search for the optimum (of a "
            "whole --pareto front), and for each relaxation, bound, or objective of a weighted sum beside it. Without, "
            "20000 and what polishing takes.",
        ),
    ] = None
    trace: Annotated[Path | None, Option(metavar="FILE", help="Write every evaluation (.csv or .parquet).")] = None
    pareto: Annotated[bool, Option(help="The front of two or three objectives, in place of one optimum.")] = False
    points: Annotated[
        int | None,
        Option(metavar="N", min=2, help="With --pareto: points of the front; default 20."),
    ] = None
    socket: Annotated[str | None, Option(metavar="NAME", help="Aspen: the kind of socket of the machine.")] = None


@dataclass(frozen=True, kw_only=True)
class ConfirmationOptions:
    """Whether points are simulated, which, and how."""

    reading: Annotated[
        str | None,
        Option(
            "--with",
            metavar="READING",
            help="forecast (the default), or simulation: the best point when simulated, constraints included, by a "
            "search that simulates a few points, chosen by the forecast and the simulations before.",
        ),
    ] = None
    simulations: Annotated[
        int | None,
        Option(
            metavar="N",
            min=5,
            help="With --with simulation: points that are simulated; by default 5 and 10 for each variable, at most "
            "50, or the whole space.",
        ),
    ] = None
    jobs: Jobs = None
    confirm: Annotated[
        int | None,
        Option(
            metavar="K",
            min=1,
            help="Simulate the K best points and their neighbours: does the order stay, and if not, why? With --pareto "
            "K points spread over the front: is each still beaten by none?",
        ),
    ] = None
    effects: Annotated[
        str | None, Option(metavar="LIST", help="Of what is simulated: all (the default), none, or some effects.")
    ] = None
    engine: Annotated[
        str | None, Option(metavar="NAME", help="Of what is simulated: auto (the default), simpy, or compiled.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    """A workload on a machine is explored."""

    workload: OptionalWorkload = None
    machine: OptionalMachine = None
    problem: ProblemOptions
    ranks: Ranks = None
    preset: Preset = None
    phase: Phases = field(default_factory=list)
    search: SearchOptions
    confirmation: ConfirmationOptions = field(default_factory=ConfirmationOptions)
    output: OutputOptions
    kernel: Annotated[str | None, Option(metavar="NAME", help="Aspen: the kernel that is run; default main.")] = None

    def check(self) -> None:
        """InputError for options without the one that gives them a meaning."""
        self.output.check()
        search, confirmation = self.search, self.confirmation
        if confirmation.reading not in (None, *READINGS):
            raise InputError(
                "no such reading", Place("--with"), value=confirmation.reading, allowed=", ".join(READINGS)
            )
        in_loop = confirmation.reading == SIMULATION
        simulated, by_search = bool(confirmation.confirm or in_loop), f"--with {SIMULATION}"
        for option, value, needed, by in (
            ("--effects", confirmation.effects, simulated, f"{by_search} or --confirm"),
            ("--engine", confirmation.engine, simulated, f"{by_search} or --confirm"),
            ("--simulations", confirmation.simulations, in_loop, by_search),
            ("--points", search.points, search.pareto, "--pareto"),
        ):
            if value is not None and not needed:
                raise InputError("has no meaning here", Place(option), value=value, allowed=f"with {by}")
        if in_loop and (confirmation.confirm or search.pareto):
            other = "--pareto" if search.pareto else "--confirm"
            raise InputError(f"{other} and {by_search} exclude each other", Place("--with"), allowed="one of the two")


@dataclass(frozen=True, kw_only=True)
class SizeOptions(ExploreOptions):
    """The same, for the largest problem."""

    size: Annotated[str | None, Option(metavar="NAME", help="The parameter that is the size; default n.")] = None


@dataclass(frozen=True, kw_only=True)
class ArchitectOptions:
    """A machine alone is explored."""

    machine: OptionalMachine = None
    problem: ProblemOptions
    search: SearchOptions
    output: OutputOptions


@command(explore, "tune")
def run_tune(options: ExploreOptions) -> None:
    """Tune the parameters of an application on a machine: by default for the least time."""
    _run("tune", options)


@command(explore, "size")
def run_size(options: SizeOptions) -> None:
    """Find the largest problem that a machine solves under constraints."""
    _run("size", options, options.size)


@command(explore, "machine")
def run_machine(options: ExploreOptions) -> None:
    """Find the least machine on which an application meets its constraints.

    By default the product of the rates that are varied, and of the inverse of the times, is minimised.
    """
    _run("machine", options)


@command(explore, "architect")
def run_architect(options: ArchitectOptions) -> None:
    """Find the most capable machine under constraints, without an application: by default the largest peak rate."""
    machine = ExploreOptions(
        machine=options.machine, problem=options.problem, search=options.search, output=options.output
    )
    _run("architect", machine)


def _run(planner: str, options: ExploreOptions, size: str | None = None) -> None:
    from simcodesign.cli.run import explore

    options.check()
    explore.run(planner, options, size)
