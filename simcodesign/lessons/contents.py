"""Contents of a page other than numbers: texts as HTML, sliders, runs, views, questions with answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.effects import effect_named
from simcodesign.lessons.compute import Numbers, trace_key
from simcodesign.lessons.description import Lesson, Run, Slider, Step, View
from simcodesign.lessons.figures.cache_steps import cache_cases
from simcodesign.lessons.figures.stations import OF_STATIONS, station_names
from simcodesign.lessons.folders import lesson_hash
from simcodesign.lessons.grading.exam import NOTHING, Held, held_back, in_exam, owner, run_in_exam
from simcodesign.lessons.grading.questions import by_case, question_told, without_secrets
from simcodesign.lessons.grading.seeding import combinations_of
from simcodesign.lessons.grading.withheld import OnWithheld, withheld_of
from simcodesign.lessons.markdown import to_html
from simcodesign.lessons.step_texts import StepTexts
from simcodesign.lessons.values import Values, digits_in

Arrays = dict[str, NDArray[np.generic]]


def contents(
    lesson: Lesson, numbers: Numbers, exam: bool = False, on_withheld: OnWithheld | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a page; of an exam without answers and all that they could be read from.

    ``on_withheld`` is called with the texts and figures that an exam lacks. InputError for values, links and answers
    that cannot be.
    """
    combinations = combinations_of(lesson)
    cases = [Values(lesson, numbers.lattices, numbers.traces, drawn) for drawn in combinations]
    arrays: Arrays = {}
    views = [view for step in lesson.steps for view in step.views]
    with_stations = {name for view in views if view.options.get("of") == "stations" for name in view.runs}
    for name, lattice in numbers.lattices.items():
        arrays[f"{name}/formula"] = lattice.formula_s
        ladder = lattice.simulated_s
        is_random = bool((ladder[..., 1] != ladder[..., 0]).any())
        arrays[f"{name}/simulated"] = ladder if is_random else ladder[..., :1]
    runs = {name: _run(one, numbers, arrays, name in with_stations) for name, one in lesson.runs.items()}
    held: Held | None = held_back(lesson, cases, arrays) if exam else None
    if held is not None:
        arrays = {name: array for name, array in arrays.items() if owner(name) not in held}
        runs = {name: run_in_exam(one, name, held) for name, one in runs.items()}
        if on_withheld is not None:
            for one in withheld_of(lesson, cases[0], held):
                on_withheld(one)
    header = {
        "name": lesson.name,
        "title": lesson.title,
        "language": lesson.language,
        "content": lesson_hash(lesson),
        "exam": exam,
        "seeded": {"sliders": list(lesson.seeded), "combinations": [list(one.values()) for one in combinations]},
        "begins_with_chance": lesson.begins_with_chance,
        "sliders": {name: _slider(one, lesson.language) for name, one in lesson.sliders.items()},
        "runs": runs,
        "steps": [_step(one, cases, held) for one in lesson.steps],
    }
    return header, arrays


def _slider(one: Slider, language: str) -> dict[str, Any]:
    stops = [{"value": stop.value, "text": digits_in(stop.text, language), "note": stop.note} for stop in one.stops]
    return {"about": one.about, "dimension": one.dimension, "stops": stops, "start": one.start}


def _run(run: Run, numbers: Numbers, arrays: Arrays, has_stations: bool) -> dict[str, Any]:
    """Return a run; its traces become arrays of the page, and with ``has_stations`` what stations did."""
    traces = []
    for number, one in enumerate(run.traces):
        start = f"{run.name}/{number}/"
        trace = numbers.traces[trace_key(run, one.at)]
        kept = {name: array for name, array in trace.items() if has_stations or name.split("/")[-1] not in OF_STATIONS}
        arrays |= {start + name: array for name, array in kept.items()}
        names = station_names(run, one.at, trace) if has_stations else {}
        rungs = [name.partition("/")[0] for name in trace if name.endswith("/ops")]
        draws = [sum(key.partition(".")[0] == str(rung) for key in rungs) for rung in range(len(run.effects) + 1)]
        traces.append({"at": dict(one.at), "arrays": start, "stations": names, "draws": draws})
    words = {name: effect_named(name) for name in run.effects}
    return {
        "about": run.about,
        "sliders": [slider.name for slider in run.sliders],
        "effects": [
            {"name": name, "adds": one.adds, "random": one.random_on is not None} for name, one in words.items()
        ],
        "seeds": run.seeds,
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


def _options(view: View) -> dict[str, Any]:
    """Return the options of a figure, and all accesses of an animation of a cache."""
    return {**view.options, "cases": cache_cases(view.options)} if view.kind == "cache" else dict(view.options)


def _step(step: Step, cases: Sequence[Values], held: Held | None) -> dict[str, Any]:
    """Return a step; in an exam it is open, and asks for no prediction but in its questions."""
    tellers = [StepTexts(step, one, NOTHING if held is None else held) for one in cases]
    views = [
        {"kind": one.kind, "figure": number, "runs": list(one.runs), "title": one.title, **_options(one)}
        for number, one in enumerate(step.views, start=1)  # as the lesson counts them, whatever of it is in the page
    ]
    if held is not None:
        views = in_exam(views, held)
    questions = []
    for one in step.questions:
        told = [question_told(one, values, teller) for values, teller in zip(cases, tellers, strict=True)]
        questions.append(by_case([without_secrets(each) for each in told] if held is not None else told))
    texts = [{"html": to_html(step.text, step.text_place, one.moment, one.text)} for one in tellers]
    return {
        "name": step.name,
        **by_case(texts),
        "after_prediction": step.after_prediction and held is None,
        "after_answer": step.after_answer if held is None else "",
        "begins": step.rung,
        "figures": len(step.views),  # also those that an exam lacks
        "views": views,
        "questions": questions,
    }
