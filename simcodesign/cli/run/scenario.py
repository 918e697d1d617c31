"""The workload, machine and values that the options of a command name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simcodesign.cli.options.shared import SimulationOptions, WorkloadOnMachine
from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import is_file, names_a_path
from simcodesign.core.units import parse_quantity
from simcodesign.describe.design_point import replaced_constants
from simcodesign.describe.effects import chosen_effects
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.message_memory import COPIES, LEAST_COPIES, MOST_COPIES
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.python_programs.workload import python_file
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.scenario import RunKeywords, Scenario
from simcodesign.describe.variants import is_job, split_variant
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.files import (
    available,
    described_kind,
    file_here,
    is_other_workload,
    load_machine,
    load_workload,
    others_named,
    with_changes,
)
from simcodesign.describe.yaml.machine import MACHINE_KEYS
from simcodesign.describe.yaml.tree import read_yaml
from simcodesign.report.common.terminal import complain

_NO_FRACTION = "not a fraction of 0 or more"
_FRACTIONS = "for example 5% or 0.05; write 150% for values above 1"
SET_FORMS = "name=value, e.g. --set n=1e6, --set P=16, --set nodes=64, --set network.startup='20 us'"


@dataclass(frozen=True)
class GivenScenario(Scenario):
    """A scenario as a command line gives it: every parameter is one number."""

    parameters: Mapping[str, float] = field(default_factory=dict)


def load_scenario(options: WorkloadOnMachine, machine: str | None = None, more: Iterable[str] = ()) -> GivenScenario:
    """Return the scenario of the options; on another ``machine``, or with ``more`` NAME=VALUE.

    InputError names --set.
    """
    settings = [*options.all_settings, *more]
    return scenario_of(options.workload, machine or options.machine, settings, options.preset, options.phases)


def run_keywords(options: SimulationOptions, machine: Machine | None = None) -> RunKeywords:
    """Return the options as all that simulates takes them, noted on standard error.

    ``machine``: the one that runs, if one.
    """
    note_implied(options.effects)
    if machine is not None:
        _note_slow_nodes(machine, options.effects)
    return repeated_keywords(options)


def repeated_keywords(options: SimulationOptions) -> RunKeywords:
    """Return the options as ``run_keywords`` does, for a second experiment of a command: its notes are printed."""
    return {
        "effects": options.effects,
        "engine": options.engine,
        "seed": options.seed,
    }


def note_implied(effects: str) -> None:
    """Print on standard error which further effects the named ones switch on."""
    if effects not in ("all", "none"):
        chosen_effects(effects)  # an error is reported alone
        named = effects.replace(",", " ").split()
        for name in named:
            if more := [one for one in chosen_effects(name) if one not in named]:
                complain(f"note: {name} includes {' and '.join(more)}")


def scenario_of(
    workload_name: str,
    machine_name: str,
    settings: Iterable[str],
    preset: str | None = None,
    phases: Iterable[str] = (),
    is_first: bool = True,
) -> GivenScenario:
    """Return the workload and the machine, with settings NAME=VALUE of either of them.

    ``is_first``: whether a command reads this workload for the first time, and notes that it executes it.
    """
    if is_first:
        note_execution(workload_name)
    try:
        workload = load_workload(workload_name)
    except InputError:
        _check_order(workload_name, machine_name)
        raise
    own_values = split_variant(workload_name)[1]
    given = {name: text for name, text in parsed_settings(settings).items() if name not in own_values}
    parameters = {name: value for name, value in given.items() if name == "P" or name in workload.parameters}
    of_machine = split_variant(machine_name)[1]
    own = {name: value for name, value in given.items() if name.startswith(PREFIX) and name not in parameters}
    changes = {name: value for name, value in given.items() if name not in parameters and name not in own}
    for name in changes:
        if "." not in name and name not in MACHINE_KEYS:
            what = f"neither a parameter of {workload.name} nor a key of machine files"
            constants = _constants_named(name, machine_name)
            raise _bad_setting(what, name, nearest(name, {*workload.parameters, "P", *constants, *MACHINE_KEYS}))
    machine = load_noted_machine(machine_name, changes)
    own = {name: value for name, value in own.items() if name not in of_machine}
    machine = with_changes(machine, own)
    values = {name: _number(name, value, workload.parameters.get(name)) for name, value in parameters.items()}
    values |= machine_parameters(machine, own)
    _note_unused_changes(workload, machine, changes)
    note_shared_link(machine, machine_name, changes)
    return GivenScenario(workload, machine, values, preset, [*phases] or None)


def _constants_named(word: str, machine_name: str) -> list[str]:
    """Constants of a machine whose last key has this word: ``network.hop_latency`` for ``latency``."""
    try:
        varying = load_machine(machine_name).varying()
    except InputError:  # reported when the setting is right
        return []
    paths = [path.replace("per_byte", other) for path in varying for other in ("per_byte", "bandwidth")]
    return [path for path in paths if word.lower() in path.rpartition(".")[2].lower().split("_")]


def load_noted_machine(name: str, changes: Mapping[str, object] | None = None) -> Machine:
    """Load a machine, and print to standard error notes on its topology and on what is assumed."""
    machine = load_machine(name, changes)
    for note in machine.network.topology.notes:
        complain(f"note: {machine.name}: {note}")
    note_assumed_copies(machine)
    return machine


def note_assumed_copies(machine: Machine) -> None:
    """Print to standard error, if no copies are stated, on what times under load of messages within a node rest."""
    if machine.node_memory is not None and machine.node_memory.copies_assumed:
        measured = f"{LEAST_COPIES:g} to {MOST_COPIES:g} measured elsewhere"
        complain(
            f"note: {machine.name}: node.memory.copies is not stated, {COPIES:g} is assumed ({measured}); what full "
            "nodes take is predicted from memory.bandwidth (STREAM) and caches alone, without a measured row of MPI "
            "(simcodesign calibrate MACHINE prints what to measure)"
        )


def note_execution(workload_name: str) -> None:
    """Say on standard error that a program in Python is executed."""
    if (path := python_file(split_variant(workload_name)[0])) and Path(path).is_file():
        complain(f"note: {path} is a program in Python, which is executed")


def machine_parameters(machine: Machine, own: Mapping[str, str]) -> dict[str, float]:
    """Values of parameters of the machine's file (``machine.NAME``), within what is allowed for them."""
    parameters = {name: machine.parameter(name, Place("--set", None, name)) for name in own}
    values = {name: parameters[name].parsed(text, Place("--set", None, name)) for name, text in own.items()}
    for name, value in values.items():
        parameters[name].check(value, Place("--set", None, name))
    return values


def _note_unused_changes(workload: Workload, machine: Machine, changes: Mapping[str, str]) -> None:
    """Say on standard error what of the machine is changed without an effect."""
    law = machine.network.distance
    moved = any(name.startswith("network.topology") for name in changes) and machine.network.longest_hop_latency_s > 0
    if moved and law not in ("mean", changes.get("network.distance")):
        complain(f"note: the forecast still counts the hops of a message by network.distance = {law}")
    for path, places in replaced_constants(workload, changes).items():
        complain(f"note: {path} has no effect in phases of {workload.name} that replace it: {', '.join(places)}")


def _note_slow_nodes(machine: Machine, effects: str) -> None:
    """Print on standard error that slow nodes, which are a key of ``noise``, belong to an effect of another name."""
    chosen = chosen_effects(effects)
    if machine.noise_model.slow_nodes and "noise" in chosen and "imbalance" not in chosen:
        complain(f"note: noise.slow_nodes of {machine.name} acts by the effect imbalance, which is off")


def note_shared_link(machine: Machine, name: str, changes: Iterable[str] = ()) -> None:
    """Print to standard error that several interfaces of a node add no links.

    Only if their link is slower than they are, and a file or ``changes`` of the user's have them.
    """
    plain, of_variant = split_variant(name)
    own = names_a_path(plain) or any(path.startswith("network.interfaces") for path in (*of_variant, *changes))
    if own and machine.network.interfaces_share_a_link:
        count, differ = machine.network.interfaces.count, machine.interfaces_by_partition
        nodes = ", ".join(one for one, several in differ.items() if several > 1) or machine.name
        advice = f"network.rails={count} adds links"
        if differ:  # rails are alike on all nodes
            advice = "a topology with faster links to the nodes, shared by max_min, does not limit them"
        what = f"note: the {count} interfaces of a node of {nodes} have one rail: they add no links, and only"
        complain(f"{what} messages that wait for an interface gain by them; {advice}")


def parsed_settings(settings: Iterable[str]) -> dict[str, str]:
    """Value by name, as text, from NAME=VALUE."""
    given: dict[str, str] = {}
    for item in settings:
        name, _, value = (part.strip() for part in item.partition("="))
        if not name or not value:
            raise _bad_setting("not a setting", item, SET_FORMS)
        if name in given:
            raise _bad_setting("set twice", name, "one value per name")
        given[name] = value
    return given


def parsed_share(text: str, option: str) -> float:
    """Return the fraction of ``5%`` or ``0.05``. InputError for anything else."""
    value = parse_quantity(text, "count", Place(option))
    if value < 0 or (value > 1 and "%" not in text):
        raise InputError(_NO_FRACTION, Place(option), value=text, allowed=_FRACTIONS)
    return value


def parsed_level(text: str | None, default: float) -> float:
    """Return the probability of ``--level``, or the default. Raises InputError for what is not between 0 and 1."""
    if text is None:
        return default
    level = parse_quantity(text, "count", Place("--level"))
    if not 0 < level < 1:
        raise InputError("not a level of an interval", Place("--level"), value=text, allowed="between 0 and 1")
    return level


def _number(name: str, value: str, parameter: Parameter | None) -> float:
    """Return the number, of a choice or with a unit that the parameter has."""
    if parameter is not None and parameter.is_named:
        return parameter.parsed(value, Place("--set", None, name))
    try:
        return float(value)
    except ValueError:
        raise _bad_setting(f"parameter {name!r} must be a number", value, "e.g. 16, 0.5 or 1e6") from None


def _bad_setting(what: str, value: str, allowed: str) -> InputError:
    return InputError(what, Place("--set"), value=value, allowed=allowed)


def _check_order(first: str, second: str) -> None:
    """InputError if a machine precedes a workload."""
    try:
        is_swapped = (kind_of(first), kind_of(second)) == ("machine", "workload")
    except InputError:
        return
    if is_swapped:
        raise InputError(
            "the workload comes before the machine", value=f"{first} {second}", allowed=f"{second} {first}"
        )


def is_in_python(name: str) -> bool:
    """Whether this is ``FILE.py:NAME``, a program in Python."""
    return python_file(split_variant(name)[0]) is not None


def kind_of(text: str) -> str:
    """Whether a name, file or variant is a machine or a workload. Raises InputError for what is neither, or both."""
    name = split_variant(text)[0]
    if is_other_workload(name):
        return "workload"
    if "=" in name and not is_file(name):
        first, _, rest = name.partition(" ")
        allowed = f"'{first} with {rest}'" if rest else f"--set {name}, to set a value"
        raise InputError("neither a machine nor a workload", value=name, allowed=allowed)
    if names_a_path(name):
        return described_kind(read_yaml(Path(name))) or "machine"
    machines, workloads = available("topologies"), available("workloads")
    if name in machines and name in workloads:
        what = "both a machine and a workload have this name"
        raise InputError(
            what, value=name, allowed="for show: --kind machine or --kind workload; otherwise the path of a file"
        )
    if is_job(text):
        raise InputError("this command takes no jobs", value=text, allowed="simulate or forecast, which do")
    if name not in machines and name not in workloads:
        allowed = file_here(name) or others_named(name, [*machines, *workloads])
        raise InputError("no such machine or workload", value=name, allowed=allowed)
    return "machine" if name in machines else "workload"
