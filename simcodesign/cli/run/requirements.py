"""Requirements of processes that fill their memory: of several machines, and of upgrades of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypedDict

from simcodesign.cli.options.compare_options import CompareOptions
from simcodesign.cli.options.shared import needs
from simcodesign.cli.run.scenario import SET_FORMS, load_noted_machine
from simcodesign.cli.run.several import named
from simcodesign.cli.written_files import RequestedFiles
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.describe.machine import Machine
from simcodesign.describe.variants import factor_of, split_variant
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.describe.yaml.machine import MACHINE_KEYS
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.requirements.plot import straw_man_plot, upgrade_plot
from simcodesign.report.requirements.simulated_plot import ratio_against_time
from simcodesign.report.requirements.simulated_tables import (
    simulated_straw_man_tables,
    simulated_upgrade_tables,
)
from simcodesign.report.requirements.tables import (
    straw_man_tables,
    upgrade_tables,
)
from simcodesign.studies.requirements.memory_capacity import SIZE
from simcodesign.studies.requirements.sensitivity import check_varied, sensitivity
from simcodesign.studies.requirements.simulated_strawman import simulated_straw_men
from simcodesign.studies.requirements.simulated_upgrade import simulated_upgrades
from simcodesign.studies.requirements.strawman import straw_man_table
from simcodesign.studies.requirements.upgrade import upgrade_table
from simcodesign.studies.requirements.upgrade_factors import Upgrade, upgrade_of
from simcodesign.studies.requirements.upgrade_ranking import rankings

VARY_FORMS = "factors, e.g. --vary network.bandwidth=x0.5,x2"


class _Simulation(TypedDict):
    """How a smaller machine is simulated."""

    preset: str | None
    size: str
    effects: str
    engine: str
    seed: int


def run_requirements(options: CompareOptions, files: RequestedFiles) -> None:
    """Print the largest problems and least times of machines, and with --simulate the simulated times."""
    _refuse(options)
    files.refuse(["trace"], "requirements have no trace", "without --requirements")
    names, machine_names = named(options)
    workloads, given, changes = _load(names, options.scenario.settings)
    base, *others = machine_names
    upgrades = _upgrades(base, others)
    if upgrades:
        _run_upgrades(workloads, load_noted_machine(base, changes), upgrades, given, options, files)
        return
    machines = [load_noted_machine(name, changes) for name in machine_names]
    if options.requirements.simulate:
        _simulate_straw_men(workloads, machines, given, options, files)
        return
    _check_unsimulated(options, options.scenario.ranks)
    studies = straw_man_table(
        workloads,
        machines,
        given,
        preset=options.scenario.preset,
        size=_size(workloads, options),
        benchmark=options.requirements.benchmark,
    )
    files.show({"studies": studies}, lambda: straw_man_tables(studies), options.output.as_json)
    for path in files.paths("plot"):
        straw_man_plot(studies, path)


def _run_upgrades(
    workloads: Sequence[Workload],
    machine: Machine,
    upgrades: Sequence[Upgrade],
    given: dict[str, float],
    options: CompareOptions,
    files: RequestedFiles,
) -> None:
    """Print requirements before and after upgrades, and with --simulate the times."""
    ranks = options.scenario.ranks
    if options.requirements.simulate:
        _simulate_upgrades(workloads, machine, upgrades, given, options, files)
        return
    _check_unsimulated(options)
    given = given if ranks is None else {"P": float(ranks), **given}
    studies = upgrade_table(
        workloads, machine, upgrades, given, preset=options.scenario.preset, size=_size(workloads, options)
    )
    files.show({"studies": studies}, lambda: upgrade_tables(studies), options.output.as_json)
    for path in files.paths("plot"):
        upgrade_plot(studies, path)


def _simulate_upgrades(
    workloads: Sequence[Workload],
    machine: Machine,
    upgrades: Sequence[Upgrade],
    given: dict[str, float],
    options: CompareOptions,
    files: RequestedFiles,
) -> None:
    """Simulate every workload with every upgrade, and again with other numbers if they are varied."""
    factors = parsed_factors(options.vary)
    check_varied(factors, workloads, _size(workloads, options))
    simulation = _simulation(workloads, options)
    with ProgressBar("systems", counted=True) as on_progress:
        cells = simulated_upgrades(
            workloads,
            machine,
            upgrades,
            given,
            **simulation,
            ranks=options.scenario.ranks,
            on_progress=on_progress,
            on_simulation_progress=on_progress,
        )
        reading = "simulation" if factors else "forecast"
        varied = sensitivity(cells, factors, given, **simulation, reading=reading, on_progress=on_progress)
    answer = {"cells": cells, "rankings": rankings(cells), "varied": {"reading": reading, "numbers": varied}}
    tables = partial(simulated_upgrade_tables, cells, varied, simulated=bool(factors))
    files.show(answer, tables, options.output.as_json)
    for path in files.paths("plot"):
        ratio_against_time(cells, path)


def _upgrades(base: str, others: Sequence[str]) -> list[Upgrade]:
    """Return the other machines as upgrades of the first; none if they are machines of their own."""
    variants = [split_variant(name) for name in others]
    if not variants or any(name != base or not all(map(factor_of, changes.values())) for name, changes in variants):
        return []
    return [upgrade_of(changes) for _, changes in variants]


def _refuse(options: CompareOptions) -> None:
    """InputError for options of times, which requirements have no use for."""
    replication = options.replication
    given = {
        "--phase": options.scenario.phase,
        "--formula": options.formula,
        "--why": options.why,
        "--measured": options.verdict.measured,
        "--tolerance": options.verdict.tolerance,
        "--replications": replication.replications,
        "--precision": replication.precision,
    }
    for option, value in given.items():
        if value:
            raise InputError(f"{option} and --requirements exclude each other", allowed="one of the two")


def _check_unsimulated(options: CompareOptions, ranks: int | None = None) -> None:
    """InputError for options that only a simulation has, and for ``ranks`` if they are given."""
    effects = options.simulation.effects != "all"
    for option, is_given in (("-P", ranks is not None), ("--vary", options.vary), ("--effects", effects)):
        if is_given:
            raise needs(option, "--simulate")


def _simulate_straw_men(
    workloads: Sequence[Workload],
    machines: Sequence[Machine],
    given: dict[str, float],
    options: CompareOptions,
    files: RequestedFiles,
) -> None:
    """Simulate every workload on all systems made smaller."""
    if options.requirements.benchmark is not None:
        what = "simulated systems solve the largest problem that all of them hold"
        raise InputError(what, Place("--simulate"), allowed="without --benchmark")
    if options.vary:
        what = "--vary needs upgrades: a machine and variants of it"
        raise InputError(what, value=options.vary[0], allowed="MACHINE 'MACHINE with KEY=xFACTOR'")
    files.refuse(["plot"], "simulated systems have no plot", "without --simulate")
    with ProgressBar("systems", counted=True) as on_progress:
        studies = simulated_straw_men(
            workloads,
            machines,
            given,
            **_simulation(workloads, options),
            ranks=options.scenario.ranks,
            on_progress=on_progress,
            on_simulation_progress=on_progress,
        )
    files.show({"studies": studies}, lambda: simulated_straw_man_tables(studies), options.output.as_json)


def _size(workloads: Sequence[Workload], options: CompareOptions) -> str:
    """Return the parameter that is the problem size of a process: as given, or as the workloads state together."""
    stated = {one.size_parameter for one in workloads}
    return options.requirements.size or (stated.pop() if len(stated) == 1 else SIZE)


def _simulation(workloads: Sequence[Workload], options: CompareOptions) -> _Simulation:
    simulation = options.simulation
    return {
        "preset": options.scenario.preset,
        "size": _size(workloads, options),
        "effects": simulation.effects,
        "engine": simulation.engine,
        "seed": simulation.seed,
    }


def _load(names: Sequence[str], settings: Sequence[str]) -> tuple[list[Workload], dict[str, float], dict[str, str]]:
    """Return the workloads, parameters that some of them have, and changes of the machine."""
    workloads = [load_workload(name) for name in names]
    given: dict[str, str] = {}
    for item in settings:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value or name in given:
            what = "set twice" if name in given else "not a setting"
            raise InputError(what, Place("--set"), value=item, allowed=SET_FORMS)
        given[name] = value
    known = {"P", *(name for workload in workloads for name in workload.parameters)}
    changes = {name: text for name, text in given.items() if name not in known}
    for name in changes:
        if "." not in name and name not in MACHINE_KEYS:
            what = "no workload has a parameter and a machine no key of this name"
            raise InputError(what, Place("--set"), value=name, allowed=nearest(name, {*known, *MACHINE_KEYS}))
    return workloads, {name: _number(name, text) for name, text in given.items() if name in known}, changes


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        what = f"parameter {name!r} must be a number"
        raise InputError(what, Place("--set"), value=value, allowed="e.g. 16, 0.5 or 1e6") from None


def parsed_factors(items: Iterable[str]) -> dict[str, list[float]]:
    """Factors by name. InputError for what is none, and for a name given twice."""
    factors: dict[str, list[float]] = {}
    for item in items:
        name, _, text = (part.strip() for part in item.partition("="))
        if not name or not text:
            raise InputError("not something to vary", Place("--vary"), value=item, allowed=VARY_FORMS)
        if name in factors:
            raise InputError("varied twice", Place("--vary"), value=name, allowed="all factors together")
        try:
            factors[name] = [float(part.strip().removeprefix("x")) for part in text.split(",")]
        except ValueError:
            raise InputError(f"factors of {name}", Place("--vary"), value=text, allowed="e.g. x0.5,x2") from None
    return factors
