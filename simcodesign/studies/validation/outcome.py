"""Outcome of a case: plain data that goes between processes, into JSON and onto a page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from simcodesign.comparison.attribution import relative_error
from simcodesign.comparison.compare import Comparison
from simcodesign.comparison.formulas.ladder import FormulaComparison
from simcodesign.core.to_json import PlainResult, fields_of
from simcodesign.studies.validation.case import Case, Collection, Readings, Tolerance
from simcodesign.studies.validation.verdict import HOLDS, CaseValue, Verdict, points_of, verdict_of


@dataclass(frozen=True)
class CaseLadderStep:
    """One row of a ladder: seconds after this step, what it adds, its fraction of the gap.

    ``effect``: an effect that is switched on, or another step of a formula's ladder.
    """

    effect: str
    simulated_s: float
    change_s: float
    fraction: float


@dataclass(frozen=True)
class CaseLadder:
    """From a forecast, or a formula of that name, to a simulation, effect after effect.

    ``absent``: effects that have nothing to act on.
    """

    title: str
    start: str
    start_s: float
    steps: tuple[CaseLadderStep, ...]
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseOutcome(PlainResult):
    """A case and the answers to it. ``error``: why there are none, otherwise empty. ``plot``: SVG, or empty."""

    name: str
    claim: str
    source: str
    unit: str
    reading: str
    tolerance: Tolerance
    verdict: Verdict
    points: tuple[CaseValue, ...]
    workload: str = ""
    machine: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    axis: str = ""
    missing: tuple[str, ...] = ()
    derivation: tuple[str, ...] = ()
    ladders: tuple[CaseLadder, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    because: str = ""
    error: str = ""
    plot: str = ""
    collection: Collection = field(default_factory=Collection)
    printed: bool = False
    inputs: tuple[tuple[str, str], ...] = ()
    ours: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The first part of the name."""
        return self.name.partition("/")[0]

    @property
    def tested(self) -> tuple[str, ...]:
        """The readings under test."""
        return {"both": ("forecast", "simulation"), "source": ()}.get(self.reading, (self.reading,))

    def target(self, point: CaseValue) -> float:
        """Value that a reading has to meet: the expected one, or the result of the source's own equations."""
        if point.own is None or self.tolerance.holds(point.own, point.expected):
            return point.expected
        return point.own

    @property
    def of_source(self) -> bool:
        """Whether the case compares the source with itself, and tests no reading."""
        return not self.tested

    @property
    def in_short(self) -> str:
        """The verdict in words, with its reason where the bare word would be too much or too little."""
        if self.verdict is Verdict.NOT_RECOVERABLE:
            return f"{self.verdict}: {self.unknown}"
        if self.verdict is Verdict.NOT_REPRODUCED:
            error = self.deviation(self.worst)
            size = f" by {100 * error:+.1f} %" if math.isfinite(error) else ""
            return f"{self.verdict}{size}: {self.because}"
        if self.verdict is Verdict.CHOSEN:
            return f"{self.verdict}: {'; '.join(self.ours)}" + (" (no reading tested)" if self.of_source else "")
        if self.of_source and self.verdict in HOLDS:
            return f"{self.verdict} (no reading tested)"
        return str(self.verdict)

    @property
    def unknown(self) -> str:
        """Why nothing can be recovered: inputs that the source lacks, or inputs that are ours."""
        if self.missing:
            return f"the source lacks {'; '.join(self.missing)}"
        if not self.ours:
            return "the case does not state the origins of its inputs"
        return f"the contradiction depends on {'; '.join(self.ours)}"

    def deviation(self, point: CaseValue) -> float:
        """Return the worst relative deviation of the readings under test from their target, with its sign.

        The largest, and of a bound the reading that is nearest to breaking it. In a case about the source, the
        deviation of its own equations from its numbers. nan if there is none.
        """
        if not self.tested:
            return math.nan if point.own is None else relative_error(point.own, point.expected)
        values = [value for name in self.tested if (value := getattr(point, name)) is not None]
        errors = [relative_error(value, self.target(point)) for value in values]
        return max(errors, key=lambda error: self._badness(point, error), default=math.nan)

    def _badness(self, point: CaseValue, error: float) -> float:
        """How bad a deviation is, in the sense of the tolerance; least for none."""
        if math.isnan(error):
            return -math.inf
        sense = self.tolerance.sense if self.target(point) == point.expected else "equal"
        return {"at_least": -error, "at_most": error}.get(sense, abs(error))

    @property
    def worst(self) -> CaseValue:
        """Return the point that shows the case.

        Among points with the worst verdict, the point that deviates most, or is nearest to breaking the bound that is
        claimed.
        """
        worst = [point for point in self.points if point.verdict is self.verdict] or list(self.points)
        return max(worst, key=lambda point: self._badness(point, self.deviation(point)))

    def json_fields(self) -> dict[str, Any]:
        """All but the plot."""
        shown = fields_of(self, "in_short", without=("plot", "ours"))
        return shown | {"parameters": dict(self.parameters), "inputs": dict(self.inputs)}


def outcome_of(
    case: Case, readings: Readings, *, seconds: float = 0.0, notes: Iterable[str] = (), plot: str = ""
) -> CaseOutcome:
    """Return the verdict on the readings. ValueError and the like when a derivation cannot be evaluated."""
    points, error = points_of(case, readings), ""
    if case.because and not case.missing and verdict_of(points) not in (Verdict.NOT_REPRODUCED, Verdict.DIFFERS):
        points = tuple(replace(point, verdict=Verdict.DIFFERS) for point in points)
        error = f"reproduced, although the case gives a reason why not: {case.because}"
    return _outcome(
        case,
        points,
        error=error,
        derivation=tuple(str(line) for line in (*case.derivation, *readings.derivation)),
        ladders=tuple(_ladder(title, comparison) for title, comparison in readings.ladders.items()),
        notes=(*readings.notes, *notes),
        seconds=seconds,
        plot=plot,
    )


def failed(case: Case, error: str, seconds: float = 0.0) -> CaseOutcome:
    """Return the case whose measurement broke off: it differs, whatever its source lacks."""
    points = tuple(
        CaseValue(label, expected, case.own.get(label), None, None, Verdict.DIFFERS, measured=case.measured.get(label))
        for label, expected in case.expected.items()
    )
    return _outcome(case, points, seconds=seconds, error=error)


def _outcome(case: Case, points: tuple[CaseValue, ...], **rest: object) -> CaseOutcome:
    return CaseOutcome(
        name=case.name,
        claim=case.claim,
        source=case.source,
        unit=case.unit,
        reading=case.reading,
        tolerance=case.tolerance,
        verdict=verdict_of(points),
        points=points,
        workload=case.workload,
        machine=case.machine,
        parameters=tuple((name, str(value)) for name, value in case.parameters.items()),
        axis=case.axis,
        missing=case.missing,
        because=case.because,
        collection=case.collection,
        printed=case.is_published,
        inputs=tuple(case.inputs.items()),
        ours=case.ours,
        **rest,  # type: ignore[arg-type] # as the two callers above give them
    )


def _ladder(title: str, compared: Comparison | FormulaComparison) -> CaseLadder:
    if isinstance(compared, FormulaComparison):
        rungs = tuple(CaseLadderStep(rung.step, rung.time_s, rung.change_s, rung.fraction) for rung in compared.rungs)
        return CaseLadder(title, compared.name, compared.total_s, rungs)
    absent = tuple(rung.effect for rung in compared.rungs if not rung.applies)
    if compared.measured_ladder:
        steps = tuple(CaseLadderStep(*astuple(step)) for step in compared.measured_ladder)
        return CaseLadder(title, "forecast", float(compared.forecast.headline_s), steps, absent)
    steps = tuple(
        CaseLadderStep(rung.effect, float(rung.simulation.makespan_s), float(rung.change_s), float(rung.fraction))
        for rung in compared.rungs
        if rung.applies
    )
    return CaseLadder(title, "forecast", float(compared.forecast.makespan_s), steps, absent)


def counts(outcomes: Iterable[CaseOutcome]) -> dict[Verdict, int]:
    """How many cases have each verdict, from good to bad, with zeros."""
    number_of = Counter(outcome.verdict for outcome in outcomes)
    return {verdict: number_of[verdict] for verdict in reversed(Verdict)}


def source_checks(outcomes: Iterable[CaseOutcome]) -> int:
    """Count the reproduced cases that compare the source with itself: they test nothing of this system."""
    return sum(outcome.of_source and outcome.verdict is Verdict.REPRODUCED for outcome in outcomes)


def status_of(outcomes: Iterable[CaseOutcome]) -> int:
    """Return the exit status: 1 when any case differs, otherwise 0."""
    return int(any(outcome.verdict is Verdict.DIFFERS for outcome in outcomes))
