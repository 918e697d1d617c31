"""What an exam does not show: all readings of a run from which an answer could be read.

A reading is the formula, the simulation or the traces of a run. What a question asks for is held back wherever it
stands: numbers, figures, texts and buttons. An answer that takes a simulation holds back the simulation, with traces
and measurements, and leaves the formula, which is what the student is to judge; one that takes only the formula holds
that back. Runs of the same scenario, and those whose numbers hold an answer by another way, lose theirs as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.lessons.description import ChoiceQuestion, Lesson, NumberQuestion, Question, ReadValue, Run
from simcodesign.lessons.grading.questions import drawn_curve
from simcodesign.lessons.values import CHANGE, FORMULA, INTERVAL, OF_TRACES, SIMULATION, Values

TRACES = "traces"
#: What of a run a figure draws; others need all of it.
_SHOWS = {"curve": {FORMULA}, "network": {TRACES}, "gantt": {TRACES}, "clock": {TRACES}, "sliders": set[str]()}
_ALL = {FORMULA, SIMULATION, TRACES}
_OF = {
    FORMULA: FORMULA,
    **dict.fromkeys((SIMULATION, CHANGE, INTERVAL), SIMULATION),
    **dict.fromkeys(OF_TRACES, TRACES),
}
#: float32 has 24 bits.
_AS_FLOAT32 = 1e-6
#: Pairs of the name of a run and a reading.
Held = frozenset[tuple[str, str]]
NOTHING: Held = frozenset()


def held_back(lesson: Lesson, cases: Sequence[Values], arrays: Mapping[str, NDArray[np.generic]]) -> Held:
    """Return what an exam does not show.

    ``cases``: the values of every combination of drawn stops.
    """
    held: set[tuple[str, str]] = set()
    for one in (one for step in lesson.steps for one in step.questions):
        asked = list(_reads(one, cases[0]))
        kinds = {_OF[each.reading] for each in asked}
        wanted = kinds - {FORMULA} or kinds
        held |= {(each.run, _OF[each.reading]) for each in asked if _OF[each.reading] in wanted}
        for reading in wanted:
            truths = [truth for values in cases for truth in _truths(one, values)]
            held |= {(run, reading) for run in lesson.runs if _hold(run, reading, truths, arrays)}
    same = {(other, reading) for run, reading in held for other in lesson.runs if _is_same(lesson, run, other)}
    held |= same
    return frozenset(held | {(run, TRACES) for run, reading in held if reading == SIMULATION})


def _reads(one: Question, values: Values) -> Iterator[ReadValue]:
    if isinstance(one, ChoiceQuestion):
        for choice in one.choices:
            yield from values.reads(choice.value)
    elif isinstance(one, NumberQuestion):
        yield from values.reads(one.answer)
    else:
        yield one.curve


def _truths(one: Question, values: Values) -> list[float]:
    """Of a number or a curve, in SI units; whole numbers are left out, which stand everywhere."""
    if isinstance(one, ChoiceQuestion):
        return []
    if isinstance(one, NumberQuestion):
        answer = values.of(one.answer, one.place)
        return [] if answer == round(answer) else [answer]
    return list(drawn_curve(one, values)["truth"])


def _hold(run: str, reading: str, truths: Sequence[float], arrays: Mapping[str, NDArray[np.generic]]) -> bool:
    """Whether one of the truths is a number of a run's reading."""
    kept = [array for name, array in arrays.items() if owner(name) == (run, reading)]
    floats = [array for array in kept if np.issubdtype(array.dtype, np.floating)]
    return any(bool(np.isclose(array, truth, rtol=_AS_FLOAT32, atol=0.0).any()) for array in floats for truth in truths)


def _is_same(lesson: Lesson, one: str, other: str) -> bool:
    def scenario(run: Run) -> tuple[object, ...]:
        return run.workload, run.machine, run.changes, run.parameters, run.phases, run.formula

    return scenario(lesson.runs[one]) == scenario(lesson.runs[other])


def owner(array: str) -> tuple[str, str]:
    """Return the run and the reading of an array of a page, by its name."""
    run, _, rest = array.partition("/")
    return run, {"formula": FORMULA, "simulated": SIMULATION}.get(rest, TRACES)


def is_held(one: ReadValue, held: Held) -> bool:
    """Whether what a value reads is not shown."""
    return (one.run, _OF[one.reading]) in held


def has_all(kind: str, runs: Sequence[str], held: Held) -> bool:
    """Whether a figure has all that it draws."""
    needed = _SHOWS.get(kind, _ALL)
    return not any((run, reading) in held for run in runs for reading in needed)


def in_exam(views: Sequence[dict[str, Any]], held: Held) -> list[dict[str, Any]]:
    """Return the figures of a step that have what they draw, none of which asks for a prediction; no sliders alone."""
    shown = [one for one in views if has_all(one["kind"], one["runs"], held)]
    kept = [{**one, "predict": False} if "predict" in one else one for one in shown]
    return kept if any(one["runs"] for one in kept) else []


def run_in_exam(run: Mapping[str, Any], name: str, held: Held) -> dict[str, Any]:
    """Return what a page is told of a run, without what is held back."""
    kept = dict(run)
    if (name, TRACES) in held:
        kept |= {"traces": [], "events": None}
    if {(name, FORMULA), (name, SIMULATION)} & held:
        kept["helps"] = []
    if (name, SIMULATION) in held:
        kept |= {"simulated": {slider: [] for slider in run["simulated"]}, "measured": [], "measured_about": ""}
    return kept
