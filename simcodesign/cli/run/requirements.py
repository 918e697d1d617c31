"""Requirements of a process: upgrades of a machine, straw-man systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypedDict

from simcodesign.cli.commands.codesign import (
    RequirementOptions,
    SimulatedRequirementOptions,
    StrawManOptions,
    UpgradeOptions,
)
from simcodesign.cli.run.scenario import SET_FORMS, load_noted_machine
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.describe.machine import Machine
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import load_workload
from simcodesign.describe.yaml.machine import MACHINE_KEYS
from simcodesign.report.common.progress import ProgressBar
from simcodesign.report.common.terminal import print_all, write_json
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
from simcodesign.studies.requirements.upgrade_file import Upgrade, load_upgrade
from simcodesign.studies.requirements.upgrade_ranking import rankings

#: Bases of logarithms of requirement models, and the parameters that are bases.
LOGS = {"2": 2.0, "natural": math.e, "10": 10.0}
BASES = ("n_base", "p_base")
#: The upgrades, systems and workloads where none are named.
UPGRADES = ("racks", "sockets", "memory")
SYSTEMS = ("strawman-massively-parallel", "strawman-vector", "strawman-hybrid")
APPLICATIONS = ("kripke", "lulesh", "milc", "relearn", "icofoam")
VARY_FORMS = "name=factor,..., e.g. --vary network.bandwidth=0.5,2"


class _Simulation(TypedDict):
    """How a smaller machine is simulated."""

    preset: str | None
    size: str
    effects: str
    engine: str
    seed: int


def run_upgrade(options: UpgradeOptions) -> None:
    """Requirements before and after upgrades, and with --simulate the times."""
    requirements, simulate = options.requirements, options.simulation.simulate
    workloads, given, changes = _load(options.workloads, requirements, None if simulate else options.ranks)
    machine = load_noted_machine(options.machine, changes)
    upgrades = [load_upgrade(name) for name in options.upgrades or UPGRADES]
    if simulate:
        _simulate_upgrade(workloads, machine, upgrades, given, options)
        return
    options.simulation.check_unused("--vary", options.vary)
    studies = upgrade_table(
        workloads, machine, upgrades, given, preset=requirements.preset, size=_size(workloads, requirements)
    )
    if options.output.as_json:
        write_json({"studies": studies})
    else:
        print_all(upgrade_tables(studies))
    if options.output.plot:
        upgrade_plot(studies, options.output.plot)


def _simulate_upgrade(
    workloads: Sequence[Workload],
    machine: Machine,
    upgrades: Sequence[Upgrade],
    given: dict[str, float],
    options: UpgradeOptions,
) -> None:
    """Simulate every workload with every upgrade, and again with other numbers where they are varied."""
    factors = parsed_factors(options.vary)
    check_varied(factors, workloads, _size(workloads, options.requirements))
    simulation = _simulation(workloads, options.requirements, options.simulation)
    with ProgressBar("systems", counted=True) as on_progress:
        cells = simulated_upgrades(
            workloads,
            machine,
            upgrades,
            given,
            **simulation,
            ranks=options.ranks,
            on_progress=on_progress,
            on_simulation_progress=on_progress,
        )
        reading = "simulation" if factors else "forecast"
        varied = sensitivity(cells, factors, given, **simulation, reading=reading, on_progress=on_progress)
    if options.output.as_json:
        write_json(
            {
                "cells": cells,
                "rankings": rankings(cells),
                "varied": {"reading": reading, "numbers": varied},
            }
        )
    else:
        print_all(simulated_upgrade_tables(cells, varied, simulated=bool(factors)))
    if options.output.plot:
        ratio_against_time(cells, options.output.plot)


def run_straw_man(options: StrawManOptions) -> None:
    """The largest problems and least times of systems, and with --simulate the simulated times."""
    requirements = options.requirements
    workloads, given, changes = _load(options.workloads or APPLICATIONS, requirements, None)
    machines = [load_noted_machine(name, changes) for name in options.systems or SYSTEMS]
    if options.simulation.simulate:
        _simulate_straw_men(workloads, machines, given, options)
        return
    options.simulation.check_unused("-P", options.ranks)
    studies = straw_man_table(
        workloads,
        machines,
        given,
        preset=requirements.preset,
        size=_size(workloads, requirements),
        benchmark=options.benchmark,
    )
    if options.output.as_json:
        write_json({"studies": studies})
    else:
        print_all(straw_man_tables(studies))
    if options.output.plot:
        straw_man_plot(studies, options.output.plot)


def _simulate_straw_men(
    workloads: Sequence[Workload], machines: Sequence[Machine], given: dict[str, float], options: StrawManOptions
) -> None:
    """Simulate every workload on all systems made smaller."""
    if options.benchmark is not None or options.output.plot is not None:
        what = "simulated systems solve the largest problem that all of them hold, and have no plot"
        raise InputError(what, Place("--simulate"), allowed="without --benchmark and --plot")
    with ProgressBar("systems", counted=True) as on_progress:
        studies = simulated_straw_men(
            workloads,
            machines,
            given,
            **_simulation(workloads, options.requirements, options.simulation),
            ranks=options.ranks,
            on_progress=on_progress,
            on_simulation_progress=on_progress,
        )
    if options.output.as_json:
        write_json({"studies": studies})
    else:
        print_all(simulated_straw_man_tables(studies))


def _size(workloads: Sequence[Workload], requirements: RequirementOptions) -> str:
    """The parameter that is the problem size of a process: as given, or as the workloads state together."""
    stated = {one.size_parameter for one in workloads}
    return requirements.size or (stated.pop() if len(stated) == 1 else SIZE)


def _simulation(
    workloads: Sequence[Workload], requirements: RequirementOptions, simulation: SimulatedRequirementOptions
) -> _Simulation:
    return {
        "preset": requirements.preset,
        "size": _size(workloads, requirements),
        "effects": simulation.effects,
        "engine": simulation.engine,
        "seed": simulation.seed,
    }


def _load(
    names: Sequence[str], options: RequirementOptions, ranks: int | None
) -> tuple[list[Workload], dict[str, float], dict[str, str]]:
    """The workloads, parameters that some of them have, and changes of the machine."""
    workloads = [load_workload(name) for name in names]
    given = {} if ranks is None else {"P": str(ranks)}
    for item in [*options.settings, *_base_settings(options.log, workloads)]:
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


def _base_settings(log: str | None, workloads: Sequence[Workload]) -> list[str]:
    """Settings NAME=VALUE of the bases of logarithms that any of the workloads has."""
    if log is None:
        return []
    if log not in LOGS:
        raise InputError("base of logarithms", Place("--log"), value=log, allowed=", ".join(LOGS))
    names = [name for name in BASES if any(name in workload.parameters for workload in workloads)]
    if not names:
        what = "no workload has logarithms whose base can be set"
        raise InputError(what, Place("--log"), value=log, allowed=f"workloads with the parameters {', '.join(BASES)}")
    return [f"{name}={LOGS[log]!r}" for name in names]


def parsed_factors(items: Iterable[str]) -> dict[str, list[float]]:
    """Factors by name. InputError for what is none, and for a name given twice."""
    factors: dict[str, list[float]] = {}
    for item in items:
        name, _, text = (part.strip() for part in item.partition("="))
        if not name or not text:
            raise InputError("not something to vary", Place("--vary"), value=item, allowed=VARY_FORMS)
        if name in factors:
            raise InputError("varied twice", Place("--vary"), value=name, allowed="all factors at once")
        try:
            factors[name] = [float(part) for part in text.split(",")]
        except ValueError:
            raise InputError(f"factors of {name}", Place("--vary"), value=text, allowed="e.g. 0.5,1,2") from None
    return factors
