"""The command ``fit``: models out of measurements, or out of hardware counters, and what they predict."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

import click

from simcodesign.cli.app import app
from simcodesign.cli.dataclass_commands import Argument, Option, command
from simcodesign.cli.options import OutputOptions, check_folder
from simcodesign.cli.sections import Section
from simcodesign.core.errors import InputError, Place

#: What the answer is printed as, by the option that chooses it.
TABLE, JSON, LATEX, PYTHON = "table", "--json", "--latex", "--python"


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Models of the performance-model normal form; none of it means anything with --counters."""

    exponents: Annotated[
        str,
        Option(
            metavar="SET",
            help="extrap (42 pairs), paper (155), or own: powers; logarithms, all combined: '0,1/2,1;0,1'.",
        ),
    ] = "extrap"
    terms: Annotated[int, Option(metavar="N", min=0, max=8, help="The most terms beside the constant.")] = 3
    collective: Annotated[
        list[str],
        Option(metavar="OP=PARAMETER", help="Allreduce, Bcast or Alltoall may be a factor: Alltoall=p. Repeatable."),
    ] = field(default_factory=list)
    negative_exponents: Annotated[bool, Option(help="What shrinks may be a factor.")] = False
    negative_coefficients: Annotated[bool, Option(help="Terms may be subtracted.")] = False
    weighting: Annotated[
        str, Option(metavar="NAME", help="relative: errors in proportion to the values; or absolute: all alike.")
    ] = "relative"
    exact: Annotated[
        bool,
        Option(help="The values have no noise, as counts; repeated ones that are equal say so too."),
    ] = False
    level: Annotated[float, Option(metavar="SHARE", help="How surely the interval holds a measurement.")] = 0.9
    region: Annotated[list[str], Option(metavar="PATTERN", help="Only these: main, 'solve*'. Repeatable.")] = field(
        default_factory=list
    )
    metric: Annotated[list[str], Option(metavar="PATTERN", help="Only these. Repeatable.")] = field(
        default_factory=list
    )
    value: Annotated[
        str | None,
        Option(metavar="COLUMN", help="The column of values of a table (default: value, seconds or time)."),
    ] = None
    robust: Annotated[
        bool, Option(help="Leave outliers out: repetitions and points that the others do not explain, up to 3 each.")
    ] = False
    partial: Annotated[bool, Option(help="Series may lack points that others have.")] = False
    jobs: Annotated[
        int | None, Option("-j", "--jobs", metavar="N", min=1, help="The most processes; by default one a CPU.")
    ] = None
    latex: Annotated[bool, Option(help="Print a LaTeX table.")] = False
    python: Annotated[bool, Option(help="Print a Python module with a function for each model.")] = False
    demands: Annotated[
        list[str],
        Option(
            "--as",
            metavar="METRIC=DEMAND",
            help="With --workload: fp=flops, x=bytes_sent:allreduce, y=none. Repeatable.",
        ),
    ] = field(default_factory=list)
    neighbours: Annotated[
        str | None,
        Option(metavar="NAME", help="With --workload: halo1d (the default) to halo4d, for bytes_sent."),
    ] = None
    ranks: Annotated[
        str | None,
        Option(metavar="NAME", help="With --workload: the number of processes; else p, ranks, ..."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class CounterOptions:
    """Models of hardware counters; all of it means something with --counters alone."""

    threshold: Annotated[
        float | None,
        Option(metavar="SHARE", help="With --counters: a kernel is what takes more of the time; 0.05 by default."),
    ] = None
    normal_form: Annotated[
        bool,
        Option(help="With --counters: models of counters as without; asks for five runs."),
    ] = False
    guard: Annotated[
        str | None,
        Option(
            metavar="SHARE",
            help="With --counters: the largest share of last-level misses with which another size is predicted; 1e-4 "
            "by default, none for any.",
        ),
    ] = None
    volume: Annotated[
        float | None,
        Option(metavar="RATIO", help="With --counters: what messages grow by at another size; else by --dimensions."),
    ] = None
    dimensions: Annotated[
        float | None,
        Option(metavar="D", help="With --counters: messages grow as the surface of so many dimensions; 3 by default."),
    ] = None
    against: Annotated[
        list[str],
        Option(
            metavar="FILE",
            help="With --counters: runs that are not fitted, but compared with the prediction (those at the targets, "
            "if any are given). May be a file that is fitted otherwise. Repeatable.",
        ),
    ] = field(default_factory=list)
    instrumented: Annotated[
        list[str],
        Option(
            metavar="FILE",
            help="With --counters: the same run with instrumentation (a flat profile of gprof, FILE@P=4, or a table). "
            "Print the normalized root mean square error of the sampled shares of time. Repeatable.",
        ),
    ] = field(default_factory=list)
    unprofiled: Annotated[
        list[str],
        Option(
            metavar="FILE",
            help="With --counters: the same run without profiling. Print the overhead of profiling. Repeatable.",
        ),
    ] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class FormulaOptions:
    """Forms of the user's own; all but the first mean something with --formula alone."""

    formula: Annotated[
        list[str],
        Option(
            metavar="FORMULA",
            help="A form of your own with unknown coefficients, beside the normal-form model: 'c0 + c1*log2(P)*m + "
            "c2*P**x', 'NAME = EXPRESSION', or a .yaml file of formulas. Names that are no parameters are "
            "coefficients. Repeatable.",
        ),
    ] = field(default_factory=list)
    settings: Annotated[
        list[str],
        Option(
            "--set", metavar="NAME=VALUE", help="With --formula: a name that is no coefficient: n=1000. Repeatable."
        ),
    ] = field(default_factory=list)
    nonnegative: Annotated[bool, Option(help="With --formula: coefficients that enter linearly are zero or more.")] = (
        False
    )
    write_formulas: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="With --formula: write the fitted formulas (.yaml), as compare --formula takes them.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What is fitted, how, where it is predicted, and what is printed and written."""

    context: click.Context
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE...",
            help="Measurements: Extra-P text, JSON, JSON lines, .extra-p, Talpas, a table (csv, parquet), the table of "
            "a sweep, a folder of Score-P runs. Several are taken together. With --counters: hardware counters.",
        ),
    ]
    target: Annotated[
        list[str],
        Option(
            metavar="p=1024,n=1e6",
            help="Where to predict; by default four times the largest values measured. With --counters: P=128 or "
            "P=256,size=1e6, repeatable.",
        ),
    ] = field(default_factory=list)
    format: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="text, json, jsonlines, talpas, extrap, csv, parquet, sweep or cube (with --counters: csv, perf, "
            "likwid or gprof); else guessed from the file.",
        ),
    ] = None
    model: ModelOptions
    no_refine: Annotated[
        bool,
        Option(
            help="Exponents of the set only, none between them. With --counters: runs at a second frequency, or of "
            "communication alone, are left out.",
        ),
    ] = False
    output: OutputOptions
    workload: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write the models, also those of --counters, as a workload (.yaml) that can be simulated.",
        ),
    ] = None
    counters: Annotated[
        bool,
        Option(
            help="The files hold hardware counters of runs: a table, perf stat, likwid-perfctr -O or gprof. What a "
            "file does not say stands behind its name: FILE@P=4,size=1e6 (also clock=2GHz, class, rank, repetition, "
            "kernel; summed: counts of all processes together).",
        ),
    ] = False
    counter: CounterOptions
    machine: Annotated[
        str | None,
        Option(
            metavar="MACHINE",
            help="With --formula: constants of this machine are known: t_s, network.startup. With --counters: "
            "latencies of caches and memory are its own.",
        ),
    ] = None
    own: FormulaOptions

    @property
    def form(self) -> str:
        """What the answer is printed as. InputError for several forms at once."""
        given = ((JSON, self.output.as_json), (LATEX, self.model.latex), (PYTHON, self.model.python))
        chosen = [name for name, wanted in given if wanted]
        if len(chosen) > 1:
            raise InputError(f"{' and '.join(chosen)} exclude each other", allowed="one of them")
        return chosen[0] if chosen else TABLE

    def check_modes(self) -> None:
        """InputError for an option that says nothing with --counters or --formula, or nothing without it."""
        given = [
            parameter
            for parameter in self.context.command.params
            if (source := self.context.get_parameter_source(parameter.name or "")) and source.name == "COMMANDLINE"
        ]
        only_with, of_formulas = ({one.name for one in fields(kind)} for kind in (CounterOptions, FormulaOptions))
        without_counters = {one.name for one in fields(ModelOptions)} | of_formulas
        both = {"machine"}
        rules = [
            (self.counters, without_counters, "--counters", True),
            (not self.counters, only_with, "--counters", False),
            (bool(self.own.formula), {"latex", "python", "workload", "plot"}, "--formula", True),
            (not self.own.formula, of_formulas, "--formula", False),
            (not self.own.formula and not self.counters, both, "--counters or --formula", False),
        ]
        for parameter in given:
            for applies, names, mode, useless_with in rules:
                if applies and parameter.name in names:
                    word, other = ("with", "without") if useless_with else ("without", "with")
                    raise InputError(f"of no use {word} {mode}", Place(parameter.opts[0]), allowed=f"{other} {mode}")

    def check_outputs(self) -> None:
        """InputError for files that cannot be written, and for options of a workload that is not written."""
        options = {
            "--as": " ".join(self.model.demands),
            "--neighbours": self.model.neighbours,
            "--ranks": self.model.ranks,
        }
        for option, value in options.items():
            if value and not self.workload:
                raise InputError("there is no workload to write", Place(option), value=value, allowed="with --workload")
        if self.workload:
            check_folder("--workload", self.workload, (".yaml", ".yml"))
        if self.own.write_formulas:
            check_folder("--write-formulas", self.own.write_formulas, (".yaml", ".yml"))
        self.output.check()


@command(app, "fit", section=Section.MEASURE, no_args_is_help=True)
def run(options: FitOptions) -> None:
    """Fit models of the performance-model normal form to measurements: c0 + sums of c x^i log2(x)^j ...

    Each region and metric gets a model, its errors, and a prediction with an interval.

    With --formula: the coefficients of forms of your own, beside the best model of the normal form.

    With --counters: kernels out of hardware counters of three or more small runs, models of their counters, and the
    time of larger runs with where it goes.
    """
    _one_thread()
    options.check_modes()
    if options.counters:
        from simcodesign.cli.run.fits.counters import run_fit_counters

        run_fit_counters(options)
    elif options.own.formula:
        from simcodesign.cli.run.fits.formula import run_fit_formula

        run_fit_formula(options)
    else:
        from simcodesign.cli.run.fits.fit import run_fit

        run_fit(options)


def _one_thread() -> None:
    """Threads of linear algebra cost a third more processor time here than they save; processes do the work."""
    if "numpy" not in sys.modules:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
