"""Finding description files: those shipped with the package by name, the user's own by path."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from simcodesign.core.errors import CHANGES, InputError, Place, nearest
from simcodesign.core.files.input_files import (
    check_confined,
    check_execution,
    is_file,
    names_a_path,
    real_path,
    stands_alone,
    without_files,
)
from simcodesign.core.units import DIMENSIONS
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.demands.replay import Replay
from simcodesign.describe.design_point import check_preset, select_phases
from simcodesign.describe.goal.files import SCHEDULES, schedule_reader
from simcodesign.describe.goal.schedule import Schedule
from simcodesign.describe.machine import Machine
from simcodesign.describe.parameters import Parameter
from simcodesign.describe.python_programs.workload import load_program, python_file
from simcodesign.describe.recordings.workload import load_recording, recording_reader
from simcodesign.describe.resources import PREFIX
from simcodesign.describe.variants import change_texts, factor_of, split_variant, variant_label
from simcodesign.describe.workload import Workload
from simcodesign.describe.yaml.constants import OTHER_NAMES
from simcodesign.describe.yaml.machine import FORMAT, MACHINE_KEYS, check_format, machine_from
from simcodesign.describe.yaml.segments import said_by_segments
from simcodesign.describe.yaml.tree import Entry, items_by_key, merged, nested, parse_yaml, read_yaml
from simcodesign.describe.yaml.workload import with_equations_of, workload_from

_PACKAGE = Path(__file__).resolve().parent.parent.parent
MAX_EXTENDS = 8
#: The command that lists the bundled machines and workloads.
SEE_ALL = "simcodesign list"
#: Keys of a variant of a workload that are no parameters.
PRESET, PHASE = "preset", "phase"
#: Names in messages for a description without a file.
_MACHINE, _WORKLOAD = "Machine.load", "Workload.load"
_ENDINGS = (".yaml", ".yml", ".aspen", *SCHEDULES)


def _replacing() -> dict[str, str | tuple[str, ...]]:
    """Keys of which a change of one replaces the other."""
    return {**OTHER_NAMES, "dims": "shape", "segments": said_by_segments()}


def load_machine(name: str | Path, changes: Mapping[str, object] | None = None) -> Machine:
    """Return the machine of a bundled name or a file, as ``Machine.load`` describes."""
    changes = machine_changes(name, changes)
    return with_changes(machine_from(*machine_tree(split_variant(name)[0], in_file(changes))), changes)


def machine_changes(name: str | Path, changes: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return ``changes``, and the changes of the named variant, which win."""
    return {**(changes or {}), **split_variant(name)[1]}


def in_file(changes: Mapping[str, object]) -> dict[str, object]:
    """Convert to paths of a file: ``machine.NAME`` is the default of a parameter there."""
    own = {path: f"parameters.{path.removeprefix(PREFIX)}.default" for path in changes if path.startswith(PREFIX)}
    return {own.get(path, path): value for path, value in changes.items()}


def with_changes(machine: Machine, changes: Mapping[str, object]) -> Machine:
    """Return the machine, labelled as a variant; numbers without a unit get the unit in which they are read."""
    shown = change_texts({path: _with_unit(path, value) for path, value in changes.items()})
    return replace(machine, changes=(*machine.changes, *shown)) if changes else machine


#: A number, and its unit.
_AMOUNT = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?)(\s*[A-Za-z/]*)")


def _with_unit(path: str, value: object) -> object:
    """Return a bare number of a constant, or of a bandwidth instead of a time per byte, with its SI unit."""
    part, _, key = path.rpartition(".")
    dimension = "bandwidth" if dimension_at(f"{part}.{OTHER_NAMES.get(key, '')}") else dimension_at(path)
    unit = DIMENSIONS[dimension or "count"]
    if not unit or not _is_number(value):
        return value
    return f"{value:g} {unit}" if isinstance(value, float) else f"{value} {unit}"


def _is_number(value: object) -> bool:
    try:
        return math.isfinite(float(str(value)))
    except ValueError:
        return False


def machine_tree(name: str | Path, changes: Mapping[str, object] | None = None) -> tuple[Entry, Path]:
    """Return the tree of a machine's file, with what it extends and ``changes``, and the folder of the file."""
    if is_other_workload(name):
        raise _of_other_kind(name, "workload", "machine")
    path = _find(name, "topologies")
    tree = _extended(path, ())
    changes = {key: _multiplied(tree, key, value) for key, value in (changes or {}).items()}
    return _changed(tree, changes), path.parent


#: Parts that changes of some of their keys do not make, and the keys with which they do.
_WHOLE_PARTS: dict[str, tuple[str, ...]] = {
    "node.network": ("topology",),
    "socket.network": ("topology",),
    "network.node": ("bandwidth", "segments"),
    "network.socket": ("bandwidth", "segments"),
    "partitions": (),
}


def _changed(tree: Entry, changes: Mapping[str, object]) -> Entry:
    """Return the tree of a machine with ``changes``."""
    check_parts(tree, changes, CHANGES)
    if not changes:
        return tree
    return replace(merged(tree, nested(changes, CHANGES), _replacing()), place=tree.place)


def check_parts(tree: Entry, changes: Iterable[str], file: str) -> None:
    """Raise InputError for a change in a part that neither the tree of a machine nor the other changes have."""
    name = items_by_key(tree).get("name")
    label = "the machine" if name is None else name.text()
    for path in changes:
        part = next((part for part in _WHOLE_PARTS if path.startswith(f"{part}.")), None)
        if part is None or _has(tree, part):
            continue
        makes = tuple(f"{part}.{key}." for key in _WHOLE_PARTS[part])
        if not any(f"{one}.".startswith(makes) for one in changes):
            raise InputError(f"{label} has no {part}, so {path} cannot be set", Place(file, None, path))


def _has(tree: Entry, path: str) -> bool:
    """Whether there is something at a path without numbers."""
    for key in path.split("."):
        items = items_by_key(tree)
        if key not in items:
            return False
        tree = items[key]
    return True


def _multiplied(tree: Entry, path: str, value: object) -> object:
    """Return the value, or ``x2`` times what the file has at this path."""
    factor = factor_of(value)
    if factor is None:
        return value
    entry = tree
    for key in path.split("."):
        items = items_by_key(entry)
        if key not in items:
            raise InputError("no factor of what the file leaves out", tree.place, value=path, allowed=f"{path}=VALUE")
        entry = items[key]
    amount = _AMOUNT.fullmatch(entry.text())
    if amount is None:
        raise entry.error("no number, so that it has no multiples")
    return f"{float(amount[1]) * factor:.15g}{amount[2]}"


def load_workload(name: str | Path) -> Workload:
    """Return the workload of a bundled name or a file, as ``Workload.load`` describes."""
    plain, changes = split_variant(name)
    return workload_variant(_plain_workload(plain), changes) if changes else _plain_workload(name)


def _plain_workload(name: str | Path) -> Workload:
    if python_file(name) is not None:
        return load_program(name)
    if (read := schedule_reader(name)) is not None:
        return workload_of(read(name))
    if (reader := recording_reader(name)) is not None:
        return load_recording(name, reader)
    tree = read_yaml(_find(name, "workloads"))
    if described_kind(tree) == "machine":
        raise _of_other_kind(name, "machine", "workload")
    return _workload(tree)


def workload_variant(workload: Workload, changes: Mapping[str, str]) -> Workload:
    """Return the workload with other defaults of its parameters, or the values of a ``preset``, or only one ``phase``.

    InputError for a name that is none of these.
    """
    ranks = {"P": Parameter("P", None, low=1, whole=True)} if "P" in changes else {}
    every = {**ranks, **workload.parameters}
    own = {name: text for name, text in changes.items() if name in every}
    for name in changes.keys() - own.keys() - {PRESET, PHASE}:
        known = nearest(name, {*workload.parameters, "P", PRESET, PHASE})
        if name.split(".")[0] in MACHINE_KEYS:
            known = f"{name} is a key of machines: MACHINE with {name}={changes[name]}; here {known}"
        raise InputError(f"{workload.name} has no such parameter", workload.place, value=name, allowed=known)
    values: dict[str, float] = {}
    if PRESET in changes and PRESET not in own:
        check_preset(workload, changes[PRESET])
        values |= workload.presets[changes[PRESET]]
    for name, text in own.items():
        values[name] = every[name].parsed(text, Place("with", None, name))
        every[name].check(values[name], Place("with", None, name))
    parameters = {name: replace(one, default=values[name]) if name in values else one for name, one in every.items()}
    label = variant_label(workload.name, change_texts(changes))
    variant = replace(workload, name=label, parameters=parameters)
    return select_phases(variant, [changes[PHASE]]) if PHASE in changes and PHASE not in own else variant


def make_machine(content: Mapping[str, object], changes: Mapping[str, object] | None = None) -> Machine:
    """Return the machine of the keys and values of a file, as ``Machine.load`` describes."""
    tree = _laid_over_base(_in_python(content, _MACHINE), Path(_MACHINE), ())
    return with_changes(machine_from(_changed(tree, in_file(changes or {})), Path()), changes or {})


def _workload(tree: Entry) -> Workload:
    """Return the workload of a tree, with the equations of another one if it names one."""
    if (base := tree.mapping().get("equations_of")) is not None:
        if base.name() not in (known := available("workloads")):
            raise base.error("no such workload", nearest(base.name(), known, see=SEE_ALL))
        tree = with_equations_of(tree, read_yaml(shipped_path("workloads", f"{base.name()}.yaml")))
    return workload_from(tree)


def make_workload(content: Mapping[str, object]) -> Workload:
    """Return the workload of the keys and values of a file, as ``Workload.load`` describes."""
    return _workload(_in_python(content, _WORKLOAD))


def machine_from_source(
    source: str | Path | Mapping[str, object], changes: Mapping[str, object] | None = None
) -> Machine:
    """Carry out ``Machine.load``."""
    return load_machine(source, changes) if isinstance(source, str | Path) else make_machine(source, changes)


def workload_from_source(source: str | Path | Mapping[str, object]) -> Workload:
    """Carry out ``Workload.load``."""
    return load_workload(source) if isinstance(source, str | Path) else make_workload(source)


def machine_of_text(text: str, name: str) -> Machine:
    """Return the machine of the text of a file, which may extend a shipped machine and names no other file.

    ``name``: what errors call it. InputError as for a file, with the line.
    """
    with without_files():
        return machine_from(_laid_over_base(parse_yaml(text, name), Path(name), ()), Path())


def workload_of_text(text: str, name: str) -> Workload:
    """Return the workload of the text of a file, which names no other file; ``name``: what errors call it.

    InputError as for a file, with the line.
    """
    with without_files():
        return _workload(parse_yaml(text, name))


def _in_python(content: Mapping[str, object], what: str) -> Entry:
    """Return the tree of a description without a file. A text is a text, whatever YAML would make of it."""
    if not isinstance(content, Mapping):
        raise InputError("no description", Place(what), value=content, allowed="a dictionary with the keys of a file")
    texts = {key: json.dumps(value) if isinstance(value, str) else value for key, value in content.items()}
    return nested({"simcodesign": FORMAT, **texts}, what)


def workload_of(schedule: Schedule) -> Workload:
    """Return the workload that replays a schedule on as many ranks as it has."""
    ranks = float(schedule.ranks)
    parameter = Parameter("P", ranks, about="ranks of the schedule", low=ranks, high=ranks, whole=True)
    step = Replay(None, schedule.place, schedule)
    return Workload(schedule.name, {"P": parameter}, {}, (step,), place=schedule.place)


def available(kind: str) -> list[str]:
    """Return the names of the bundled ``machines`` (also ``topologies``, their folder) or ``workloads``, by ``kind``.

    Raises InputError for another kind.
    """
    if kind not in ("machines", "topologies", "workloads"):
        raise InputError("nothing of this kind is shipped", value=kind, allowed="machines, workloads")
    return sorted(path.stem for path in shipped("topologies" if kind == "machines" else kind))


def shipped(folder: str) -> Iterator[Path]:
    """Return the shipped files of ``topologies`` or ``workloads``."""
    return iter(sorted(_folder(folder).glob("*.yaml"), key=lambda path: path.stem))


def shipped_path(folder: str, name: str) -> Path:
    """Return a shipped file by its full name."""
    return _folder(folder) / name


@cache
def _folder(folder: str) -> Path:
    """Folder inside the installed package, or next to it in a checkout."""
    inside = _PACKAGE / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder


def _find(name: str | Path, folder: str) -> Path:
    text = str(name)
    if text.lower().endswith(".aspen"):
        what = "an Aspen model is no workload or machine of this command"
        raise InputError(what, value=text, allowed="forecast, compare, explore and show, which take Aspen models")
    if names_a_path(name):
        return Path(name)
    if text not in available(folder):
        kind, other = ("machine", "workload") if folder == "topologies" else ("workload", "machine")
        if text in available(f"{other}s"):
            raise _of_other_kind(text, other, kind)
        allowed = file_here(text) or others_named(text, available(folder))
        raise InputError(f"no such {kind}", value=text, allowed=allowed)
    return _folder(folder) / f"{text}.yaml"


def described_kind(tree: Entry) -> str:
    """Return ``workload`` or ``machine``, whichever has the keys at the top of a file; empty for other files."""
    keys = tree.mapping().keys()
    of_machine = {"nodes", "processor", "network", "extends", "resources"} & keys
    if {"program", "equations"} & keys or ("parameters" in keys and not of_machine):
        return "workload"
    return "machine" if of_machine else ""


def is_other_workload(name: str | Path) -> bool:
    """Return whether this is a workload that is not in YAML: a program in Python, a schedule or a recording."""
    return python_file(name) is not None or schedule_reader(name) is not None or recording_reader(name) is not None


def _of_other_kind(name: str | Path, kind: str, expected: str) -> InputError:
    """Return the error for a workload in the place of a machine, or the reverse."""
    return InputError(
        f"{name} is a {kind}; a {expected} is expected", allowed=others_named("", available(f"{expected}s"), expected)
    )


def file_here(name: str) -> str:
    """How the file of this name in the working folder is named; empty if there is none."""
    return f"./{name}.yaml, the file in this folder" if not stands_alone() and is_file(f"{name}.yaml") else ""


def others_named(name: str, names: Iterable[str], kind: str = "") -> str:
    """Return what may be named instead: a bundled name, those like ``name`` first, or any file (of a ``kind``)."""
    return f"{nearest(name, names, see=SEE_ALL)}; or the path of a {f'{kind} file' if kind else '.yaml file'}"


def named_source(entry: Entry, folder: Path) -> str:
    """Return the workload or machine that a description names.

    A bundled name, or a path relative to ``folder``, the folder of the description; each may be a variant (``NAME with
    KEY=VALUE``).

    Raises InputError for a file outside the folder of ``confine``, and for a program in Python unless
    ``allow_programs`` applies.
    """
    text = entry.text()
    name = split_variant(text)[0]
    program = python_file(name)
    if program is not None:
        check_execution(entry.place, program, named_in_description=True)
    elif not names_a_path(name, _ENDINGS) and not is_other_workload(folder / name):
        return text
    return f"{check_confined(folder / name, entry.place)}{text.strip().removeprefix(name)}"


def _extended(path: Path, extended: tuple[Path, ...]) -> Entry:
    """Return the file's tree laid over the tree of the machine that it extends."""
    tree = read_yaml(path)
    if described_kind(tree) == "workload":
        raise _of_other_kind(path, "workload", "machine")
    return _laid_over_base(tree, path, extended)


def _laid_over_base(entry: Entry, path: Path, extended: tuple[Path, ...]) -> Entry:
    """Return the tree of a file, or of an equivalent text, laid over the tree of the machine that it extends."""
    items = entry.mapping()
    if "simcodesign" in items:
        check_format(items["simcodesign"])
    if "extends" not in items:
        return entry
    base, extended = items["extends"], (*extended, real_path(path))
    target = _find_base(base, path)
    chain = " -> ".join(part.stem for part in (*extended, target))
    if real_path(target) in extended:
        raise InputError(f"machines extend each other: {chain}", base.place)
    if len(extended) > MAX_EXTENDS:
        raise InputError(f"more than {MAX_EXTENDS} machines extend each other: {chain}", base.place)
    rest = {key: value for key, value in items.items() if key != "extends"}
    below = _extended(target, extended)
    kept = {key: value for key, value in below.mapping().items() if key != "evidence"}  # of other constants
    return merged(Entry(kept, below.place), Entry(rest, entry.place), _replacing())


def _find_base(base: Entry, path: Path) -> Path:
    """Return a machine next to the extending file wins over a shipped one of the same name."""
    name = base.name()
    beside = path.parent / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if not stands_alone() and is_file(beside):
        return check_confined(beside, base.place)
    if name not in available("topologies"):
        bundled = nearest(name, available("topologies"), see=SEE_ALL)
        raise base.error("no such machine", f"{bundled}; or a .yaml file next to this one")
    return _folder("topologies") / f"{name}.yaml"
