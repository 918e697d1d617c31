"""The command line. Exit status: 0 fine, 1 out of tolerance, 2 bad input, 130 interrupted, 141 nobody reads on.

Modules that take long to import are loaded by the command that needs them: the public verbs through the package's own
lazy names, the report modules through ``_report``.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simcodesign.errors import InputError, Place, SimcodesignError, nearest
from simcodesign.report.terminal import complain, print_all, write, write_json

#: The package itself: its public names import their modules when they are used.
sc: ModuleType = import_module("simcodesign")

#: Top-level keys of a machine file: with --set they change the machine.
MACHINE_KEYS = ("simcodesign", "name", "about", "source", "nodes", "processors_per_node", "processor", "network",
                "disk", "mapping", "noise")  # fmt: skip
TIMELINE_SUFFIXES = (".json", ".gz")
PLOT_SUFFIXES = (".png", ".svg", ".pdf")
SET_FORMS = "name=value, e.g. --set n=1e6, --set P=16, --set nodes=64, --set network.startup='20 us'"
RANKS_WITH_BOUNDS = 1024
BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


class _Commands(TyperGroup):
    """The commands, with every error that is not Typer's own turned into a message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SimcodesignError as error:
            complain(f"error: {error}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Else the interpreter complains when it flushes standard output at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            complain(f"error: {where}{error.strerror or error}")
            raise typer.Exit(BAD_INPUT) from None


app = typer.Typer(
    name="simcodesign",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> int:
    """Run the command line; the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    warnings.showwarning = _note
    try:
        app(prog_name="simcodesign")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _note(message: Warning | str, *_: object, **__: object) -> None:
    """A warning of the package, without the line of code that Python would show."""
    complain(f"note: {message}")


# --- Arguments and options that several commands share -------------------------------------------------------

WorkloadName = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="A shipped workload or the path of a .yaml or .goal file.")
]
MachineName = Annotated[str, typer.Argument(metavar="MACHINE", help="A shipped machine or the path of a file.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a workload parameter or P (n=1e6), or anything in the machine file (nodes=64, "
        "network.startup='20 us', disk.spindles=4). A parameter wins over a machine key of the same name. Repeatable.",
    ),
]
Ranks = Annotated[int | None, typer.Option("-P", "--ranks", metavar="N", help="Short for --set P=N.")]
Preset = Annotated[str | None, typer.Option(metavar="NAME", help="A named set of parameter values of the workload.")]
Phases = Annotated[list[str] | None, typer.Option("--phase", metavar="NAME", help="Only this phase. Repeatable.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a plot (.png, .svg or .pdf).")]
Timeline = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a trace that ui.perfetto.dev shows (JSON).")]
Effects = Annotated[
    str, typer.Option(metavar="LIST", help="all, none, or some of hops,links,endpoints,disks,imbalance,noise.")
]
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
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of imbalance and noise.")]


@dataclass(frozen=True)
class _Case:
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


def _case(
    workload: str,
    machine: str,
    settings: list[str] | None,
    ranks: int | None,
    preset: str | None,
    phases: list[str] | None,
) -> _Case:
    loaded = sc.load_workload(workload)
    given = _given(settings or [], ranks)
    parameters = {name: value for name, value in given.items() if name == "P" or name in loaded.parameters}
    changes = {name: value for name, value in given.items() if name not in parameters}
    for name in changes:
        if "." not in name and name not in MACHINE_KEYS:
            what = f"{loaded.name} has no parameter and a machine no key of this name"
            raise _bad_setting(what, name, nearest(name, {*loaded.parameters, "P", *MACHINE_KEYS}))
    numbers = {name: _number(name, value) for name, value in parameters.items()}
    case = _Case(loaded, sc.load_machine(machine, changes), numbers, preset, phases)
    law = case.machine.network.distance
    if any(name.startswith("network.topology") for name in changes) and law not in (
        "mean",
        changes.get("network.distance"),
    ):
        complain(f"note: the forecast's law for hops stays network.distance = {law}")
    replaced = import_module("simcodesign.describe.setting").replaced_constants(loaded, changes)
    for path, places in replaced.items():
        complain(f"note: {path} has no effect in phases of {loaded.name} that replace it: {', '.join(places)}")
    return case


def _given(settings: Iterable[str], ranks: int | None) -> dict[str, str]:
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


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise _bad_setting(f"parameter {name!r} must be a number", value, "e.g. 16, 0.5 or 1e6") from None


def _bad_setting(what: str, value: str, allowed: str) -> InputError:
    return InputError(what, Place("--set"), value=value, allowed=allowed)


# --- Commands ------------------------------------------------------------------------------------------------


def _print_version(wanted: bool) -> None:
    if wanted:
        write(f"{sc.__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Analytic performance models of parallel machines, held against a discrete-event simulation."""


@app.command("list")
def list_() -> None:
    """List the machines and workloads that are shipped."""
    machines = [(name, sc.load_machine(name)) for name in sc.available("topologies")]
    workloads = [(name, sc.load_workload(name)) for name in sc.available("workloads")]
    print_all(_report("sheets").overview(machines, workloads))


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A machine or workload: a shipped name or a path.")],
    machine: Annotated[bool, typer.Option("--machine", help="NAME is a machine.")] = False,
    workload: Annotated[bool, typer.Option("--workload", help="NAME is a workload.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print the equations of a workload in LaTeX.")] = False,
) -> None:
    """Show what a machine or workload file says."""
    if machine and workload:
        raise InputError("--machine and --workload exclude each other", allowed="one of them")
    sheets = _report("sheets")
    if machine or (not workload and _kind(name) == "machine"):
        if latex:
            raise InputError("--latex: a machine has no equations", value=name, allowed="the name of a workload")
        print_all(sheets.machine_sheet(sc.load_machine(name)))
        return
    described = sc.load_workload(name)
    if latex:
        write(sheets.latex(described))
    else:
        print_all(sheets.workload_sheet(described))


def _kind(name: str) -> str:
    """Whether a name or file is a machine or a workload."""
    if name.endswith(".goal"):
        return "workload"
    if "/" in name or name.endswith((".yaml", ".yml")):
        keys = import_module("simcodesign.describe.yaml_tree").read_yaml(Path(name)).mapping()
        return "workload" if {"program", "parameters", "equations"} & keys.keys() else "machine"
    machines, workloads = sc.available("topologies"), sc.available("workloads")
    if name in machines and name in workloads:
        what = "there is a machine and a workload of this name"
        raise InputError(what, value=name, allowed="say which: --machine or --workload")
    if name not in machines and name not in workloads:
        allowed = f"{nearest(name, [*machines, *workloads])}, or the path of a .yaml file"
        raise InputError("no such machine or workload", value=name, allowed=allowed)
    return "machine" if name in machines else "workload"


@app.command()
def forecast(
    workload: WorkloadName,
    machine: MachineName,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    bounds: Annotated[
        bool | None,
        typer.Option(help=f"Bounds of the simulated time; by default up to {RANKS_WITH_BOUNDS} ranks."),
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Forecast a workload on a machine in closed form."""
    _check_files(plot)
    case = _case(workload, machine, settings, ranks, preset, phase)
    result = case.call(sc.forecast)
    if bounds or (bounds is None and result.values["P"] <= RANKS_WITH_BOUNDS):
        result = case.call(sc.forecast, bounds=True)
    if as_json:
        write_json(result.to_dict())
    else:
        print_all(_report("tables").forecast_tables(result))
    if plot:
        _report("plots").result_bars(result, plot)


@app.command()
def simulate(
    workload: WorkloadName,
    machine: MachineName,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    effects: Effects = "all",
    seed: Seed = 0,
    engine: Engine = "auto",
    iterations: Iterations = "all",
    stations: Annotated[int, typer.Option(metavar="N", min=0, help="Show the N most used stations.")] = 5,
    as_json: AsJson = False,
    plot: Plot = None,
    timeline: Timeline = None,
) -> None:
    """Simulate a workload on a machine, event by event."""
    _check_files(plot, timeline)
    case = _case(workload, machine, settings, ranks, preset, phase)
    with _report("progress").SimulationProgress() as progress:
        result = case.call(
            sc.simulate, effects=effects, seed=seed, engine=engine, iterations=iterations,
            timeline=bool(plot or timeline), progress=progress.update,
        )  # fmt: skip
    if as_json:
        write_json(result.to_dict())
    else:
        print_all(_report("tables").simulation_tables(result, stations))
    if plot:
        _report("plots").activity_profile(result, plot)
    if timeline:
        _report("timeline").write_chrome_trace(result, timeline)


@app.command()
def compare(
    workload: WorkloadName,
    machine: MachineName,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    effects: Effects = "all",
    seed: Seed = 0,
    engine: Engine = "auto",
    iterations: Iterations = "all",
    tolerance: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Exit with 1 when the error of the total is larger, e.g. 5%.")
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
    timeline: Timeline = None,
) -> None:
    """Hold the forecast against the simulation and say which effect explains how much of the gap."""
    _check_files(plot, timeline)
    limit = math.inf if tolerance is None else _share(tolerance)
    case = _case(workload, machine, settings, ranks, preset, phase)
    with _report("progress").SimulationProgress() as progress:
        comparison = case.call(
            sc.compare, effects=effects, seed=seed, engine=engine, iterations=iterations, timeline=bool(timeline),
            progress=progress.update,
        )  # fmt: skip
    if as_json:
        write_json(comparison.to_dict())
    else:
        print_all(_report("tables").comparison_tables(comparison))
    if plot:
        _report("plots").comparison_bars(comparison, plot)
    if timeline:
        _report("timeline").write_chrome_trace(comparison.simulation, timeline)
    # A total of nothing but forecast has no relative error (nan): that is out of every tolerance.
    if tolerance is not None and not abs(comparison.error) <= limit:
        complain(f"out of tolerance: error of the forecast {comparison.error:+.3%}, allowed {limit:.4%}")
        raise typer.Exit(1)


def _share(text: str) -> float:
    value: float = import_module("simcodesign.units").parse_quantity(text, "count", Place("--tolerance"))
    if value < 0 or (value > 1 and "%" not in text):
        raise InputError("a share", Place("--tolerance"), value=text, allowed="0 or above, e.g. 5% or 0.05")
    return value


@app.command()
def export(
    workload: WorkloadName,
    machine: MachineName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, e.g. run.goal.")],
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    phase: Phases = None,
    effects: Effects = "none",
    seed: Seed = 0,
) -> None:
    """Write what is simulated as a GOAL schedule, for LogGOPSim, ATLAHS or simulate.

    Computations and disk accesses become calcs of their time, with the effects imbalance and noise; messages keep their
    sizes, for the other simulator to price.
    """
    case = _case(workload, machine, settings, ranks, preset, phase)
    schedule = case.call(sc.schedule_of, effects=effects, seed=seed)
    left_out = [
        name for name, share in (("imbalance", case.workload.imbalance), ("noise", case.machine.noise))
        if share and name not in effects and effects != "all"
    ]  # fmt: skip
    if left_out:
        complain(f"note: written without {' and '.join(left_out)} (--effects {','.join(left_out)} for with)")
    described = import_module("simcodesign.describe.setting")
    if places := described.phases_with_constants(case.workload, "network."):
        complain(f"note: a schedule has no network of its own for phases that have one: {', '.join(places)}")
    import_module("simcodesign.describe.goal").write_goal(schedule, file)


@app.command()
def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where to write plots.")] = Path("demo-output"),
    quick: Annotated[bool, typer.Option("--quick", help="Only the test data set, and no maps.")] = False,
) -> None:
    """The main job: SPECseis96 on the Power Challenge, measured, forecast and simulated, with plots."""
    raise typer.Exit(_report("demo").main(output, quick))


# --- Output --------------------------------------------------------------------------------------------------


def _report(module: str) -> ModuleType:
    """A module of ``simcodesign.report``, imported when a command needs it."""
    return import_module(f"simcodesign.report.{module}")


def _check_files(plot: Path | None, timeline: Path | None = None) -> None:
    """InputError for files that could not be written, before any work is done."""
    if plot and plot.suffix.lower() not in PLOT_SUFFIXES:
        raise InputError("unknown format of a plot", Place("--plot"), value=str(plot), allowed=", ".join(PLOT_SUFFIXES))
    if timeline and not timeline.name.lower().endswith(TIMELINE_SUFFIXES):
        raise InputError(
            "format of a timeline", Place("--timeline"), value=str(timeline), allowed=", ".join(TIMELINE_SUFFIXES)
        )
    if plot:
        _report("canvas").load_matplotlib()  # missing Matplotlib is said before any work is done
    for option, file in (("--plot", plot), ("--timeline", timeline)):
        if file and (file.is_dir() or not file.parent.is_dir()):
            allowed = "a file in an existing folder"
            raise InputError("cannot be written", Place(option), value=str(file), allowed=allowed)
