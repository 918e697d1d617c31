"""Measurements compared with both readings, in words.

Their spread, the errors of the readings, the unexplained rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from simcodesign.comparison.attribution import ROUNDING
from simcodesign.comparison.compare import LOADED, Comparison
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.report.common.numbers import Seconds, ends_of, signed_percent
from simcodesign.report.common.tables import paragraph
from simcodesign.report.results.tables import time_text

NAN = float("nan")
#: Factor between neighbouring units of time.
UNITS = 1000.0


def spread_text(measured: MeasuredValue | None, show: Seconds) -> str:
    """Return the ends of a spread, in the unit of a table; empty if it is not known."""
    return "" if measured is None or measured.ends is None else ends_of(*map(show, measured.ends))


def measured_lines(comparison: Comparison) -> list[RenderableType]:
    """How far both readings are from the measured total, and where else something was measured if nothing was here."""
    if comparison.measured_elsewhere:
        return [
            paragraph(f"Nothing was measured at this point; measured times are of {comparison.measured_elsewhere}.")
        ]
    return [paragraph(" ".join(_sentences(comparison)))] if comparison.measured is not None else []


def _sentences(comparison: Comparison) -> Iterator[str]:
    measured, last = comparison.measured, comparison.not_explained
    if measured is None:
        return
    if measured.total is not None and last is not None:
        errors = [_off(name, error) for name, error in comparison.measured_errors.items()]
        *most, least = errors
        yield f"Against the measured time ({_with_spread(measured.total)}), {', '.join(most)} and {least}."
        if abs(last.change_s) > ROUNDING * last.time_s:
            more = "more" if last.change_s > 0 else "less"
            yield f"{time_text(abs(last.change_s))} {more} than simulated is not explained{_beside_spread(comparison)}."
        yield from unit_hint(float(measured.total), float(comparison.simulation.headline_s))
    if measured.role == "calibration":
        yield "Its table states that constants were determined from it (role: calibration), so that it is no evidence."
    if measured.source:
        yield f"Source: {measured.source}."


def unit_hint(measured_s: float, predicted_s: float) -> Iterator[str]:
    """Yield a sentence if two times differ by so much that one of them probably has another unit."""
    if measured_s > 0 and predicted_s > 0 and not 1 / UNITS < measured_s / predicted_s < UNITS:
        yield "Measured and predicted times differ by a factor of 1,000 or more: a time without a unit is in seconds."


def _off(name: str, error: float) -> str:
    """How far a reading is off."""
    name = "loaded forecast" if name == LOADED else name
    if abs(error) < ROUNDING:
        return f"the {name} is the same to rounding"
    return f"the {name} is {signed_percent(abs(error), '-')} too {'low' if error < 0 else 'high'}"


def _with_spread(one: MeasuredValue) -> str:
    """Return a time with its spread, as far as known."""
    parts = [time_text(float(one))]
    if one.ends is not None:
        ends = [*map(time_text, one.ends)]
        spread = " to ".join(ends) if {*ends} - {*parts} else "the same in all digits shown"
        parts.append(f"{spread}: {one.interval or 'its file does not say what these ends are (`interval:`)'}")
    if one.n is not None:
        parts.append(f"n = {one.n:,}")
    return "; ".join(parts)


def _beside_spread(comparison: Comparison) -> str:
    """Whether the simulation lies within the spread of what was measured."""
    total = None if comparison.measured is None else comparison.measured.total
    if total is None or total.ends is None:
        return ""
    low, high = total.ends
    inside = low <= float(comparison.simulation.headline_s) <= high
    return ", though the simulation lies within the spread" if inside else "; the simulation lies outside the spread"
