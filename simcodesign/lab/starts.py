"""Start of the laboratory's panel: a run of a lesson as two texts and values of parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import is_file, read_text
from simcodesign.core.units import format_quantity
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.yaml.files import available, in_file, machine_tree, shipped_path
from simcodesign.describe.yaml.tree import Entry, nested
from simcodesign.lab.asked import MOST_RANKS
from simcodesign.lessons.description import Lesson, Run, Stops
from simcodesign.lessons.scenarios import start_of, workload_at

#: ``machine``, ``workload``: texts; ``parameters``: by name; ``axis``: one of them; ``phases``: names, or None for all.
Start = dict[str, Any]
#: Start of a page if no run of its lesson can be written as two texts.
FIRST_MACHINE, FIRST_WORKLOAD = "mesh-256", "broadcast"


def free_start() -> Start:
    """Return what the page without a lesson begins with."""
    texts = {
        kind: shipped_text(kind, name) for kind, name in (("machine", FIRST_MACHINE), ("workload", FIRST_WORKLOAD))
    }
    return {**texts, "parameters": {"P": 64}, "phases": None, "axis": "P"}


def starts(lesson: Lesson) -> dict[str, Start]:
    """Return by run what the panel can begin with, where the sliders of the lesson begin; never nothing."""
    return dict(_starts(lesson)) or {"": free_start()}


def _starts(lesson: Lesson) -> Iterator[tuple[str, Start]]:
    for name, run in lesson.runs.items():
        with suppress(InputError):  # a recording of a program, which is no text
            yield name, start_at(run, start_of(run))


def start_at(run: Run, at: Stops) -> Start:
    """Return a run at stops of its sliders. Its first slider that sets one parameter of the workload is the axis.

    Constants of the machine that sliders set are in its text, where they can be changed.

    InputError for a workload that is no text, such as a recording, and for a text with files of its own.
    """
    changes, parameters = dict(run.changes), dict[str, Any](run.parameters)
    for slider in run.sliders:
        stop = slider.stops[at[slider.name]]
        changes |= stop.machine
        parameters |= stop.parameters
    constants = {name: parameters.pop(name) for name in list(parameters) if "." in name}
    changes |= in_file({name: _written(name, value) for name, value in constants.items()})
    if isinstance(parameters.get("P"), int | float):
        parameters["P"] = min(parameters["P"], MOST_RANKS)
    workload = _file(workload_at(run, at), "workloads")
    return {
        "machine": _machine_text(run, changes),
        "workload": read_text(workload),
        "parameters": parameters,
        "phases": None if run.phases is None else list(run.phases),
        "axis": next((one.simple for one in run.sliders if one.simple and "." not in one.simple), "P"),
    }


def stops_asked(run: Run, texts: Mapping[str, str]) -> dict[str, int]:
    """Return the stops of a run that a request names by their numbers, others where its sliders begin.

    InputError for a number that no stop has.
    """
    at = start_of(run)
    for slider in run.sliders:
        text = texts.get(slider.name)
        if text is None:
            continue
        if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < len(slider.stops)):
            allowed = f"0 to {len(slider.stops) - 1}"
            raise InputError("number of a stop", Place(slider.name), value=text, allowed=allowed)
        at[slider.name] = int(text)
    return at


def shipped_text(kind: str, name: str) -> str | None:
    """Return the file of a bundled machine or workload, None for an unknown name."""
    folder = {"machine": "topologies", "workload": "workloads"}.get(kind)
    if folder is None or name not in available(folder):
        return None
    return read_text(shipped_path(folder, f"{name}.yaml"))


def _written(name: str, value: Any) -> Any:
    """Return a constant of a machine as in the text of its file: 2 us."""
    dimension = dimension_at(name)
    return format_quantity(value, dimension) if dimension and isinstance(value, float) else value


def _file(source: str | Path, folder: str) -> Path:
    """Return the YAML file of a workload or a machine: of the lesson, or bundled. InputError for any other."""
    if str(source) in available(folder):
        return shipped_path(folder, f"{source}.yaml")
    path = Path(source)
    if path.suffix not in (".yaml", ".yml") or not is_file(path):
        raise InputError("not a text", value=str(source), allowed="a description in YAML")
    return path


def _machine_text(run: Run, changes: Mapping[str, object]) -> str:
    """Return a machine as a complete text: an extended bundled one, or all of the lesson's own file."""
    if run.machine not in available("topologies"):
        return as_yaml(machine_tree(run.machine, changes)[0])
    if not changes:
        return read_text(_file(run.machine, "topologies"))
    own = nested({"simcodesign": 1, "name": f"{run.machine}-changed", "extends": run.machine, **changes}, "lesson")
    return as_yaml(own)


def as_yaml(entry: Entry, indent: int = 0) -> str:
    """Return the text of a tree of scalars, sequences and mappings; sequences in one line."""
    assert isinstance(entry.content, dict)
    lines = []
    for key, one in entry.content.items():
        if isinstance(one.content, dict) and one.content:
            lines.append(f"{' ' * indent}{_scalar(key, True)}:\n{as_yaml(one, indent + 2)}")
        else:
            lines.append(f"{' ' * indent}{_scalar(key, True)}: {_flow(one)}\n")
    return "".join(lines)


def _flow(entry: Entry) -> str:
    if isinstance(entry.content, list):
        return f"[{', '.join(_flow(one) for one in entry.content)}]"
    if isinstance(entry.content, dict):
        return f"{{{', '.join(f'{_scalar(key, True)}: {_flow(one)}' for key, one in entry.content.items())}}}"
    return _scalar(entry.content, entry.plain)


def _scalar(text: str, plain: bool) -> str:
    """Return the text as it is if it cannot be taken for YAML, otherwise in quotes."""
    is_safe = plain and text and all(letter.isalnum() or letter in "_-./ +*" for letter in text)
    return text if is_safe and text == text.strip() and text[0] not in "-*" else json.dumps(text, ensure_ascii=False)
