"""A calibrated machine as a file that extends its base machine, and lists the measurements used."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simcodesign.calibration.benchmarks.algorithms import decision_table
from simcodesign.calibration.benchmarks.levels import NODE
from simcodesign.calibration.benchmarks.machine_constants import (
    MachineCalibration,
    constants_of_all,
    shared_by_segments,
)
from simcodesign.calibration.benchmarks.nodes.full_node import HOLDS_RECEIVER
from simcodesign.calibration.benchmarks.nodes.within_node import TOPOLOGY
from simcodesign.calibration.benchmarks.point_to_point import Segment
from simcodesign.calibration.benchmarks.samples import MachineConstant
from simcodesign.core.units import shortest_quantity
from simcodesign.describe.constants import dimension_at
from simcodesign.describe.machine_parts.evidence import Evidence

#: Constants that a file may state as a bandwidth, and by what key.
_BANDWIDTHS = {
    "network.reduction_per_byte": "network.reduction",
    "network.packing_per_byte": "network.packing_bandwidth",
    "network.interfaces.loaded_per_byte": "network.interfaces.loaded_bandwidth",
}
_PER_BYTE = "per_byte"
_DIGITS = 6
#: Runs of lines that a text lists.
MOST_RUNS = 24


def machine_file_text(calibration: MachineCalibration, name: str) -> str:
    """YAML that ``extends`` the machine: constants with their intervals as comments, the rows used in ``source``."""
    base = calibration.machine
    lines = [
        "simcodesign: 1",
        f"extends: {Path(calibration.name).stem if calibration.name.endswith(('.yaml', '.yml')) else calibration.name}",
        f"name: {name}",
        f"about: {_text(f'{base.about or base.name}; calibrated')}",
        f"source: {_text(_source(calibration))}",
        "# Rows named in source made these constants and are no evidence for this machine. "
        f"Intervals: {calibration.level:.0%}.",
        *(f"# {note}" for note in calibration.notes),
        *_tree_lines(_tree(calibration)),
        *(["evidence:"] if calibration.evidence else []),
        *(f"  - {_evidence(one)}" for one in calibration.evidence),
    ]
    return "\n".join(lines) + "\n"


def lines_text(lines: Sequence[int]) -> str:
    """Return ``1-5, 9, 12, 14, ..., 66``: runs of the same step in short, and how many lines there are of many runs."""
    parts: list[str] = []
    place = 0
    while place < len(lines):
        end = place + 1
        step = lines[end] - lines[place] if end < len(lines) else 0
        while end < len(lines) and lines[end] - lines[end - 1] == step:
            end += 1
        first, last = lines[place], lines[end - 1]
        if step > 1 and end - place < 4:  # a run of another step may begin with its second
            parts.append(str(first))
            end = place + 1
        else:
            short = (
                f"{first}-{last}" if step == 1 else f"{first}, {lines[place + 1 : end][0] if step else ''}, ..., {last}"
            )
            parts.append(str(first) if end == place + 1 else short)
        place = end
    if len(parts) > MOST_RUNS:
        return (
            f"{lines[0]}, ..., {lines[-1]} ({len(lines)} of them: role calibration in the table of --write rows:FILE)"
        )
    return ", ".join(parts)


def _source(calibration: MachineCalibration) -> str:
    used = "; ".join(f"{Path(file).name} lines {lines_text(lines)}" for file, lines in calibration.lines.items())
    stated = calibration.machine.source.strip()
    return f"{stated}{' ' if stated else ''}Calibrated from {used}."


def _tree(calibration: MachineCalibration) -> dict[str, Any]:
    """Nested keys with texts of values; a list for segments."""
    tree: dict[str, Any] = {}
    messages = calibration.messages
    segments = () if messages is None else messages.segments
    if len(segments) > 1:
        shared = shared_by_segments(calibration)
        _put(tree, "network.segments", [_segment(one, shared) for one in segments])
    elif segments:
        for one in (segments[0].startup, segments[0].per_byte):
            _put(tree, *_entry(one))
    if calibration.has_new_levels:
        _put(tree, f"{NODE}.topology", f"{{kind: {TOPOLOGY}}}")
    for near in calibration.within_node:
        if len(near.segments) > 1:
            _put(tree, f"{near.path}.segments", [_segment(one, {}) for one in near.segments])
        else:
            for one in (near.segments[0].startup, near.segments[0].per_byte):
                _put(tree, *_entry(one))
    if calibration.holds_receiver is not None:
        _put(tree, HOLDS_RECEIVER, str(calibration.holds_receiver).lower())
    for constant in constants_of_all(calibration):
        _put(tree, *_entry(constant))
    if calibration.duplex is not None:
        _put(tree, "network.interfaces.duplex", calibration.duplex)
    if calibration.sharing is not None:
        _put(tree, "network.sharing", calibration.sharing)
    for operation, rows in decision_table(calibration.choices, calibration.machine.collectives).items():
        _put(tree, f"collectives.{operation}", rows if isinstance(rows, str) else [_decision(row) for row in rows])
    return tree


def _decision(row: Mapping[str, object]) -> str:
    """One row of a decision table in one line."""
    end = f"up_to: {_quantity(float(str(row['up_to'])), 'size')}, " if "up_to" in row else ""
    segment = f", segment: {_quantity(float(str(row['segment'])), 'size')}" if "segment" in row else ""
    return f"{{{end}algorithm: {row['algorithm']}{segment}}}"


def _evidence(one: Evidence) -> str:
    """One item of the key ``evidence`` in one line."""
    sizes = f"bytes: [{', '.join(_quantity(size, 'size') for size in one.bytes)}], " if one.bytes else ""
    return (
        f"{{operation: {one.operation}, ranks: [{', '.join(map(str, one.ranks))}], {sizes}rows: {one.rows}, "
        f"median_error: {100 * one.median_error:.2g} %, reading: {one.reading}, source: {_text(one.source)}}}"
    )


def _text(text: str) -> str:
    """In double quotes, which YAML reads as JSON does."""
    return json.dumps(text, ensure_ascii=False)


def _put(tree: dict[str, Any], path: str, value: Any) -> None:
    *outer, last = path.split(".")
    for key in outer:
        tree = tree.setdefault(key, {})
    tree[last] = value


def _entry(constant: MachineConstant) -> tuple[str, str]:
    """Return the key and the value, times per byte as bandwidths, with the interval and the origin as a comment."""
    path, value, low, high = constant.path, constant.value, constant.low, constant.high
    dimension = constant.dimension
    if (path.endswith(_PER_BYTE) or path == "network.G") and value > 0:
        key = (
            "network.bandwidth"
            if path == "network.G"
            else _BANDWIDTHS.get(path, f"{path.removesuffix(_PER_BYTE)}bandwidth")
        )
        path, dimension = key, "bandwidth"
        value, low, high = 1 / value, _inverse(high), _inverse(low)
    return path, f"{_quantity(value, dimension)}  # {_interval(low, high, dimension)}{constant.how}"


def _segment(one: Segment, shared: Mapping[str, float]) -> str:
    """One segment as a mapping in one line, its intervals as a comment."""
    parts = [] if math.isinf(one.up_to) else [f"up_to: {_quantity(one.up_to, 'size')}"]
    texts = [f"{key}: {_quantity(value, dimension_at(f'network.{key}') or 'time')}" for key, value in shared.items()]
    notes = []
    for constant in (one.startup, one.per_byte):
        path, text = _entry(constant)
        value, _, note = text.partition("  # ")
        texts.append(f"{path.rpartition('.')[2]}: {value}")
        notes.append(note.removesuffix(constant.how).strip().removesuffix(";"))
    between = "" if math.isinf(one.up_to) else f"; ends between {one.up_to_range[0]:g} and {one.up_to_range[1]:g} B"
    return f"{{{', '.join(parts + texts)}}}  # {' and '.join(filter(None, notes))}; {one.startup.how}{between}"


def _interval(low: float, high: float, dimension: str) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    end = "more" if math.isinf(high) else _quantity(high, dimension)
    return f"{_quantity(low, dimension)} {'or' if end == 'more' else 'to'} {end}; "


def _inverse(value: float) -> float:
    return math.inf if value <= 0 else 1 / value  # nan stays nan


def _quantity(value: float, dimension: str) -> str:
    return shortest_quantity(value, dimension, _DIGITS)


def _tree_lines(tree: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from _tree_lines(value, f"{indent}  ")
        elif isinstance(value, list):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {item}" for item in value)
        else:
            yield f"{indent}{key}: {value}"
