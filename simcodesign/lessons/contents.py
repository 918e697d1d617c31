"""What a page is told of a lesson besides its numbers: texts as HTML, sliders, runs, views, questions with answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.effects import effect_named
from simcodesign.lessons.compute import Numbers, trace_key
from simcodesign.lessons.description import ChoiceQuestion, Lesson, NumberQuestion, Question, Run, Slider, Step
from simcodesign.lessons.figures.stations import OF_STATIONS, station_names
from simcodesign.lessons.markdown import inline_html, to_html
from simcodesign.lessons.values import Values, shown, unit_factor


def contents(lesson: Lesson, numbers: Numbers) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
    """The header and the arrays of a page. InputError for values, links and answers that cannot be."""
    values = Values(lesson, numbers.lattices, numbers.traces)
    arrays: dict[str, NDArray[np.generic]] = {}
    views = [view for step in lesson.steps for view in step.views]
    with_stations = {name for view in views if view.options.get("of") == "stations" for name in view.runs}
    for name, lattice in numbers.lattices.items():
        arrays[f"{name}/formula"] = lattice.formula_s
        ladder = lattice.simulated_s
        is_random = bool((ladder[..., 1] != ladder[..., 0]).any())
        arrays[f"{name}/simulated"] = ladder if is_random else ladder[..., :1]
    header = {
        "name": lesson.name,
        "title": lesson.title,
        "language": lesson.language,
        "sliders": {name: _slider(one) for name, one in lesson.sliders.items()},
        "runs": {name: _run(one, numbers, arrays, name in with_stations) for name, one in lesson.runs.items()},
        "steps": [_step(one, values) for one in lesson.steps],
    }
    return header, arrays


def _slider(one: Slider) -> dict[str, Any]:
    stops = [{"value": stop.value, "text": stop.text, "note": stop.note} for stop in one.stops]
    return {"about": one.about, "dimension": one.dimension, "stops": stops, "start": one.start}


def _run(run: Run, numbers: Numbers, arrays: dict[str, NDArray[np.generic]], has_stations: bool) -> dict[str, Any]:
    """A run; its traces become arrays of the page, and with ``has_stations`` what stations did."""
    traces = []
    for number, one in enumerate(run.traces):
        start = f"{run.name}/{number}/"
        trace = numbers.traces[trace_key(run, one.at)]
        kept = {name: array for name, array in trace.items() if has_stations or name.split("/")[-1] not in OF_STATIONS}
        arrays |= {start + name: array for name, array in kept.items()}
        names = station_names(run, one.at, trace) if has_stations else []
        traces.append({"at": dict(one.at), "arrays": start, "stations": names})
    words = {name: effect_named(name) for name in run.effects}
    return {
        "about": run.about,
        "sliders": [slider.name for slider in run.sliders],
        "effects": [
            {"name": name, "adds": one.adds, "random": one.random_on is not None} for name, one in words.items()
        ],
        "simulated": {name: list(numbers_) for name, numbers_ in run.simulated.items()},
        "traces": traces,
        "events": {"at": dict(run.events.at), **numbers.documents[f"{run.name}/events"]} if run.events else None,
        "helps": [
            {"at": dict(one.at), **found}
            for one, found in zip(run.helps, numbers.documents.get(f"{run.name}/helps", ()), strict=True)
        ],
        "measured": [
            {"at": dict(one.at), "value": one.value_s, "low": one.low_s, "high": one.high_s} for one in run.measured
        ],
        "measured_about": run.measured_about,
    }


def _step(step: Step, values: Values) -> dict[str, Any]:
    return {
        "name": step.name,
        "html": to_html(step.text, step.text_place, values.evaluate, shown),
        "after_prediction": step.after_prediction,
        "views": [{"kind": one.kind, "runs": list(one.runs), "title": one.title, **one.options} for one in step.views],
        "questions": [_question(one, values) for one in step.questions],
    }


def _question(one: Question, values: Values) -> dict[str, Any]:
    def html(text: str, place: Place = one.place) -> str:
        return inline_html(text, place, values.evaluate, shown) if text else ""

    common = {"name": one.name, "html": html(one.text), "hint": html(one.hint)}
    if isinstance(one, ChoiceQuestion):
        return {**common, "choices": _choices(one, values, html)}
    factor = unit_factor(one.unit, one.place)
    answer = values.of(one.answer, one.place) / factor
    if not np.isfinite(answer):
        raise InputError("the answer is not a number", one.place, value=one.answer.text)
    wrong = [values.of(each.answer, one.place) / factor for each in one.mistakes]
    _check_mistakes(one, answer, wrong)
    mistakes = [{"answer": value, "html": html(each.text)} for value, each in zip(wrong, one.mistakes, strict=True)]
    return {
        **common,
        "answer": answer,
        "unit": one.unit.replace("us", "µs"),
        "tolerance": one.tolerance,
        "right": html(one.right),
        "wrong": html(one.wrong),
        "mistakes": mistakes,
    }


def _choices(one: ChoiceQuestion, values: Values, html: Any) -> list[dict[str, Any]]:
    """The choices; that of the largest value is right. InputError if two are."""
    worth = [values.of(choice.value, one.place) for choice in one.choices]
    if worth.count(max(worth)) > 1:
        raise InputError("two choices have the largest value", one.place, value=max(worth))
    return [
        {"html": html(choice.text), "right": value == max(worth), "feedback": html(choice.feedback)}
        for choice, value in zip(one.choices, worth, strict=True)
    ]


def _check_mistakes(one: NumberQuestion, answer: float, mistakes: list[float]) -> None:
    for value in mistakes:
        if abs(value - answer) <= one.tolerance * abs(answer):
            raise InputError("a mistake that is right within the tolerance", one.place, value=value)
