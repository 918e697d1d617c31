"""Commands about requirements of a process: ``codesign upgrade``, ``codesign strawman``, ``codesign fit-memory``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from simcodesign.cli.app import sc
from simcodesign.cli.feasibility import codesign
from simcodesign.cli.options import (
    MACHINE_KEYS,
    SET_FORMS,
    AsJson,
    Effects,
    Engine,
    MachineName,
    Plot,
    Preset,
    Ranks,
    Seed,
    Settings,
    WorkloadName,
    case_of,
    check_files,
)
from simcodesign.cli.requirements.simulated import simulated_straw_men, simulated_upgrade
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.report.common.terminal import print_all, write_json

#: Bases of logarithms of requirement models, and the parameters that are bases.
LOGS = {"2": 2.0, "natural": math.e, "10": 10.0}
BASES = ("n_base", "p_base")
#: The machine that is upgraded, the upgrades, and the systems, unless others are asked for.
BASE = "juqueen"
UPGRADES = ("racks", "sockets", "memory")
SYSTEMS = ("strawman-massively-parallel", "strawman-vector", "strawman-hybrid")
APPLICATIONS = ("kripke", "lulesh", "milc", "relearn", "icofoam")

Workloads = Annotated[
    list[str], typer.Argument(metavar="WORKLOAD...", help="Shipped workloads or paths, with a footprint each.")
]
Size = Annotated[str, typer.Option(metavar="NAME", help="The parameter that is the problem size of a process.")]
Log = Annotated[
    str | None,
    typer.Option(
        metavar="BASE",
        help="Base of the logarithms in requirement models: 2 (the default), natural or 10. Short for "
        "--set n_base=... --set p_base=...; collectives keep log2, which is how many messages they have.",
    ),
]
Simulated = Annotated[bool, typer.Option("--simulate", help="Simulate as well, on machines made smaller.")]


@codesign.command()
def upgrade(
    workloads: Workloads,
    machine: Annotated[str, typer.Option("--base", metavar="MACHINE", help="The machine that is upgraded.")] = BASE,
    upgrades: Annotated[
        list[str] | None,
        typer.Option(
            "--upgrade", metavar="NAME", help="racks, sockets, memory or a file. Repeatable; default: all three."
        ),
    ] = None,
    size: Size = "n",
    log: Log = None,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    simulated: Simulated = False,
    effects: Effects = "all",
    engine: Engine = "auto",
    seed: Seed = 0,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=FACTOR,...",
            help="With --simulate: a rate of the machine or a parameter times these, simulated again, e.g. "
            "network.bandwidth=0.5,2. Repeatable; default: every assumed number by the forecast.",
        ),
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """How the largest problem and the requirements of a process change with an upgrade, step by step.

    With --simulate also how the time does, on the machine made smaller: to -P ranks, with its nodes as they are.
    """
    check_files(plot)
    module, report = (
        import_module("simcodesign.studies.requirements.upgrade"),
        import_module("simcodesign.report.requirements.tables"),
    )
    loaded, given, changes = _asked(workloads, settings, log, None if simulated else ranks)
    described = sc.load_machine(machine, changes)
    load_upgrade = import_module("simcodesign.studies.requirements.upgrade_file").load_upgrade
    several = [load_upgrade(name) for name in upgrades or UPGRADES]
    if simulated:
        options = {"preset": preset, "size": size, "effects": effects, "engine": engine, "seed": seed}
        simulated_upgrade(loaded, described, several, given, options, ranks, vary, as_json, plot)
        return
    _only_simulated(vary, effects)
    studies = module.upgrade_table(loaded, described, several, given, preset=preset, size=size)
    if as_json:
        write_json({"studies": [report.upgrade_dict(study) for study in studies]})
    else:
        print_all(report.upgrade_tables(studies))
    if plot:
        import_module("simcodesign.report.requirements.plot").upgrade_plot(studies, plot)


@codesign.command()
def strawman(
    systems: Annotated[
        list[str] | None, typer.Argument(metavar="[SYSTEM]...", help="Machines; by default those of the literature.")
    ] = None,
    workloads: Annotated[
        list[str] | None,
        typer.Option("--workload", metavar="NAME", help="Repeatable; by default the shipped requirement workloads."),
    ] = None,
    benchmark: Annotated[
        float | None,
        typer.Option(metavar="N", help="Overall problem to be timed; by default the largest that all systems hold."),
    ] = None,
    size: Size = "n",
    log: Log = None,
    settings: Settings = None,
    preset: Preset = None,
    simulated: Simulated = False,
    ranks: Annotated[
        int | None, typer.Option("-P", "--ranks", metavar="N", help="With --simulate: of the largest system, at most.")
    ] = None,
    effects: Effects = "all",
    engine: Engine = "auto",
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """The largest problem that each system holds, and the least time of each for the same problem.

    With --simulate also the simulated times, on systems whose processors are divided by one factor.
    """
    check_files(plot)
    module, report = (
        import_module("simcodesign.studies.requirements.strawman"),
        import_module("simcodesign.report.requirements.tables"),
    )
    loaded, given, changes = _asked(workloads or APPLICATIONS, settings, log, None)
    machines = [sc.load_machine(name, changes) for name in systems or SYSTEMS]
    if simulated:
        if benchmark is not None or plot is not None:
            what = "simulated systems solve the largest problem that all of them hold, and have no plot"
            raise InputError(what, Place("--simulate"), allowed="without --benchmark and --plot")
        options = {"preset": preset, "size": size, "effects": effects, "engine": engine, "seed": seed, "ranks": ranks}
        simulated_straw_men(loaded, machines, given, options, as_json)
        return
    _only_simulated(None if ranks is None else [str(ranks)], effects, "-P")
    studies = module.straw_man_table(loaded, machines, given, preset=preset, size=size, benchmark=benchmark)
    if as_json:
        write_json({"studies": [report.straw_man_dict(study) for study in studies]})
    else:
        print_all(report.straw_man_tables(studies))
    if plot:
        import_module("simcodesign.report.requirements.plot").straw_man_plot(studies, plot)


@codesign.command(name="fit-memory")
def fit_memory(
    workload: WorkloadName,
    machine: MachineName,
    size: Size = "n",
    log: Log = None,
    settings: Settings = None,
    ranks: Ranks = None,
    preset: Preset = None,
    as_json: AsJson = False,
) -> None:
    """The largest problem of a process that fits in its memory, and how much is left."""
    module, report = (
        import_module("simcodesign.studies.requirements.memory_capacity"),
        import_module("simcodesign.report.requirements.tables"),
    )
    case = case_of(
        workload, machine, [*(settings or []), *_bases(log, [sc.load_workload(workload)])], ranks, preset, None
    )
    share = import_module("simcodesign.studies.requirements.upgrade").share_of(case.machine, case.parameters)
    given = {name: value for name, value in case.parameters.items() if name != "P"}
    fit = module.fit_memory(case.workload, *share, given, preset=preset, size=size)
    if as_json:
        write_json({"workload": case.workload.name, "machine": case.machine.name, **report.fit_dict(fit)})
    else:
        print_all(report.fit_tables(case.workload.name, case.machine.name, fit))


def _only_simulated(values: Sequence[str] | None, effects: str, option: str = "--vary") -> None:
    """InputError for options that only a simulation has."""
    if values or effects != "all":
        given = option if values else "--effects"
        raise InputError(f"only a simulation has {given}", Place(given), allowed="with --simulate")


def _asked(
    names: Sequence[str], settings: Sequence[str] | None, log: str | None, ranks: int | None
) -> tuple[list[Any], dict[str, float], dict[str, str]]:
    """The workloads, parameters that some of them have, and changes of the machine."""
    loaded = [sc.load_workload(name) for name in names]
    given = {} if ranks is None else {"P": str(ranks)}
    for item in [*(settings or []), *_bases(log, loaded)]:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value or name in given:
            what = "set twice" if name in given else "not a setting"
            raise InputError(what, Place("--set"), value=item, allowed=SET_FORMS)
        given[name] = value
    known = {"P", *(name for one in loaded for name in one.parameters)}
    changes = {name: text for name, text in given.items() if name not in known}
    for name in changes:
        if "." not in name and name not in MACHINE_KEYS:
            what = "no workload has a parameter and a machine no key of this name"
            raise InputError(what, Place("--set"), value=name, allowed=nearest(name, {*known, *MACHINE_KEYS}))
    return loaded, {name: _number(name, text) for name, text in given.items() if name in known}, changes


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        what = f"parameter {name!r} must be a number"
        raise InputError(what, Place("--set"), value=value, allowed="e.g. 16, 0.5 or 1e6") from None


def _bases(log: str | None, workloads: Sequence[Any]) -> list[str]:
    """Settings of the bases that any of the workloads has."""
    if log is None:
        return []
    if log not in LOGS:
        raise InputError("base of logarithms", Place("--log"), value=log, allowed=", ".join(LOGS))
    found = [name for name in BASES if any(name in one.parameters for one in workloads)]
    if not found:
        what = "no workload has logarithms whose base can be set"
        raise InputError(what, Place("--log"), value=log, allowed=f"workloads with the parameters {', '.join(BASES)}")
    return [f"{name}={LOGS[log]!r}" for name in found]
