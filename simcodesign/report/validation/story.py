"""Summary of the outcomes of validation: what was checked, what holds, and the worst of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.report.validation.tables import closeness, deviation_text, expected_text, number, row_unit, shown_point
from simcodesign.studies.validation.case import KINDS
from simcodesign.studies.validation.outcome import CaseOutcome, counts, source_checks
from simcodesign.studies.validation.verdict import HOLDS, Verdict

#: So many cases are the worst.
WORST = 3
#: From bad to good; a source that contradicts itself, or lacks something, is no evidence about the readings.
_JUDGED = (Verdict.DIFFERS, Verdict.NOT_REPRODUCED, *HOLDS)


@dataclass(frozen=True)
class Worst:
    """One of the worst cases, in words."""

    outcome: CaseOutcome
    values: str
    why: str


def checked_text(outcomes: Sequence[CaseOutcome]) -> str:
    """How many cases and numbers were checked, and what they are of."""
    kinds = Counter(outcome.collection.kind for outcome in outcomes)
    titles = {outcome.collection for outcome in outcomes}
    parts = []
    for kind in KINDS:
        several = sum(one.kind == kind for one in titles)
        if kinds[kind]:
            what = (
                f"{several} papers" if kind == "papers" and several > 1 else kind.removesuffix("s" * (kind == "papers"))
            )
            parts.append(f"{what or 'other cases'} ({kinds[kind]:,})")
    values = sum(len(outcome.points) for outcome in outcomes)
    cases = "one case" if len(outcomes) == 1 else f"{len(outcomes):,} cases"
    numbers = "one number" if values == 1 else f"{values:,} numbers"
    return f"{cases} with {numbers}: {', '.join(parts)}. Each has a tolerance, and the reason for it"


def holds_text(outcomes: Sequence[CaseOutcome]) -> str:
    """Return how many cases hold, by kind of evidence, and how near the readings are to the expected numbers."""
    number_of, alone = counts(outcomes), source_checks(outcomes)
    notes = {
        Verdict.REPRODUCED: f" ({alone:,} compare the source with itself)" if alone else "",
        Verdict.CONSISTENT: " (no source prints the number)",
    }
    parts = [f"{kind}: {number_of[kind]:,}{notes.get(kind, '')}" for kind in HOLDS]
    text = f"{len(outcomes):,} cases: {', '.join(parts)}"
    sizes = list(_deviations(outcomes))
    if len(sizes) < 10:
        return text
    half, most = np.quantile(sizes, [0.5, 0.9])
    within = f"half of them to {_percent(half)}, nine in ten to {_percent(most)}"
    within = within if _percent(half) != _percent(most) else f"nine in ten to {_percent(most)}"
    return f"{text}. The readings meet {len(sizes):,} numbers, {within}"


def others_text(outcomes: Sequence[CaseOutcome]) -> str:
    """How many cases have each of the other verdicts."""
    others = {verdict: count for verdict, count in counts(outcomes).items() if verdict not in HOLDS}
    parts = [f"{count:,} {verdict}" for verdict, count in others.items() if count]
    return f"The others: {', '.join(parts)}" if parts else "No other results"


def _deviations(outcomes: Sequence[CaseOutcome]) -> Iterator[float]:
    """Deviations of readings from the numbers that they have to meet, if these are no bounds."""
    for outcome in outcomes:
        if outcome.tested and outcome.tolerance.sense == "equal" and outcome.verdict in _JUDGED:
            sizes = (abs(outcome.deviation(point)) for point in outcome.points)
            yield from (size for size in sizes if math.isfinite(size))


def _percent(share: float) -> str:
    return "rounding" if share < 1e-9 else f"{100 * share:.2g} %"


def worst_cases(outcomes: Sequence[CaseOutcome], count: int = WORST) -> list[Worst]:
    """Return the worst: those that differ, those that are not reproduced, each by how far they are off.

    Then those that use up most of their tolerance.
    """
    judged = [outcome for outcome in outcomes if outcome.verdict in _JUDGED and outcome.tested]
    return [Worst(one, _values(one), _why(one)) for one in sorted(judged, key=_order)[:count]]


def _order(outcome: CaseOutcome) -> tuple[int, float]:
    point = shown_point(outcome)
    good = outcome.verdict in HOLDS
    size = closeness(outcome, point) if good else abs(outcome.deviation(point))
    return 2 if good else _JUDGED.index(outcome.verdict), -(math.inf if math.isnan(size) else size)


def _values(outcome: CaseOutcome) -> str:
    """Return expected value and readings, with their unit and deviation."""
    point = shown_point(outcome)
    scale, unit = row_unit(outcome, point)
    said = [(name, getattr(point, name)) for name in outcome.tested]
    words = [f"expected {expected_text(outcome, point, scale)}"]
    words += [f"{name} {number(value, scale)}" for name, value in said if value is not None]
    return ", ".join(f"{word} {unit}".rstrip() for word in words) + f" ({deviation_text(outcome, point)})"


def _why(outcome: CaseOutcome) -> str:
    if outcome.verdict in HOLDS:
        used = closeness(outcome, shown_point(outcome))
        return f"within its tolerance, of which it uses {used:.0%}" if 0 < used <= 1 else "within its tolerance"
    return outcome.error or outcome.because
