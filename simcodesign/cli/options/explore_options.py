"""Options of ``explore``, and the files that it writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.shared import (
    EFFECTS,
    ENGINE,
    SEED,
    AnswerOptions,
    Jobs,
    Kernel,
    Phases,
    Preset,
    Ranks,
    Settings,
    Simulate,
    SizeName,
    Socket,
    Vary,
    needs,
)
from simcodesign.cli.sections import Heading
from simcodesign.cli.written_files import PLOT_SUFFIXES, TABLE, Output, Outputs
from simcodesign.core.errors import InputError, Place


@dataclass(frozen=True, kw_only=True)
class ProblemOptions:
    """Varied parameters, constraints and objectives."""

    vary: Vary = field(default_factory=list)
    subject_to: Annotated[
        list[str],
        Option(
            heading=Heading.POINTS,
            metavar="CONSTRAINT",
            help="Keep a constraint: 'time <= 10 s', 'footprint <= capacity', 'P*n >= 1e9'. Expressions use metrics, "
            "variables and fixed values; SI units are the default, as --metrics lists them. Repeatable.",
        ),
    ] = field(default_factory=list)
    minimize: Annotated[
        list[str],
        Option(
            heading=Heading.POINTS,
            metavar="EXPRESSION",
            help="Minimize a metric or an expression. If there are several, each can have a weight: 'time*2'. "
            "Default: see above. Repeatable.",
        ),
    ] = field(default_factory=list)
    maximize: Annotated[
        list[str],
        Option(heading=Heading.POINTS, metavar="EXPRESSION", help="Maximize a metric or an expression. Repeatable."),
    ] = field(default_factory=list)
    against: Annotated[
        str | None,
        Option(
            heading=Heading.POINTS,
            metavar="MACHINE",
            help="Machine to which the metric slowdown refers: the time divided by the time of the same workload "
            "on that machine (default: the machine as described, without the variations).",
        ),
    ] = None
    size: SizeName = None
    metrics: Annotated[
        bool,
        Option(
            heading=Heading.SHOWN, help="List the metrics of WORKLOAD and MACHINE that expressions may use, and stop."
        ),
    ] = False
    file: Annotated[
        Path | None,
        Option(
            heading=Heading.MACHINE,
            metavar="FILE",
            help="Read the workload, the machine, variations, constraints and objectives from a YAML file.",
        ),
    ] = None
    settings: Settings = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How the space is searched, and what is written of the search."""

    solver: Annotated[
        str | None,
        Option(
            heading=Heading.POINTS,
            metavar="NAME",
            help="Search by auto (the default), enumeration, bisection, evolution, or isres (needs NLopt).",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(heading=Heading.EFFECTS, metavar="N", min=0, help=SEED.help),
    ] = None
    max_evaluations: Annotated[
        int | None,
        Option(
            heading=Heading.POINTS,
            metavar="N",
            min=100,
            help="Maximum number of points that each search evaluates: the search for the optimum (for a whole "
            "--pareto front), and for each relaxation, bound, or objective of a weighted sum (default: 20000, and "
            "as many as the final local search needs).",
        ),
    ] = None
    pareto: Annotated[
        bool, Option(heading=Heading.POINTS, help="Find the front of two or three objectives instead of one optimum.")
    ] = False
    points: Annotated[
        int | None,
        Option(
            heading=Heading.POINTS,
            metavar="N",
            min=2,
            help="Number of points of the --pareto front (default: 20); maximum number of points of a simulated "
            "boundary (default: 17), added until straight lines between them are accurate to 1 % of the intercepts.",
        ),
    ] = None
    socket: Socket = None


@dataclass(frozen=True, kw_only=True)
class ExploreSimulationOptions:
    """Whether points are simulated, which, and how."""

    simulate: Simulate = False
    max_simulations: Annotated[
        int | None,
        Option(
            heading=Heading.EFFECTS,
            metavar="N",
            min=5,
            help="With --simulate: maximum number of simulated points (default: 5 plus 10 for each variable, but "
            "at most 50, and at most the whole space).",
        ),
    ] = None
    jobs: Jobs = None
    simulate_best: Annotated[
        int | None,
        Option(
            heading=Heading.EFFECTS,
            metavar="K",
            min=0,
            help="Simulate the K best points and their neighbours, and explain any change of their order. With "
            "--pareto, simulate K points spread over the front. 0 simulates none (default: the 3 best points "
            "without neighbours if ranks differ, otherwise none).",
        ),
    ] = None
    effects: Annotated[str | None, EFFECTS] = None
    engine: Annotated[str | None, ENGINE] = None


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    """Options of `explore`."""

    names: Annotated[
        list[str],
        Argument(
            metavar="[WORKLOAD|MACHINE]...",
            help="A workload and a machine, or a machine alone: bundled names or paths (.yaml, .aspen). Several "
            "workloads run separately, and each metric is the worst value among them. Not needed with --file.",
            complete=names_of("machines", "workloads"),
        ),
    ] = field(default_factory=list)
    problem: ProblemOptions
    ranks: Ranks = None
    preset: Preset = None
    phase: Phases = field(default_factory=list)
    search: SearchOptions
    simulation: ExploreSimulationOptions = field(default_factory=ExploreSimulationOptions)
    output: AnswerOptions
    kernel: Kernel = None

    def check(self) -> None:
        """InputError for options that need another one."""
        search, simulation = self.search, self.simulation
        simulated = simulation.simulate or bool(simulation.simulate_best)
        for option, value, needed, by in (
            ("--effects", simulation.effects, simulated, "--simulate or --simulate-best"),
            ("--engine", simulation.engine, simulated, "--simulate or --simulate-best"),
            ("--max-simulations", simulation.max_simulations, simulation.simulate, "--simulate"),
        ):
            if value is not None and not needed:
                raise needs(option, by)
        if simulation.simulate and (simulation.simulate_best or search.pareto):
            other = "--pareto" if search.pareto else "--simulate-best"
            raise InputError(
                f"{other} and --simulate exclude each other", Place("--simulate"), allowed="one of the two"
            )


FILES = Outputs(
    Output("plot", PLOT_SUFFIXES, "the optimum within its space, a front, or a region"),
    Output("evaluations", (".csv", ".parquet"), "every point that the search evaluated"),
    TABLE,
)
