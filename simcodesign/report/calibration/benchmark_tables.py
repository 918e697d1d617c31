"""Constants of a machine from benchmarks: tables, sentences, and a dictionary for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.calibration.benchmarks.algorithms import AlgorithmChoice
from simcodesign.calibration.benchmarks.machine_constants import MachineCalibration
from simcodesign.calibration.benchmarks.nodes.full_node import HOLDS_RECEIVER
from simcodesign.calibration.benchmarks.point_to_point import PointToPoint
from simcodesign.calibration.benchmarks.samples import MachineConstant
from simcodesign.calibration.estimates import Combination
from simcodesign.core.to_json import attributes_of, fields_of
from simcodesign.core.units import DIMENSIONS, format_quantity
from simcodesign.report.calibration.machine_file import lines_text
from simcodesign.report.common.numbers import Digits, ends_of
from simcodesign.report.common.tables import new_table, paragraph


def benchmark_tables(calibration: MachineCalibration) -> Iterator[RenderableType]:
    """Yield the constants, how the number of segments was chosen, and the rows used.

    Sentences name the constants that cannot be separated.
    """
    yield paragraph(f"{calibration.machine.name}: constants from benchmarks", bold=True)
    if calibration.all_constants or not calibration.choices:
        yield constants_table(calibration)
    if calibration.choices:
        yield algorithms_table(calibration.choices)
        yield paragraph(ALGORITHM_WORDS)
        yield from (paragraph(text) for text in caution_sentences(calibration.choices))
    if calibration.messages is not None and len(calibration.messages.segmentation.errors):
        yield cross_validation_table(calibration.messages)
    yield from (paragraph(sentence) for sentence in benchmark_sentences(calibration))


def constants_table(calibration: MachineCalibration) -> Table:
    """One row a constant; constants of messages by segments."""
    level = f"{calibration.level:.0%} interval".replace("%", " %")
    table = new_table("Constants", "constant", "up to", "estimate", level, "rows", "from")
    messages = calibration.messages
    segments = () if messages is None else messages.segments
    near = [one.segments for one in calibration.within_node]
    for count, segment in [(len(some), one) for some in (segments, *near) for one in some]:
        end = "" if count == 1 else "any" if math.isinf(segment.up_to) else f"{segment.up_to:g} B"
        for constant in (segment.startup, segment.per_byte):
            table.add_row(constant.path, end, *_cells(constant))
    own = () if messages is None else messages.constants
    for constant in (*own, *calibration.constants):
        table.add_row(constant.path, "", *_cells(constant))
    if calibration.holds_receiver is not None:
        holds = str(calibration.holds_receiver).lower()
        table.add_row(HOLDS_RECEIVER, "", holds, "-", "", "messages both ways concurrently")
    if calibration.duplex is not None:
        table.add_row("network.interfaces.duplex", "", calibration.duplex, "-", "", "messages both ways concurrently")
    if calibration.sharing is not None:
        table.add_row("network.sharing", "", calibration.sharing, "-", "", "interfaces under load need it")
    return table


#: Explanation of the algorithms of a calibration.
ALGORITHM_WORDS = (
    "spread: standard deviation of the logarithm of measured / forecast. The algorithm with the least spread makes "
    "forecasts better; which one the library ran is not known from times."
)


def algorithms_table(choices: Sequence[AlgorithmChoice]) -> Table:
    """One row a range of sizes of an operation, with the algorithm that varies least and the next two."""
    table = new_table(
        "Algorithms that vary least", "operation", "bytes", "algorithm", "spread", "measured / forecast", "rows", "next"
    )
    for one in choices:
        others = ", ".join(f"{name.replace('_', ' ')} {spread:.3g}" for name, spread in one.others[:2])
        name = one.candidate.label.replace("_", " ")
        numbers = (f"{one.spread:.3g}", f"{one.ratio:.3g}", str(one.rows))
        table.add_row(one.operation, _range(one), name, *numbers, others)
    return table


def caution_sentences(choices: Sequence[AlgorithmChoice]) -> list[str]:
    """Return a sentence for each range in which another algorithm fits about as well but predicts another time."""
    decides = "a larger run in --evidence shows which one predicts better"
    cautions = [(one, one.caution.replace("_", " ")) for one in choices if one.caution]
    return [f"Caution: {one.operation} of {_range(one)}: {words}; {decides}." for one, words in cautions]


def _range(one: AlgorithmChoice) -> str:
    """Return the sizes of a range."""
    return " to ".join(dict.fromkeys(format_quantity(size, "size") for size in (one.from_bytes, one.up_to_bytes)))


def _cells(constant: MachineConstant) -> tuple[str, str, str, str]:
    rows = sum(len(lines) for lines in constant.lines.values())
    low, high = (_shown(constant, end) for end in (constant.low, constant.high))
    interval = (
        "-" if math.isnan(constant.low) else f"{low} or more" if math.isinf(constant.high) else ends_of(low, high)
    )
    return _shown(constant, constant.value), interval, str(rows), constant.how


def _shown(constant: MachineConstant, value: float) -> str:
    return format_quantity(value, constant.dimension)


def cross_validation_table(messages: PointToPoint) -> Table:
    """Return the error on sizes left out by the number of segments, as a factor, and which number was chosen."""
    table = new_table("Segments, by cross-validation", "segments", "mean squared log error", "standard error", "chosen")
    cuts = messages.segmentation
    errors, spreads = Digits(cuts.errors, 3), Digits(cuts.standard_errors, 2)
    for count, (error, spread) in enumerate(zip(cuts.errors, cuts.standard_errors, strict=True), 1):
        best = "smallest" if count == int(np.argmin(cuts.errors)) + 1 else ""
        table.add_row(str(count), errors(error), spreads(spread), "chosen" if count == cuts.count else best)
    return table


def benchmark_sentences(calibration: MachineCalibration) -> Iterator[str]:
    """Yield notes, changes of protocols, constants that cannot be separated, and the rows used."""
    messages = calibration.messages
    if messages is not None:
        for segment in messages.segments[:-1]:
            low, high = segment.up_to_range
            yield (
                f"A change after {segment.up_to:g} bytes: between {low:g} and {high:g} "
                f"({calibration.level:.0%}".replace("%", " %")
                + ")."
            )
        for group in messages.all_unknown.groups:
            if group.missing:
                names = ", ".join(group.undetermined)
                sums = "; ".join(_combination(one) for one in group.combinations)
                yield f"Not separable: {names}. Determined are {sums}."
    yield from calibration.notes
    yield from used_sentences(calibration)


def _combination(one: Combination) -> str:
    terms = [name if abs(weight - 1) < 1e-6 else f"{weight:.4g} x {name}" for name, weight in one.weights.items()]
    return f"{' + '.join(terms)} = {format_quantity(one.value, 'time')}" if one.value >= 0 else " + ".join(terms)


def used_sentences(calibration: MachineCalibration) -> Iterator[str]:
    """Yield the used rows of each file, which are no evidence for the machine, and how many others are evidence."""
    used = calibration.lines
    measured = {name for one in calibration.evidence for name in one.source.split(", ")}
    for table in calibration.tables:
        lines, name = used.get(table.file, ()), Path(table.file).name
        what = f"lines {lines_text(lines)} were used and are no evidence" if lines else "no row was used"
        if name in measured:
            what += f"; its {'other ' if lines else ''}rows of collective operations are evidence"
        yield f"{name} ({table.format}, {len(table.rows)} rows): {what}."


def benchmark_dict(calibration: MachineCalibration) -> dict[str, Any]:
    """Plain numbers in SI units, as for JSON."""
    messages = calibration.messages
    cuts = None if messages is None else messages.segmentation
    return {
        "machine": calibration.machine.name,
        "level": calibration.level,
        "segments": [
            {
                "up_to": None if math.isinf(one.up_to) else one.up_to,
                "up_to_range": None if math.isinf(one.up_to) else list(one.up_to_range),
                "startup": _constant_dict(one.startup),
                "per_byte": _constant_dict(one.per_byte),
            }
            for one in (() if messages is None else messages.segments)
        ],
        "within_node": [
            {
                "up_to": None if math.isinf(one.up_to) else one.up_to,
                "startup": _constant_dict(one.startup),
                "per_byte": _constant_dict(one.per_byte),
            }
            for near in calibration.within_node
            for one in near.segments
        ],
        "constants": [
            _constant_dict(one) for one in (*(() if messages is None else messages.constants), *calibration.constants)
        ],
        "algorithms": [fields_of(one, without=("lines",)) for one in calibration.choices],
        "evidence": [fields_of(one) for one in calibration.evidence],
        "duplex": calibration.duplex,
        "sharing": calibration.sharing,
        "holds_receiver": calibration.holds_receiver,
        "cross_validation": None
        if cuts is None or not len(cuts.errors)
        else {"errors": cuts.errors.tolist(), "standard_errors": cuts.standard_errors.tolist(), "chosen": cuts.count},
        "indistinguishable": []
        if messages is None
        else [
            {
                **attributes_of(group, "undetermined", "missing"),
                "combinations": [attributes_of(one, "weights", "value", "interval") for one in group.combinations],
            }
            for group in messages.all_unknown.groups
            if group.missing
        ],
        "files": [
            {
                "file": table.file,
                "format": table.format,
                "rows": len(table.rows),
                "used_lines": list(calibration.lines.get(table.file, ())),
            }
            for table in calibration.tables
        ],
        "sentences": list(benchmark_sentences(calibration)),
    }


def _constant_dict(constant: MachineConstant) -> dict[str, Any]:
    return {
        **attributes_of(constant, "how", constant="path", estimate="value"),
        "unit": DIMENSIONS[constant.dimension],
        "interval": [constant.low, constant.high],
        "rows": sum(len(lines) for lines in constant.lines.values()),
    }
