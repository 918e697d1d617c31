"""Outcomes of validation cases as tables and lines for a terminal, and the numbers as page and terminal show them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from simcodesign.report.tables import new_table
from simcodesign.validate.case import Case
from simcodesign.validate.outcome import Outcome, counts
from simcodesign.validate.verdict import Point, Verdict

STYLES = {
    Verdict.REPRODUCED: "green",
    Verdict.INCONSISTENT: "magenta",
    Verdict.NOT_RECOVERABLE: "yellow",
    Verdict.DIFFERS: "bold red",
}
#: Points of a failed case that are listed one by one.
MOST_POINTS = 20


def outcome_tables(outcomes: Sequence[Outcome]) -> list[RenderableType]:
    """All outcomes in one table, how many have which verdict, and what failed, point by point."""
    lines: list[RenderableType] = [outcome_table(outcomes), Padding(counts_line(outcomes), (0, 0, 1, 0), expand=False)]
    failures = [outcome for outcome in outcomes if outcome.verdict is Verdict.DIFFERS]
    return [*lines, *(Text("\n".join(failure_lines(outcome)) + "\n") for outcome in failures)]


def outcome_table(outcomes: Sequence[Outcome]) -> Table:
    """One row a case; of several points the worst, with how many there are."""
    table = new_table("", "verdict", "case", "points", "expected", "forecast", "simulated", "unit", "s")
    table.title = None
    table.columns[1].justify = table.columns[6].justify = "left"
    table.columns[0].no_wrap = True
    for outcome in outcomes:
        point = outcome.worst
        table.add_row(
            Text(outcome.verdict, STYLES[outcome.verdict]), outcome.name, str(len(outcome.points)),
            expected_text(outcome, point), number(point.forecast), number(point.simulation), outcome.unit,
            f"{outcome.seconds:.2f}",
        )  # fmt: skip
    return table


def expected_text(outcome: Outcome, point: Point) -> str:
    """What the source says, and what its own equations give where they contradict it."""
    target = outcome.target(point)
    said = number(point.expected)
    return said if target == point.expected else f"{said} (own {number(target)})"


def counts_line(outcomes: Sequence[Outcome]) -> str:
    """How many of how many: only what is reproduced is a success."""
    found = counts(outcomes)
    rest = [f"{verdict}: {count}" for verdict, count in found.items() if verdict is not Verdict.REPRODUCED]
    return f"{found[Verdict.REPRODUCED]} of {len(outcomes)} cases reproduced; " + ", ".join(rest)


def failure_lines(outcome: Outcome) -> Iterator[str]:
    """Why a case differs: its error, or every point that does."""
    yield f"{outcome.name} differs ({outcome.tolerance}: {outcome.tolerance.reason})"
    if outcome.error:
        yield f"  {outcome.error}"
        return
    bad = [point for point in outcome.points if point.verdict is Verdict.DIFFERS]
    for point in bad[:MOST_POINTS]:
        yield f"  {_labelled(outcome, point)}: {_said(outcome, point)}"
    if len(bad) > MOST_POINTS:
        yield f"  and {len(bad) - MOST_POINTS} more of {len(outcome.points)} points"


def _labelled(outcome: Outcome, point: Point) -> str:
    label = label_text(point.label)
    return f"{outcome.axis} {label}" if outcome.axis and not isinstance(point.label, str) else label


def _said(outcome: Outcome, point: Point) -> str:
    target = outcome.target(point)
    which = "expected" if target == point.expected else "expected by the source's own equations"
    parts = [f"{which} {exact(target)}"]
    for reading in outcome.tested:
        value = getattr(point, reading)
        parts.append(f"{reading} " + ("nothing" if value is None else exact(value)))
    return f"{', '.join(parts)} {outcome.unit} ({percent(outcome.deviation(point))})"


def case_table(cases: Sequence[Case]) -> Table:
    """Cases before they run."""
    table = new_table("", "case", "reading", "claim", "source")
    table.title = None
    for column in table.columns[1:]:
        column.justify = "left"
    for case in cases:
        runs = " (--full)" if case.full else ""
        table.add_row(case.name, case.reading + runs, case.claim, case.source)
    return table


def case_dict(case: Case) -> dict[str, object]:
    """A case before it runs, as for JSON."""
    names = ("name", "reading", "claim", "source", "unit", "quick", "full")
    return {name: getattr(case, name) for name in names} | {"points": len(case.expected)}


def number(value: float | None) -> str:
    """Six significant digits, whole numbers in full up to 10^9; a dash for none."""
    if value is None or math.isnan(value):
        return "\N{EN DASH}"
    value = float(value)
    if math.isfinite(value) and value == int(value) and abs(value) < 1e9:
        return f"{value:.0f}"
    return f"{value:.6g}"


def exact(value: float) -> str:
    """So many digits that a difference shows."""
    return f"{float(value):.12g}"


def percent(error: float) -> str:
    """A relative deviation with its sign and two digits, three from 100 % on."""
    if math.isnan(error):
        return "\N{EN DASH}"
    text = f"{100 * error:+.3g} %" if abs(error) >= 0.995 else f"{100 * error:+.2g} %"
    return "0" if error == 0 else text.replace("-", "\N{MINUS SIGN}")


def label_text(label: object) -> str:
    """What a value is called: words as they are, numbers as numbers."""
    return number(label) if isinstance(label, int | float) else str(label)
