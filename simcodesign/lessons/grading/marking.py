"""Points for an answer. A question is a mapping as ``questions.question_told`` makes it, with its truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcodesign.lessons.grading.typed import readings, writes_thousands

#: How the remark on an answer begins that a person has to read.
TWO_WAYS = "can be read in two ways"
#: A curve within twice its tolerance has half of the points.
HALF = 2.0
#: Of numbers that are 0 or have no tolerance: what typing and rounding may do.
_LEAST_RELATIVE, _LEAST_ABSOLUTE = 1e-9, 1e-12


@dataclass(frozen=True)
class Mark:
    """Points of an answer, and a remark.

    What is to be said of an answer that could not be judged, or "", and by what fraction a number or a curve misses the
    truth, if there is one.
    """

    points: float
    remark: str = ""
    off: float | None = None


def mark(question: Mapping[str, Any], given: object, axis: Sequence[float] = (), language: str = "en") -> Mark:
    """Return the points for what was ``given``, of any type.

    ``axis``: the values of the stops of a curve's slider; ``language``: in whose notation a text is read as a number.
    """
    if "choices" in question:
        return _choice(question, given)
    if "truth" in question:
        return _curve(question, given, axis)
    found = numbers(question, given, language)
    if not found:
        return Mark(0.0, "not a number")
    if len(found) > 1:
        return Mark(0.0, f"{TWO_WAYS}, as {' or as '.join(f'{one:.12g}' for one in found)}")
    (value,) = found
    answer = question["answer"]
    off = (value - answer) / abs(answer) if answer else None
    return Mark(question["points"] if is_near(value, answer, question["tolerance"]) else 0.0, off=off)


def number(given: object) -> float | None:
    """Return a finite number, or None; texts and truth values are none."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        value = float(given)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def numbers(question: Mapping[str, Any], given: object, language: str) -> tuple[float, ...]:
    """Return what a number, or a text with one, can mean as an answer to a question: no number, one or two."""
    if not isinstance(given, str):
        value = number(given)
        return () if value is None else (value,)
    found = readings(given, language, question["unit"])
    return found[:1] if writes_thousands(question["html"], language) else found


def is_near(value: float, answer: float, tolerance: float) -> bool:
    """Whether a number is right within a relative tolerance."""
    return abs(value - answer) <= max_error(answer, tolerance)


def max_error(answer: float, tolerance: float) -> float:
    """Return by how much a number may differ from the answer, in the answer's unit; ``tolerance`` is relative."""
    return max(tolerance, _LEAST_RELATIVE) * abs(answer) + _LEAST_ABSOLUTE


def _choice(question: Mapping[str, Any], given: object) -> Mark:
    known = {one["id"]: one["right"] for one in question["choices"]}
    if not isinstance(given, str) or given not in known:
        return Mark(0.0, "not one of the choices")
    return Mark(question["points"] if known[given] else 0.0)


def _curve(question: Mapping[str, Any], given: object, axis: Sequence[float]) -> Mark:
    if not isinstance(given, Mapping):
        return Mark(0.0, "not a curve")
    drawn = [number(given.get(str(stop))) for stop in question["open"]]
    known = [value for value in drawn if value is not None and value > 0]
    if len(known) < len(drawn):
        return Mark(0.0, "a curve without all of its points")
    miss = missed_share(axis_of([axis[stop] for stop in question["open"]]), known, question["truth"])
    full, tolerance = question["points"], question["tolerance"] * (1 + _LEAST_RELATIVE)
    return Mark(full if miss <= tolerance else full / 2 if miss <= HALF * tolerance else 0.0, off=miss)


def axis_of(values: Sequence[float]) -> list[float]:
    """Return the places of stops along a curve.

    At the logarithms of their values if all are positive, otherwise at the values.
    """
    return [math.log(value) for value in values] if min(values) > 0 else list(values)


def missed_share(x: Sequence[float], drawn: Sequence[float], truth: Sequence[float]) -> float:
    """By what fraction a curve misses another in the geometric mean over the axis: 0.25 for 25 % too high everywhere.

    Both are straight between points where y is logarithmic. The area between them there, over the width of the axis,
    is the mean of \\|ln(drawn/truth)\\|. ``x`` ascends; two points or more, of positive values.
    """
    apart = [math.log(a) - math.log(b) for a, b in zip(drawn, truth, strict=True)]
    area = 0.0
    for left, right, first, second in zip(x, x[1:], apart, apart[1:], strict=False):
        size = abs(first) + abs(second)
        crossing = first * second < 0
        area += (right - left) * ((first * first + second * second) / (2 * size) if crossing else size / 2)
    mean = area / (x[-1] - x[0])
    return math.expm1(mean) if mean < 700 else math.inf
