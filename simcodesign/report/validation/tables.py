"""Outcomes of validation cases as tables and lines for a terminal, and the numbers as page and terminal show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from simcodesign.core.to_json import attributes_of
from simcodesign.report.common.numbers import shared_unit
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.studies.validation.case import Case
from simcodesign.studies.validation.outcome import CaseOutcome, counts, source_checks
from simcodesign.studies.validation.verdict import HOLDS, CaseValue, Verdict

STYLES = {
    Verdict.REPRODUCED: "bold green",
    Verdict.CHOSEN: "green",
    Verdict.CONSISTENT: "cyan",
    Verdict.INCONSISTENT: "magenta",
    Verdict.NOT_RECOVERABLE: "yellow",
    Verdict.NOT_REPRODUCED: "red",
    Verdict.DIFFERS: "bold red",
}
#: Points of a failed case that are listed one by one.
MOST_POINTS = 20


#: Verdicts of readings that differ from the source.
FAILED = (Verdict.DIFFERS, Verdict.NOT_REPRODUCED)
#: The verdict as one character, where the words do not fit.
MARKS = {
    Verdict.REPRODUCED: "+",
    Verdict.CHOSEN: "~",
    Verdict.CONSISTENT: "=",
    Verdict.INCONSISTENT: "/",
    Verdict.NOT_RECOVERABLE: "?",
    Verdict.NOT_REPRODUCED: "-",
    Verdict.DIFFERS: "X",
}
#: Claims of one side only, as they are written before what is expected.
SIGNS = {"equal": "", "at_least": ">= ", "at_most": "<= "}
#: Relative deviations below this come from rounding alone.
DUST = 1e-11
#: Longer names take two lines, broken after a stroke, where space is short.
LONG_NAME = 48
#: Columns of the table of outcomes, from the widest table to the narrowest.
WIDTHS = (
    ("verdict", "case", "points", "expected", "forecast", "simulated", "unit", "deviation", "took"),
    ("verdict", "case", "expected", "forecast", "simulated", "unit", "deviation"),
    ("", "case", "expected", "forecast", "simulated", "unit"),
    ("", "case", "expected", "unit", "deviation"),
    ("", "case", "deviation"),
    ("", "case"),
)


def outcome_tables(outcomes: Sequence[CaseOutcome]) -> list[RenderableType]:
    """All outcomes in one table, how many have which verdict, and what failed, point by point."""
    lines: list[RenderableType] = [
        FirstThatFits(
            [outcome_table(outcomes, columns) for columns in WIDTHS],
            legend="\n".join(map(legend, (HOLDS, [verdict for verdict in MARKS if verdict not in HOLDS]))),
        ),
        paragraph(counts_line(outcomes)),
    ]
    shown = (Verdict.NOT_REPRODUCED, Verdict.DIFFERS)
    failures = [outcome for verdict in shown for outcome in outcomes if outcome.verdict is verdict]
    return [*lines, *(Text("\n".join(failure_lines(outcome)) + "\n") for outcome in failures)]


def legend(verdicts: Iterable[Verdict]) -> str:
    """Return the marks of these verdicts and what they mean, on a line."""
    return "  ".join(f"{MARKS[verdict]} {verdict}" for verdict in verdicts)


class FirstThatFits:
    """The first of several tables that fits the terminal, otherwise the last, whose names are broken then.

    ``wraps``: whether texts may take several lines, so that a table fits if its longest words do. ``legend``: what is
    printed before a table that has the verdict as a mark.
    """

    def __init__(self, tables: Sequence[Table], *, wraps: bool = False, legend: str = "") -> None:
        self.tables, self.wraps, self.legend = tables, wraps, legend
        self.widest = tables[0]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(max_width=1000)
        for table in self.tables:
            size = Measurement.get(console, wide, table)
            if (size.minimum if self.wraps else size.maximum) <= options.max_width:
                break
        else:
            for column in table.columns:
                column.no_wrap = False
        if not table.columns[0].header:
            yield Text(f"\n{self.legend}")
        yield table


def outcome_table(outcomes: Sequence[CaseOutcome], columns: Sequence[str] = WIDTHS[0]) -> Table:
    """One row a case; of several points the shown one, with how many there are. Nothing is broken."""
    table = new_table("", *columns)
    table.title = None
    for column in table.columns:
        column.no_wrap = True
        if column.header in ("case", "unit"):
            column.justify = "left"
    for outcome in outcomes:
        cells = _cells(outcome)
        if not columns[0] and len(outcome.name) > LONG_NAME:
            cells["case"] = "/\n  ".join(outcome.name.rsplit("/", 1))
        table.add_row(*(cells[column] for column in columns))
    return table


def _cells(outcome: CaseOutcome) -> dict[str, RenderableType]:
    point, style = shown_point(outcome), STYLES[outcome.verdict]
    scale, unit = row_unit(outcome, point)
    return {
        "verdict": Text(outcome.verdict, style),
        "": Text(MARKS[outcome.verdict], style),
        "case": outcome.name,
        "points": str(len(outcome.points)),
        "expected": expected_text(outcome, point, scale),
        "forecast": number(point.forecast, scale),
        "simulated": number(point.simulation, scale),
        "unit": unit,
        "deviation": deviation_text(outcome, point),
        "took": f"{outcome.seconds:.2f} s",
    }


def shown_point(outcome: CaseOutcome) -> CaseValue:
    """Return the point that shows the case.

    Among points with its verdict, the closest to failing, or the worst failure.
    """
    bad = [point for point in outcome.points if point.verdict is outcome.verdict] or list(outcome.points)
    return max(bad, key=lambda point: closeness(outcome, point))


def closeness(outcome: CaseOutcome, point: CaseValue) -> float:
    """How much of its tolerance a point uses up, 1 if it begins to fail; what is left to a bound, negative."""
    target, tolerance = outcome.target(point), outcome.tolerance
    values: list[float] = [value for name in outcome.tested if (value := getattr(point, name)) is not None]
    if not outcome.tested and point.own is not None:
        values, target = [point.own], point.expected
    if len(values) < len(outcome.tested) or any(math.isnan(value) for value in values):
        return math.inf
    if not values:
        return -math.inf
    if tolerance.sense != "equal":
        side = 1 if tolerance.sense == "at_most" else -1
        return max(side * (value - target) for value in values) / (abs(target) or 1.0)
    margin = max(tolerance.absolute, tolerance.relative * abs(target)) or math.ulp(target)
    return max(abs(value - target) / margin for value in values)


def row_unit(outcome: CaseOutcome, *points: CaseValue) -> tuple[float, str]:
    """Return a factor and a unit that suit all numbers of these points."""
    return shared_unit((abs(outcome.target(point)) for point in points), outcome.unit)


def expected_text(outcome: CaseOutcome, point: CaseValue, scale: float = 1.0) -> str:
    """Return the source's value, and the result of its own equations if they contradict it; a sign before a bound."""
    target = outcome.target(point)
    expected = SIGNS[outcome.tolerance.sense] + number(point.expected, scale)
    return expected if target == point.expected else f"{expected} (own {number(target, scale)})"


def deviation_text(outcome: CaseOutcome, point: CaseValue) -> str:
    """Return the relative deviation; the difference where zero is expected; of a bound that holds, that it does."""
    deviation, target = outcome.deviation(point), outcome.target(point)
    if outcome.tolerance.sense != "equal" and outcome.tested and point.verdict not in FAILED:
        values = [value for name in outcome.tested if (value := getattr(point, name)) is not None]
        if not values:
            return "\N{EN DASH}"
        if target > 0 and min(values) > 0:
            ratio = (max(values) if outcome.tolerance.sense == "at_most" else min(values)) / target
            return f"holds, {percent(ratio - 1)}" if 0.5 < ratio < 2 else f"holds, x {ratio:.3g}"
        return "holds"
    if not math.isnan(deviation) or target != 0:
        return percent(deviation)
    values = [value for name in outcome.tested if (value := getattr(point, name)) is not None]
    if not values:
        return percent(deviation)
    return f"{max(values, key=abs):+z.2g} {outcome.unit}".rstrip().replace("-", "\N{MINUS SIGN}", 1)


def tolerance_text(outcome: CaseOutcome) -> str:
    """Return allowed deviations: percentages if they can be read, relative parts below."""
    tolerance = outcome.tolerance
    parts = []
    if tolerance.relative:
        small = tolerance.relative < 1e-5
        parts.append(f"relative {tolerance.relative:g}" if small else f"{100 * tolerance.relative:g} %")
    if tolerance.absolute:
        parts.append(f"{tolerance.absolute:g} {outcome.unit}".rstrip())
    within = f"within {' or '.join(parts)}" if parts else "exact"
    return {"equal": "", "at_least": "at least; ", "at_most": "at most; "}[tolerance.sense] + within


def counts_line(outcomes: Sequence[CaseOutcome]) -> str:
    """Return the number of cases of each kind, with a note on those that compare the source with itself."""
    alone = source_checks(outcomes)
    notes = {Verdict.REPRODUCED: f" ({alone} of them compare the source with itself)"} if alone else {}
    parts = [f"{verdict}: {count}{notes.get(verdict, '')}" for verdict, count in counts(outcomes).items()]
    return f"{len(outcomes)} case{'s' if len(outcomes) != 1 else ''}; " + ", ".join(parts)


def failure_lines(outcome: CaseOutcome) -> Iterator[str]:
    """Why a case differs or is not reproduced: its error or reason, and every point that does."""
    word = "differs" if outcome.verdict is Verdict.DIFFERS else "is not reproduced"
    yield f"{outcome.name} {word} ({outcome.tolerance}: {outcome.tolerance.reason})"
    if outcome.because and not outcome.error:
        yield f"  because {outcome.because}"
    if outcome.error:
        yield f"  {outcome.error}"
        return
    bad = [point for point in outcome.points if point.verdict is outcome.verdict]
    for point in bad[:MOST_POINTS]:
        yield f"  {_labelled(outcome, point)}: {_values_text(outcome, point)}"
    if len(bad) > MOST_POINTS:
        yield f"  and {len(bad) - MOST_POINTS} more of {len(outcome.points)} points"


def _labelled(outcome: CaseOutcome, point: CaseValue) -> str:
    label = label_text(point.label)
    return f"{outcome.axis} {label}" if outcome.axis and not isinstance(point.label, str) else label


def _values_text(outcome: CaseOutcome, point: CaseValue) -> str:
    target = outcome.target(point)
    which = "expected" if target == point.expected else "expected by the source's own equations"
    unit = f" {outcome.unit}" if outcome.unit else ""
    parts = [f"{which} {SIGNS[outcome.tolerance.sense]}{exact(target)}{unit}"]
    for reading in outcome.tested:
        value = getattr(point, reading)
        parts.append(f"no {reading}" if value is None else f"{reading} {exact(value)}{unit}")
    deviation = outcome.deviation(point)
    return ", ".join(parts) + ("" if math.isnan(deviation) else f" ({percent(deviation)})")


def case_list(cases: Sequence[Case]) -> RenderableType:
    """Cases before they run: a table as wide as the terminal allows."""
    return FirstThatFits([case_table(cases, most) for most in (4, 3, 2)], wraps=True)


def case_table(cases: Sequence[Case], columns: int = 4) -> Table:
    """Return the first ``columns`` columns.

    Names are not broken, and of the texts at least some words are on a line.
    """
    table = new_table("", *("case", "claim", "source", "reading")[:columns])
    table.title = None
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "left"
    for column in table.columns[1:3]:
        column.min_width = 24
    for case in cases:
        runs = " (--full)" if case.full else ""
        row = (case.name, case.claim, case.source, case.reading + runs)
        table.add_row(*row[:columns])
    return table


def case_dict(case: Case) -> dict[str, Any]:
    """Return a case before it runs."""
    names = ("name", "reading", "claim", "source", "unit", "quick", "full")
    return attributes_of(case, *names) | {"points": len(case.expected)}


def number(value: float | None, scale: float = 1.0) -> str:
    """Six significant digits, whole numbers in full up to 10^9; a dash for none."""
    if value is None or math.isnan(value):
        return "\N{EN DASH}"
    value = float(value) * scale
    if math.isfinite(value) and value == int(value) and abs(value) < 1e9:
        return f"{value:.0f}"
    return f"{value:.6g}"


def exact(value: float) -> str:
    """So many digits that a difference shows."""
    return f"{float(value):.12g}"


def percent(error: float) -> str:
    """Return a relative deviation with its sign and two digits, three from 100 % on."""
    if math.isnan(error):
        return "\N{EN DASH}"
    if 0 < abs(error) < DUST:
        return "< 1e-9 %"
    if 9.995 <= abs(error) < 1e4:
        text = f"{100 * error:+,.0f} %"
    else:
        text = f"{100 * error:+.3g} %" if abs(error) >= 0.995 else f"{100 * error:+.2g} %"
    return "0" if error == 0 else text.replace("-", "\N{MINUS SIGN}", 1) if error < 0 else text


def label_text(label: object) -> str:
    """Text of a value: words as they are, numbers as numbers."""
    return number(label) if isinstance(label, int | float) else str(label)
