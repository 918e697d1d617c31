"""Arguments and options that several commands share, and what they say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from simcodesign.cli.app import sc
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.describe.effects import SHIPPED
from simcodesign.report.common.terminal import complain

#: Top-level keys of a machine file: with --set they change the machine.
MACHINE_KEYS = (
    "simcodesign",
    "name",
    "about",
    "source",
    "nodes",
    "processors_per_node",
    "processor",
    "network",
    "disk",
    "caches",
    "memory",
    "mapping",
    "noise",
    "parameters",
    "properties",
    "resources",
    "conflicts",
    "components",
)
TIMELINE_SUFFIXES = (".json", ".gz")
PLOT_SUFFIXES = (".png", ".svg", ".pdf")
SET_FORMS = "name=value, e.g. --set n=1e6, --set P=16, --set nodes=64, --set network.startup='20 us'"

WorkloadName = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="A shipped workload or the path of a .yaml or .goal file.")
]
MachineName = Annotated[str, typer.Argument(metavar="MACHINE", help="A shipped machine or the path of a file.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a workload parameter or P (n=1e6), a parameter of the machine file (machine.NAME=2), or anything in "
        "that file (nodes=64, network.startup='20 us', disk.spindles=4). A parameter wins over a machine key of the "
        "same name. Repeatable.",
    ),
]
Ranks = Annotated[int | None, typer.Option("-P", "--ranks", metavar="N", help="Short for --set P=N.")]
Preset = Annotated[str | None, typer.Option(metavar="NAME", help="A named set of parameter values of the workload.")]
Phases = Annotated[list[str] | None, typer.Option("--phase", metavar="NAME", help="Only this phase. Repeatable.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a plot (.png, .svg or .pdf).")]
Timeline = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a trace that ui.perfetto.dev shows (JSON).")]
Counters = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write hardware counters of every phase and rank (.csv), for models of them."),
]
Power = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a plot of power over time (.png, .svg or .pdf).")
]
EFFECT_LIST = ", ".join(effect.name for effect in SHIPPED)
Effects = Annotated[str, typer.Option(metavar="LIST", help=f"all, none, or some of {EFFECT_LIST}.")]
Engine = Annotated[
    str, typer.Option(metavar="NAME", help="auto, simpy, or compiled (needs Numba). The result is the same.")
]
Iterations = Annotated[
    str,
    typer.Option(
        metavar="WHICH",
        help="all, or steady: simulate loops until their iterations take the same time, extrapolate the rest "
        "(steady:1% allows them to differ by that much).",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of all that is drawn.")]
Replications = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Simulate N times with independent random numbers: means with intervals. 1: a long run of arrivals, in "
        "batches.",
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Replicate until the half-width of the makespan (of arrivals: the response time) is this share of its "
        "mean, e.g. 1%; exit with 1 when that takes more than --at-most. With --against: of the difference, as a share "
        "of the mean on MACHINE.",
    ),
]
PrecisionOf = Annotated[
    str | None, typer.Option(metavar="NAME", help="What --precision is of: energy_j, components_s.disk, ...")
]
AtMost = Annotated[int | None, typer.Option(metavar="N", help="Most replications for --precision; by default 1000.")]
Confidence = Annotated[str | None, typer.Option(metavar="SHARE", help="Of the intervals; by default 95%.")]
WarmUp = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Leave the first N requests of every run of arrivals out of response times; by default as many as MSER-5 "
        "finds (mser5).",
    ),
]
AgainstMachine = Annotated[
    str | None,
    typer.Option(metavar="MACHINE", help="Another machine under the same random numbers: what is the difference?"),
]
Jobs = Annotated[
    int | None, typer.Option("-j", "--jobs", metavar="N", min=1, help="The most processes; by default one a CPU.")
]


@dataclass(frozen=True)
class CaseInput:
    """What is forecast or simulated."""

    workload: Any
    machine: Any
    parameters: Mapping[str, float]
    preset: str | None
    phases: list[str] | None

    def call(self, verb: Any, **options: Any) -> Any:
        """Forecast, simulate or compare this."""
        return verb(
            self.workload, self.machine, self.parameters, preset=self.preset, phases=self.phases or None, **options
        )


def case_of(
    workload: str,
    machine: str,
    settings: list[str] | None,
    ranks: int | None,
    preset: str | None,
    phases: list[str] | None,
) -> CaseInput:
    loaded = sc.load_workload(workload)
    given = given_settings(settings or [], ranks)
    parameters = {name: value for name, value in given.items() if name == "P" or name in loaded.parameters}
    own = {name: value for name, value in given.items() if name.startswith("machine.") and name not in parameters}
    changes = {name: value for name, value in given.items() if name not in parameters and name not in own}
    for name in changes:
        if "." not in name and name not in MACHINE_KEYS:
            what = f"{loaded.name} has no parameter and a machine no key of this name"
            raise _bad_setting(what, name, nearest(name, {*loaded.parameters, "P", *MACHINE_KEYS}))
    described = sc.load_machine(machine, changes)
    numbers = {name: _number(name, value, loaded.parameters.get(name)) for name, value in parameters.items()}
    numbers |= {
        name: described.parameter(name, Place("--set")).parsed(text, Place("--set", None, name))
        for name, text in own.items()
    }
    for name in own:
        described.parameter(name).check(numbers[name], Place("--set", None, name))
    case = CaseInput(loaded, described, numbers, preset, phases)
    law = case.machine.network.distance
    if any(name.startswith("network.topology") for name in changes) and law not in (
        "mean",
        changes.get("network.distance"),
    ):
        complain(f"note: the forecast's law for hops stays network.distance = {law}")
    replaced = import_module("simcodesign.describe.design_point").replaced_constants(loaded, changes)
    for path, places in replaced.items():
        complain(f"note: {path} has no effect in phases of {loaded.name} that replace it: {', '.join(places)}")
    return case


def given_settings(settings: Iterable[str], ranks: int | None) -> dict[str, str]:
    """Value by name, as text."""
    given = {} if ranks is None else {"P": str(ranks)}
    for item in settings:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise _bad_setting("not a setting", item, SET_FORMS)
        if name in given:
            raise _bad_setting("set twice", name, "one value per name")
        given[name] = value
    return given


def _number(name: str, value: str, parameter: Any = None) -> float:
    """The number, or that of a choice or with a unit that the parameter has."""
    if parameter is not None and parameter.is_named:
        found: float = parameter.parsed(value, Place("--set", None, name))
        return found
    try:
        return float(value)
    except ValueError:
        raise _bad_setting(f"parameter {name!r} must be a number", value, "e.g. 16, 0.5 or 1e6") from None


def _bad_setting(what: str, value: str, allowed: str) -> InputError:
    return InputError(what, Place("--set"), value=value, allowed=allowed)


def check_files(plot: Path | None, timeline: Path | None = None, power: Path | None = None) -> None:
    """InputError for files that could not be written, before any work is done."""
    for option, file in (("--plot", plot), ("--power", power)):
        if file and file.suffix.lower() not in PLOT_SUFFIXES:
            allowed = ", ".join(PLOT_SUFFIXES)
            raise InputError("unknown format of a plot", Place(option), value=str(file), allowed=allowed)
    if timeline and not timeline.name.lower().endswith(TIMELINE_SUFFIXES):
        raise InputError(
            "format of a timeline", Place("--timeline"), value=str(timeline), allowed=", ".join(TIMELINE_SUFFIXES)
        )
    if plot or power:
        import_module(
            "simcodesign.report.common.plot_style"
        ).load_matplotlib()  # missing Matplotlib is said before any work is done
    for option, file in (("--plot", plot), ("--timeline", timeline), ("--power", power)):
        if file:
            check_folder(option, file)


def check_folder(option: str, file: Path, suffixes: tuple[str, ...] = ()) -> None:
    """InputError for a file whose folder does not exist, or whose name does not end as it should."""
    if suffixes and file.suffix.lower() not in suffixes:
        raise InputError("name of a file", Place(option), value=str(file), allowed=f"names in {', '.join(suffixes)}")
    if file.is_dir() or not file.parent.is_dir():
        raise InputError("cannot be written", Place(option), value=str(file), allowed="a file in an existing folder")
