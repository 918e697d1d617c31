"""Options of ``sweep``, and the command that resumes one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import click
from click.exceptions import Exit

from simcodesign.cli.dataclass_commands import Option
from simcodesign.cli.options.shared import (
    AnchorFiles,
    Formulas,
    Jobs,
    ScenarioOptions,
    Simulate,
    SimulationOptions,
    Vary,
    VerdictOptions,
    Write,
    needs,
)
from simcodesign.cli.sections import Heading
from simcodesign.cli.written_files import PLOT_SUFFIXES, Output, Outputs, RequestedFiles
from simcodesign.core.errors import InputError
from simcodesign.report.common.terminal import write

STORE_FOLDER, STORE_ENDING = "sweeps", ".sweep.sqlite"
DAMAGED = 1
ARGUMENTS = "simcodesign arguments"


def check_store(file: Path) -> None:
    """Check the file of a store, and print how many points it has. Exit status 1 if it is damaged."""
    from simcodesign.studies.sweep.store import Store

    with Store.open(file, write=False) as store:
        if problems := store.check():
            write("".join(f"{line}\n" for line in problems))
            raise Exit(DAMAGED)
        count = store.meta().get("points")
        write(f"{len(store):,} of {count:,} points, {store.failed():,} of them failed; the file is whole\n")


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Points to evaluate, how, by which processes, and what is kept, written and printed."""

    context: click.Context
    scenario: ScenarioOptions
    vary: Vary
    sample: Annotated[
        tuple[int, str] | None,
        Option(
            heading=Heading.POINTS,
            metavar="N METHOD",
            help="Evaluate N points instead of a grid, sampled from ranges LOW:HIGH[:log] by the method sobol or lhs "
            "(Latin hypercube).",
        ),
    ] = None
    tie: Annotated[
        list[str],
        Option(
            heading=Heading.POINTS,
            metavar="NAME=EXPRESSION",
            help="Compute NAME from the varied values, in SI units: nodes=P, 'n=1e6/sqrt(P)', "
            "network.startup='2us*log2(P)', 'network.topology.shape=[P/8, 8]'. Repeatable.",
        ),
    ] = field(default_factory=list)
    simulate: Simulate = False
    simulation: SimulationOptions
    formula: Formulas = field(default_factory=list)
    within: Annotated[
        str | None,
        Option(
            heading=Heading.MEASURED,
            metavar="FRACTION",
            help="With --simulate: list the points at which each formula and the forecast are accurate to FRACTION of "
            "the simulation (10%, or 0.1; 1 is 100%), which one to use at which points, and a simple condition if one "
            "fits; a plot is then a map of this (default: 10% if --formula is given).",
        ),
    ] = None
    verdict: VerdictOptions
    anchor: AnchorFiles = field(default_factory=list)
    store: Annotated[
        Path | None,
        Option(
            heading=Heading.WORKERS,
            metavar="FILE",
            help=f"Store points in this new file as they are evaluated. By default, a sweep with --simulate "
            f"stores them in the folder {STORE_FOLDER}, and the same command resumes from there; other sweeps "
            f"store nothing.",
        ),
    ] = None
    resume: Annotated[
        Path | None,
        Option(
            heading=Heading.WORKERS,
            metavar="STORE",
            help="Resume from this store: evaluate only the points that it lacks.",
        ),
    ] = None
    retry: Annotated[bool, Option(heading=Heading.WORKERS, help="With --resume: evaluate failed points again.")] = False
    check_store: Annotated[
        Path | None,
        Option(
            "--check",
            heading=Heading.WORKERS,
            metavar="STORE",
            help="Check the file of a store, print the number of its points, and exit; exit status 1 if it is damaged.",
            instead=check_store,
        ),
    ] = None
    jobs: Jobs = None
    scheduler: Annotated[
        str | None,
        Option(
            heading=Heading.WORKERS,
            metavar="ADDRESS",
            help="A Dask scheduler (tcp://host:8786) or its scheduler file, instead of -j.",
        ),
    ] = None
    write: Write = field(default_factory=list)
    of: Annotated[
        list[str],
        Option(
            heading=Heading.SHOWN,
            metavar="NAME",
            help="With a plot: draw a panel for forecast, simulated, ratio, or a column of the table (default: "
            "every one of the first three that was computed). Repeatable.",
        ),
    ] = field(default_factory=list)
    form: Annotated[
        str | None,
        Option(
            heading=Heading.SHOWN,
            metavar="NAME",
            help="With a plot: draw lines, bars, heat or contour (default: heat for two axes of numbers, bars if "
            "all axes have words, otherwise lines).",
        ),
    ] = None
    json_lines: Annotated[
        bool, Option(heading=Heading.OUTPUT, help="Print one JSON object per event, and no table.")
    ] = False

    @property
    def arguments(self) -> Sequence[str]:
        """The command line behind ``simcodesign sweep``, as it was typed."""
        arguments: Sequence[str] = self.context.meta.get(ARGUMENTS, ())
        return arguments

    @property
    def asks_trust(self) -> bool:
        """Whether formulas are compared with simulations."""
        return self.within is not None or (bool(self.formula) and self.simulate)

    @property
    def plots_trust(self) -> bool:
        """Whether the plot is a trust map."""
        return self.asks_trust and not self.of and self.form is None

    def requested_files(self) -> RequestedFiles:
        """Return the files to write.

        Raises InputError for those that cannot be, and for options that exclude each other.
        """
        files = FILES.requested(self.write)
        if self.scheduler and self.jobs:
            raise InputError("--jobs and --scheduler exclude each other", allowed="one of them")
        if self.store and self.resume:
            raise InputError("--store and --resume exclude each other", allowed="one of them")
        for option, given, needed, there in (
            ("--of", self.of, "--write plot:FILE", "plot" in files),
            ("--form", self.form, "--write plot:FILE", "plot" in files),
            ("--retry", self.retry, "--resume", self.resume),
            ("--scheduler", self.scheduler, "--simulate", self.simulate),
            ("--within", self.within, "--simulate", self.simulate),
            ("--tolerance", self.verdict.tolerance, "--measured", self.verdict.measured),
        ):
            if given and not there:
                raise needs(option, needed)
        return files


FILES = Outputs(
    Output("table", (".csv", ".parquet"), "the table; FILE.meta.json has what all rows have in common"),
    Output("plot", PLOT_SUFFIXES, "a plot over one or two axes; of formulas, a map of their accuracy"),
)


def resuming_command(arguments: Sequence[str], store: Path) -> str:
    """Return the command line that continues a sweep, which was called with these arguments, with its store."""
    again, words = [], iter(arguments)
    for word in words:
        if word in ("--store", "--resume"):
            next(words, None)
        elif word != "--retry" and not word.startswith(("--store=", "--resume=")):
            again.append(word)
    return shlex.join(["simcodesign", "sweep", *again, "--resume", str(store)])
