"""Options of ``fit-counters``, and the files that it writes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated

import click

from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.options.models import KnownMachine
from simcodesign.cli.options.shared import (
    AsJson,
    Effects,
    Engine,
    Evidence,
    Format,
    Preset,
    Settings,
    Target,
    Vary,
    Write,
    needs,
)
from simcodesign.cli.sections import Heading
from simcodesign.cli.written_files import PLOT_SUFFIXES, TABLE, Output, Outputs
from simcodesign.core.errors import InputError

FILES = Outputs(
    Output("workload", (".yaml", ".yml"), "the models of recorded runs as a workload that can be simulated"),
    Output("plot", PLOT_SUFFIXES, "where the predicted time goes; with --profile, the errors of the predictions"),
    TABLE,
)


@dataclass(frozen=True, kw_only=True)
class RecordedRuns:
    """Files that are read with the fitted runs, and how models are fitted."""

    format: Format = None
    evidence: Evidence = field(default_factory=list)
    instrumented: Annotated[
        list[str],
        Option(
            heading=Heading.MEASURED,
            metavar="FILE",
            help="Read the same run with instrumentation (a flat profile of gprof, FILE@P=4, or a table), and print "
            "the normalized root mean square error of the sampled fractions of time. Repeatable.",
        ),
    ] = field(default_factory=list)
    unprofiled: Annotated[
        list[str],
        Option(
            heading=Heading.MEASURED,
            metavar="FILE",
            help="Read the same run without profiling, and print the overhead of profiling. Repeatable.",
        ),
    ] = field(default_factory=list)
    machine: KnownMachine = None
    normal_form: Annotated[
        bool,
        Option(
            heading=Heading.FITTED,
            help="Fit models of the normal form to the counters, as fit does; this needs five runs.",
        ),
    ] = False
    no_refinement_runs: Annotated[
        bool,
        Option(heading=Heading.MEASURED, help="Leave out runs at a second frequency and runs of communication alone."),
    ] = False
    volume: Annotated[
        float | None,
        Option(
            heading=Heading.FITTED,
            metavar="RATIO",
            help="Multiply the sizes of messages by RATIO at another size (default: see --dimensions).",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SimulatedRuns:
    """Runs that are simulated instead of recorded."""

    vary: Vary = field(default_factory=list)
    settings: Settings = field(default_factory=list)
    preset: Preset = None
    further: Annotated[
        str | None,
        Option(
            heading=Heading.FITTED,
            metavar="P=VALUES",
            help="Refine the models of communication by simulated runs on these numbers of processes. The largest of "
            "two or more is held back to show what the refinement is worth.",
        ),
    ] = None
    second_clock: Annotated[
        str | None,
        Option(
            heading=Heading.FITTED,
            metavar="CLOCK",
            help="Refine CPI and memory stalls by a simulated run at another clock frequency, for example '2 GHz'.",
        ),
    ] = None
    seeds: Annotated[
        int,
        Option(
            heading=Heading.REPEATED,
            metavar="N",
            min=1,
            max=10_000,
            help="Simulate and predict N times, with different random numbers.",
        ),
    ] = 5
    ladder: Annotated[
        str | None,
        Option(
            heading=Heading.SHOWN,
            metavar="FRACTION",
            help="Explain each error above FRACTION: simulate and predict again with one effect after another.",
        ),
    ] = None
    effects: Effects = "all"
    engine: Engine = "auto"


@dataclass(frozen=True, kw_only=True)
class FitCountersOptions:
    """Runs to fit, how, points of prediction, and what is written."""

    context: click.Context
    files: Annotated[
        list[str],
        Argument(
            metavar="[FILE...]",
            help="Hardware counters of runs: a table (csv), perf stat, likwid-perfctr -O or gprof. Append what a file "
            "lacks to its name: FILE@P=4,size=1e6 (also clock=2GHz, class, rank, repetition, kernel; summed: counts of "
            "all processes together).",
        ),
    ] = field(default_factory=list)
    profile: Annotated[
        tuple[str, str] | None,
        Option(
            heading=Heading.MEASURED,
            metavar="WORKLOAD MACHINE",
            help="Profile simulated runs instead of FILE...",
            complete=names_of("workloads", "machines"),
        ),
    ] = None
    target: Target = field(default_factory=list)
    threshold: Annotated[
        float | None,
        Option(
            heading=Heading.FITTED,
            metavar="FRACTION",
            help="Model kernels that take more than FRACTION of the time (default: 0.05).",
        ),
    ] = None
    guard: Annotated[
        str | None,
        Option(
            heading=Heading.FITTED,
            metavar="FRACTION",
            help="Refuse to predict another size if more than FRACTION of the accesses miss the last cache; none "
            "refuses nothing (default: 1e-4).",
        ),
    ] = None
    dimensions: Annotated[
        float | None,
        Option(
            heading=Heading.FITTED,
            metavar="D",
            help="At another size, let messages grow as the surface of a domain of D dimensions (default: 3).",
        ),
    ] = None
    recorded: RecordedRuns
    simulated: SimulatedRuns
    write: Write = field(default_factory=list)
    as_json: AsJson = False

    def check(self) -> None:
        """InputError for runs of both kinds or of none, and for options of the kind that is not given."""
        if bool(self.files) == bool(self.profile):
            what = "both recorded and simulated runs" if self.files else "no runs"
            raise InputError(what, allowed="either FILE... or --profile WORKLOAD MACHINE")
        unused = RecordedRuns if self.profile else SimulatedRuns
        names = {one.name for one in fields(unused)}
        for parameter in self.context.command.params:
            source = self.context.get_parameter_source(parameter.name or "")
            if parameter.name in names and source and source.name == "COMMANDLINE":
                raise needs(parameter.opts[0], "FILE..." if self.profile else "--profile")
