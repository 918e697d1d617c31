"""Cards of the report: the outcomes of each collection, with how far off they are as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simcodesign.report.validation.pictures import packed
from simcodesign.report.validation.story import Worst, worst_cases
from simcodesign.report.validation.tables import shown_point
from simcodesign.studies.validation.case import KINDS, Collection
from simcodesign.studies.validation.outcome import CaseOutcome, counts
from simcodesign.studies.validation.verdict import HOLDS, Verdict

#: The picture: its width, what is below its axis, how far the axis continues to both sides, the width of a column of
#: dots, how high columns may be, and how wide half the middle is, in which deviations are too small to tell apart.
WIDTH, FOOT, MARGIN, STEP, ROOM, MIDDLE = 720, 26, 30, 6, 92, 24
#: Deviations at the edge of the middle and at the ends of the axis.
LEAST, MOST = 1e-5, 10.0
#: Shares of the axis that are labelled.
TICKS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Card:
    """The outcomes of a collection. ``number``: from 1, by which the page names it."""

    number: int
    collection: Collection
    outcomes: tuple[CaseOutcome, ...]

    @property
    def title(self) -> str:
        """Title of the collection, or the group of its cases."""
        return self.collection.title or self.outcomes[0].group

    @property
    def counted(self) -> list[tuple[Verdict, int]]:
        """Verdicts that occur, and how often."""
        return [(verdict, count) for verdict, count in counts(self.outcomes).items() if count]

    @property
    def values(self) -> int:
        """How many numbers were checked."""
        return sum(len(outcome.points) for outcome in self.outcomes)

    @property
    def dots(self) -> tuple[float, list[tuple[Verdict, str]]]:
        """The height, and paths of points, one for each verdict: a dot for each case, where its deviation is."""
        return dots(self.outcomes)

    @property
    def worst(self) -> Worst | None:
        """The worst of its cases, of those that test a reading."""
        return next(iter(worst_cases(self.outcomes, 1)), None)

    @property
    def unplaced(self) -> int:
        """Return how many cases have no deviation: bounds that hold, and what cannot be computed."""
        return sum(not math.isfinite(deviation(outcome)) for outcome in self.outcomes)

    @property
    def pictured(self) -> list[CaseOutcome]:
        """Outcomes with a picture."""
        return [outcome for outcome in self.outcomes if outcome.plot]

    @property
    def pack(self) -> str:
        """Their pictures, compressed."""
        return packed([outcome.plot for outcome in self.pictured])


def cards(outcomes: Sequence[CaseOutcome]) -> list[Card]:
    """Return a card for each collection, or group of cases in none; papers first."""
    found: dict[tuple[Collection, str], list[CaseOutcome]] = {}
    for outcome in outcomes:
        known = outcome.collection
        found.setdefault((known, "" if known.title else outcome.group), []).append(outcome)
    ordered = sorted(found.items(), key=lambda item: KINDS.index(item[0][0].kind))
    return [Card(number, key[0], tuple(each)) for number, (key, each) in enumerate(ordered, 1)]


def deviation(outcome: CaseOutcome) -> float:
    """Deviation of the point that shows the case; nan if there is none, as of a bound that holds."""
    if outcome.tolerance.sense != "equal" and outcome.verdict in HOLDS:
        return math.nan
    return outcome.deviation(shown_point(outcome))


def place(value: float) -> float:
    """Where a deviation is on the axis: logarithmic to both sides of the middle."""
    size = min(abs(value), MOST)
    if size <= LEAST:
        return WIDTH / 2
    side = (WIDTH / 2 - MIDDLE - MARGIN) * math.log(size / LEAST) / math.log(MOST / LEAST)
    return WIDTH / 2 + math.copysign(MIDDLE + side, value)


def dots(outcomes: Sequence[CaseOutcome]) -> tuple[float, list[tuple[Verdict, str]]]:
    """Height and paths. Dots in columns that grow upwards; middle columns lie side by side as well."""
    columns: dict[int, list[CaseOutcome]] = {}
    across = 2 * MIDDLE // STEP - 1
    middle = 0
    for outcome in sorted(outcomes, key=lambda one: [*Verdict].index(one.verdict), reverse=True):
        value = deviation(outcome)
        if not math.isfinite(value):
            continue
        column = round(place(value) / STEP)
        if abs(value) <= LEAST:
            column += middle % across - across // 2
            middle += 1
        columns.setdefault(column, []).append(outcome)
    highest = max(map(len, columns.values()), default=1)
    gap = min(STEP, ROOM / highest)
    room = math.ceil(gap * (highest - 1) + STEP)
    paths: dict[Verdict, str] = {}
    for column, each in columns.items():
        for row, outcome in enumerate(each):
            dot = f"M{column * STEP} {room - STEP / 2 - gap * row:.4g}h0"
            paths[outcome.verdict] = paths.get(outcome.verdict, "") + dot
    return room, list(paths.items())


def ticks() -> Iterator[tuple[float, str]]:
    """Places and words of the ticks of the axis."""
    yield WIDTH / 2, "0"
    for size in TICKS:
        for sign, value in (("\N{MINUS SIGN}", -size), ("+", size)):
            if value > -MOST:
                yield round(place(value), 1), f"{sign}{100 * size:g} %"
