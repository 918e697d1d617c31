"""Running cases: one after another in this process, or several at a time in processes of their own."""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from simcodesign.core.errors import SimcodesignError
from simcodesign.core.processes.grouped_pool import GroupedPool
from simcodesign.studies.validation.case import Case, Readings
from simcodesign.studies.validation.outcome import CaseOutcome, failed, outcome_of
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.verdict import SERIES, CaseValue, points_of

#: Draws a case as SVG; a function of a module, because it is sent to other processes.
Draw = Callable[[Case, Sequence[CaseValue], Readings], str]
#: Called with every outcome as it comes.
OnProgress = Callable[[CaseOutcome], None]


def run(
    cases: Sequence[Case],
    *,
    jobs: int = 1,
    folder: Path | None = None,
    draw: Draw | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[CaseOutcome, ...]:
    """Outcomes in the order of the cases.

    With ``jobs`` above 1 other processes load the cases again, by name, from ``folder`` (None: the shipped ones). A
    process that dies takes only its case with it. An interrupt ends all of them.
    """
    report = on_progress or (lambda _: None)
    if min(jobs, len(cases)) <= 1:
        return tuple(_reported(measured(case, draw), report) for case in cases)
    by_name = {case.name: case for case in cases}
    done: dict[str, CaseOutcome] = {}
    with GroupedPool(min(jobs, len(cases)), _prepared, (folder, draw)) as pool:
        for name, answer in pool.results({case.name: case.group for case in ordered(cases)}):
            done[name] = _reported(
                answer if isinstance(answer, CaseOutcome) else failed(by_name[name], str(answer)), report
            )
    return tuple(done[case.name] for case in cases)


def ordered(cases: Sequence[Case]) -> list[Case]:
    """Sort cases that may take long first, so that the others do not wait for them in the end."""
    return sorted(cases, key=lambda case: (case.quick, not case.full))


def _reported(outcome: CaseOutcome, report: OnProgress) -> CaseOutcome:
    report(outcome)
    return outcome


def _prepared(folder: Path | None, draw: Draw | None) -> Callable[[str], CaseOutcome]:
    """In another process: what measures the case of a name."""
    cases = {case.name: case for case in load_cases(folder)}
    return lambda name: measured(cases[name], draw)


def measured(case: Case, draw: Draw | None = None) -> CaseOutcome:
    """Return the outcome of one case.

    What its measurement raises is an outcome too; its warnings are notes of it, and what it prints goes to standard
    error, for standard output may be JSON.
    """
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as heard, redirect_stdout(sys.stderr):
            warnings.simplefilter("default")
            readings = case.measure() if case.measure else Readings()
            _check(case, readings)
            seconds = time.perf_counter() - begin
            plot = draw(case, points_of(case, readings), readings) if draw else ""
            notes = dict.fromkeys(f"{item.category.__name__}: {item.message}" for item in heard)
            return outcome_of(case, readings, seconds=seconds, notes=notes, plot=plot)
    except Exception as error:  # whatever a measurement may raise
        return failed(case, _text(error), time.perf_counter() - begin)


def _check(case: Case, readings: Readings) -> None:
    """Refuse a value for what is not expected: a mistake in the case, as nothing would be compared with it."""
    for reading in SERIES:
        values = getattr(readings, reading)
        if not values.keys() <= case.expected.keys():
            raise ValueError(f"{reading} of what is not expected: {sorted(map(str, values.keys() - case.expected))}")


def _text(error: Exception) -> str:
    """Return the error and the line that raised it; errors of this package say enough themselves."""
    text = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SimcodesignError) or not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
