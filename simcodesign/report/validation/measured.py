"""Measured values of validation cases with formula, forecast and simulation: columns of the page, and a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from rich.console import RenderableType
from rich.table import Table

from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.report.common.numbers import with_ends
from simcodesign.report.common.tables import new_table
from simcodesign.report.validation.tables import number, percent
from simcodesign.studies.validation.outcome import CaseOutcome
from simcodesign.studies.validation.verdict import SERIES, CaseValue

#: Name of a column of a table of points, whether it has the unit of the case, and a cell of it for a factor.
Column = tuple[str, bool, Callable[[CaseValue, float], str]]
NAN = float("nan")


def with_measured(outcomes: Iterable[CaseOutcome]) -> list[CaseOutcome]:
    """Outcomes of cases with measurements."""
    return [outcome for outcome in outcomes if any(point.measured is not None for point in outcome.points)]


def expects_measured(outcome: CaseOutcome) -> bool:
    """Whether all that is expected is what was measured."""
    return all(point.measured is not None and float(point.measured) == point.expected for point in outcome.points)


def measured_columns(outcome: CaseOutcome) -> list[Column]:
    """Measured values, if they are not what is expected anyway.

    Errors against them; what is not explained. Nothing if nothing was measured.
    """
    if not with_measured([outcome]):
        return []
    columns: list[Column] = [] if expects_measured(outcome) else [("measured", True, measured_text)]
    known = [name for name in SERIES if any(name in point.measured_errors for point in outcome.points)]
    columns += [(f"error of {name}", False, _error_of(name)) for name in known]
    if any(point.not_explained is not None for point in outcome.points):
        columns.append(("not explained", True, _not_explained))
    return columns


def _error_of(name: str) -> Callable[[CaseValue, float], str]:
    return lambda point, _: percent(point.measured_errors.get(name, NAN))


def _not_explained(point: CaseValue, scale: float) -> str:
    return number(point.not_explained, scale).replace("-", "\N{MINUS SIGN}")


def measured_text(point: CaseValue, scale: float) -> str:
    """Return a measured value and, in brackets, its spread."""
    one = point.measured
    if one is None:
        return number(None)
    value = number(one.value, scale)
    return value if one.ends is None else with_ends(value, *(number(end, scale) for end in one.ends))


def spread_words(outcome: CaseOutcome) -> str:
    """Kind of the spread of measured values, and the numbers of measurements; empty if neither is known."""
    every = [point.measured for point in outcome.points if point.measured is not None]
    intervals = dict.fromkeys(one.interval or "a spread" for one in every if one.ends)
    words = f"in brackets: {', '.join(intervals)}" if intervals else ""
    return "; ".join(part for part in (words, _counts(every)) if part)


def _counts(every: Sequence[MeasuredValue]) -> str:
    """Numbers of measurements behind values."""
    counts = sorted({one.n for one in every if one.n is not None})
    if not counts:
        return ""
    span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{span} measurement{'' if counts[-1] == 1 else 's'} behind each value"


def measured_summary(outcomes: Sequence[CaseOutcome]) -> list[RenderableType]:
    """Return a table of cases with measured values.

    It has the median size of the error of formula, forecast and simulation, and the largest error of the simulation.
    Nothing if nothing was measured.
    """
    shown = with_measured(outcomes)
    return [_summary(shown)] if shown else []


def _summary(outcomes: Sequence[CaseOutcome]) -> Table:
    titles = ("case", "points", *SERIES, "worst simulation")
    table = new_table("Errors against measured values: median size, and the worst", *titles)
    for outcome in outcomes:
        errors = [point.measured_errors for point in outcome.points if point.measured is not None]
        sizes = [[abs(one[name]) for one in errors if name in one] for name in SERIES]
        medians = [percent(median(several)).removeprefix("+") if several else number(None) for several in sizes]
        simulated = [one["simulation"] for one in errors if "simulation" in one]
        worst = percent(max(simulated, key=abs)) if simulated else number(None)
        table.add_row(outcome.name, str(len(errors)), *medians, worst)
    return table
