"""Options that several commands share, in groups, and the checks of files that they name.

A command takes a group as a field of its own options (see ``options_as_signature``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated

import click
from click.core import ParameterSource

from simcodesign.cli.completion import names_of
from simcodesign.cli.dataclass_commands import Argument, Option
from simcodesign.cli.sections import Heading
from simcodesign.core.errors import InputError
from simcodesign.describe.effects import SHIPPED

#: The suffix of Aspen models, and how a command is given two of them.
ASPEN, ASPEN_FILES = ".aspen", ("APP.aspen", "MACHINE.aspen")

MachineName = Annotated[
    str,
    Argument(
        metavar="MACHINE",
        help="A bundled machine or the path of a file.",
        complete=names_of("machines"),
    ),
]
WorkloadName = Annotated[
    str,
    Argument(
        metavar="WORKLOAD",
        help="A bundled workload, a .yaml, .goal or .bin file, a trace, or FILE.py:NAME in Python (the file "
        "is executed).",
        complete=names_of("workloads"),
    ),
]
Settings = Annotated[
    list[str],
    Option(
        "--set",
        heading=Heading.MACHINE,
        metavar="NAME=VALUE",
        help="Set a parameter or P (n=1e6), a parameter of the machine file (machine.NAME=2), or anything in "
        "that file (nodes=64, network.startup='20 us', disk.spindles=4). A parameter wins over a machine key of the "
        "same name. Repeatable.",
    ),
]
Vary = Annotated[
    list[str],
    Option(
        "--vary",
        heading=Heading.POINTS,
        metavar="NAME=VALUES",
        help="Vary a parameter, P, a constant, seed, or anything in the machine file: P=16,64 (a list), "
        "P=1:2048:x2 (factors of 2), n=0:10:+0.5 (steps of 0.5), n=1e3:1e6:n=7:log (7 values), "
        "network.topology.kind=mesh,torus. Values without a unit are in SI units. Searches also accept a "
        "range, LOW:HIGH, with :whole, :log or :linear. Repeatable.",
    ),
]
Target = Annotated[
    list[str],
    Option(
        "--target",
        heading=Heading.FITTED,
        metavar="NAME=VALUE,...",
        help="Predict at this point: P=1024, or p=1024,n=1e6 (default: four times the largest value of each "
        "parameter that varies). Repeatable: fit and fit-formula predict one point, given in parts; fit-counters "
        "predicts each of several points.",
    ),
]
Format = Annotated[
    str | None,
    Option(
        heading=Heading.MEASURED,
        metavar="NAME",
        help="Read all files in the format NAME (default: recognize the format of each file).",
    ),
]
Value = Annotated[
    str | None,
    Option(
        heading=Heading.MEASURED,
        metavar="COLUMN",
        help="Read values from COLUMN of a table (default: value, seconds or time).",
    ),
]
Robust = Annotated[
    bool,
    Option(
        heading=Heading.MEASURED,
        help="Leave out outliers: measurements that the others do not explain (default: use them and list them).",
    ),
]
Ranks = Annotated[
    int | None, Option("-P", "--ranks", heading=Heading.MACHINE, metavar="N", help="Short for --set P=N.")
]
Preset = Annotated[
    str | None,
    Option(heading=Heading.MACHINE, metavar="NAME", help="Use this named set of parameter values of the workload."),
]
Evidence = Annotated[
    list[str],
    Option(
        "--evidence",
        heading=Heading.MEASURED,
        metavar="FILE",
        help="Compare predictions with the measurements in FILE, and determine nothing from them. In fit-counters only "
        "with the runs at the targets, if there are any, and FILE may also be a fitted file. Repeatable.",
    ),
]
Phases = Annotated[
    list[str],
    Option(
        "--phase", heading=Heading.MACHINE, metavar="NAME", help="Evaluate only this phase of the workload. Repeatable."
    ),
]
_EFFECTS = ", ".join(effect.name for effect in SHIPPED)
EFFECTS = Option(
    heading=Heading.EFFECTS,
    metavar="LIST",
    help=f"Effects that the simulation includes: all, none, or a list with commas of {_EFFECTS}.",
)
Effects = Annotated[str, EFFECTS]
ENGINE = Option(
    heading=Heading.EFFECTS,
    metavar="NAME",
    help="Engine of the simulation: auto, simpy, or compiled (in C). All give the same result.",
)
Engine = Annotated[str, ENGINE]
SEED = Option(heading=Heading.EFFECTS, metavar="N", help="Seed of all random numbers.")
Seed = Annotated[int, SEED]
SeedOfSamples = Annotated[int | None, SEED]
#: Probabilities of intervals where ``--level`` sets none.
SIMULATION_LEVEL, FIT_LEVEL = 0.95, 0.9
Level = Annotated[
    str | None,
    Option(
        heading=Heading.REPEATED,
        metavar="FRACTION",
        help="Confidence level of the intervals (default: 95%; for fits and calibrations: 90%).",
    ),
]
Count = Annotated[
    int | None,
    Option(
        "--replications",
        heading=Heading.REPEATED,
        metavar="N",
        min=1,
        help="Simulate N times (up to 1,000,000; serve: up to 5) with independent random numbers, and print means "
        "with confidence intervals. For a workload with arrivals, 1 means one long run that is divided into "
        "batches.",
    ),
]
Socket = Annotated[
    str | None, Option(heading=Heading.ASPEN, metavar="NAME", help="Aspen models: use this kind of socket.")
]
Kernel = Annotated[
    str | None, Option(heading=Heading.ASPEN, metavar="NAME", help="Aspen models: run this kernel (default: main).")
]
Why = Annotated[
    bool,
    Option(
        "--why",
        heading=Heading.SHOWN,
        help="Show what would help: by how much the time falls if one constant, link, cache, ... is 10 % better, "
        "or if a collective operation uses another algorithm (one simulation each). For several machines, or "
        "with --vary, show instead for each machine which part of the gap between forecast and simulation "
        "each effect explains, which part of a measured time is unexplained, and which parts make up the "
        "difference between two machines.",
    ),
]
SizeName = Annotated[
    str | None,
    Option(
        "--size",
        heading=Heading.MACHINE,
        metavar="NAME",
        help="Name of the parameter that is the problem size (default: the one that the workload specifies, "
        "otherwise n).",
    ),
]
Simulate = Annotated[
    bool,
    Option(
        "--simulate",
        heading=Heading.EFFECTS,
        help="Simulate in addition to the forecast (compare: only with --requirements).",
    ),
]
Formulas = Annotated[
    list[str],
    Option(
        "--formula",
        heading=Heading.MEASURED,
        metavar="FILE|EXPRESSION",
        help="Evaluate a formula of your own, and print its error against the simulation: a .yaml file with "
        "'formulas:', or an expression for the total time, for example 'log2(P)*(t_s + m*t_w)' or 'NAME = 2.5 "
        "us*P' (see docs/formulas.md). Repeatable.",
    ),
]
AsJson = Annotated[bool, Option("--json", heading=Heading.OUTPUT, help="Print JSON instead of tables.")]
Write = Annotated[
    list[str],
    Option(
        "--write",
        heading=Heading.OUTPUT,
        metavar="[WHAT:]FILE",
        help="Write a file. The word WHAT selects the content, and the suffix of FILE selects the format; both are "
        "listed below. WHAT: may be omitted if the file is named after it (table.csv), or if no other word "
        "has the suffix. Repeatable.",
    ),
]
Jobs = Annotated[
    int | None,
    Option(
        "-j",
        "--jobs",
        heading=Heading.WORKERS,
        metavar="N",
        min=1,
        help="Maximum number of worker processes (default: number of CPUs).",
    ),
]


@dataclass(frozen=True, kw_only=True)
class WorkloadOnMachine:
    """A workload on a machine, with what is set of both."""

    workload: WorkloadName
    machine: MachineName
    settings: Settings = field(default_factory=list)
    preset: Preset = None

    @property
    def all_settings(self) -> list[str]:
        """NAME=VALUE of --set and of what is short for it."""
        return self.settings

    @property
    def phases(self) -> list[str]:
        """Names of the phases that are left in; none for all of them."""
        return []


@dataclass(frozen=True, kw_only=True)
class WorkloadOnRanks(WorkloadOnMachine):
    """A workload on a machine; -P is short for the number of ranks."""

    ranks: Ranks = None

    @property
    def all_settings(self) -> list[str]:
        return self.settings if self.ranks is None else [f"P={self.ranks}", *self.settings]


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions(WorkloadOnRanks):
    """A workload on a machine, with all of its phases or some."""

    phase: Phases = field(default_factory=list)

    @property
    def phases(self) -> list[str]:
        return self.phase


@dataclass(frozen=True, kw_only=True)
class AspenOptions:
    """Options of Aspen models (``.aspen``), in commands that also take them instead of a workload and a machine."""

    socket: Socket = None
    kernel: Kernel = None
    aspen_compatible: Annotated[
        bool,
        Option(
            "--aspen-compatible",
            heading=Heading.ASPEN,
            help="Aspen models: add up the times of map and par, as the original program does.",
        ),
    ] = False

    def apply_to(self, *names: str, other_options: Sequence[str] = ()) -> bool:
        """Return whether the named files are Aspen models, by their suffix.

        Raises InputError if only some are, for an option of Aspen models with other files, and for an option that Aspen
        models do not have: neither one of these nor among the names of fields in ``other_options``.
        """
        models = [name for name in names if name.lower().endswith(ASPEN)]
        if models and (len(models) < len(names) or len(names) > len(ASPEN_FILES)):
            raise InputError(
                "Aspen models are one application and one machine", value=" ".join(names), allowed=" ".join(ASPEN_FILES)
            )
        context, own = click.get_current_context(), [one.name for one in fields(self)]
        for option in context.command.params:
            if isinstance(option, click.Option) and _is_given(context, option):
                if models and option.name not in (*own, *other_options):
                    raise InputError(f"{option.opts[-1]} does not apply to Aspen models", value=" ".join(names))
                if not models and option.name in own:
                    raise needs(option.opts[-1], f"Aspen models: {' '.join(ASPEN_FILES)}")
        return bool(models)


def _is_given(context: click.Context, option: click.Option) -> bool:
    """Return whether the command line has this option."""
    return context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """How one thing is simulated."""

    effects: Effects = "all"
    engine: Engine = "auto"


@dataclass(frozen=True, kw_only=True)
class SimulationOptions(EngineOptions):
    """How a workload is simulated."""

    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class ReplicationOptions:
    """How often a simulation is repeated with independent random numbers; None if nothing is given."""

    replications: Count = None
    precision: Annotated[
        str | None,
        Option(
            heading=Heading.REPEATED,
            metavar="FRACTION",
            help="Replicate until the half-width of the confidence interval is at most this fraction, for example "
            "1%, of the mean makespan (for arrivals: of the mean response time). With multiple machines, this "
            "applies to the difference between each machine and the first one. Exit status 1 if --at-most "
            "replications are not enough.",
        ),
    ] = None
    at_most: Annotated[
        int | None,
        Option(
            heading=Heading.REPEATED,
            metavar="N",
            help="Maximum number of replications for --precision (default: 1000).",
        ),
    ] = None
    level: Level = None
    jobs: Jobs = None

    @property
    def replicates(self) -> bool:
        """Whether there is more than one plain run."""
        return self.replications is not None or self.precision is not None

    def check_unused(self) -> None:
        """Raise InputError for an option that states how to replicate, without one that states how often.

        ``jobs``, the maximum number of processes, applies to one run too.
        """
        for one in fields(self):
            if one.name != "jobs" and getattr(self, one.name) is not None:
                raise needs(option_of(one.name), "--replications or --precision")


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """How an answer is printed, and the files written of it."""

    as_json: AsJson = False
    write: Write = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class VerdictOptions:
    """Measurements, and how far from them, or from the simulation, the total may be."""

    measured: Annotated[
        list[str],
        Option(
            heading=Heading.MEASURED,
            metavar="FILE",
            help="Measured times (.csv: parameters, phase, component, value, low, high, n, ...; or "
            "output of a benchmark; see docs/measured.md), in addition to the workload's own. Repeatable.",
        ),
    ] = field(default_factory=list)
    value: Value = None
    tolerance: Annotated[
        str | None,
        Option(
            heading=Heading.MEASURED,
            metavar="FRACTION",
            help="Fail (exit status 1) if the error of the total time exceeds FRACTION, e.g. 5%. With --measured, "
            "judge the simulation (the forecast, if nothing is simulated) against the measurement; with --formula, "
            "the formulas against the simulation; otherwise the forecast against the simulation.",
        ),
    ] = None
    tolerance_of: Annotated[
        list[str],
        Option(
            heading=Heading.MEASURED,
            metavar="NAME",
            help="With --tolerance: judge the forecast, the simulation (against the measurement) or the formulas "
            "instead. Repeatable.",
        ),
    ] = field(default_factory=list)


#: Option of predictions for more ranks than were measured.
AnchorFiles = Annotated[
    list[str],
    Option(
        heading=Heading.MEASURED,
        metavar="FILE",
        help="Anchor predictions at times measured on fewer ranks (a table as for --measured; see "
        "docs/anchored.md): in addition, print each prediction multiplied by measured / predicted at the largest "
        "number of ranks in FILE. Repeatable.",
    ),
]


def option_of(name: str) -> str:
    """``--at-most`` for the field ``at_most``."""
    return f"--{name.replace('_', '-')}"


def needs(option: str, other: str) -> InputError:
    """Return the error for an option that has no effect without another one."""
    return InputError(f"{option} needs {other}")


def usable_cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
