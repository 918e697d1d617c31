"""Questions as a page has them, with truths and feedback, or, in an exam, without; and as ``grade`` reads their truths.

A question is a mapping of JSON. What differs between the combinations of drawn stops stands in ``cases``, one mapping
for each combination, which are laid over the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Protocol

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.lessons.description import ChoiceQuestion, DrawnQuestion, NumberQuestion, Question
from simcodesign.lessons.markdown import Moment, inline_html
from simcodesign.lessons.values import FORMULA, Values, rung_of, simulated_index, unit_factor

#: What no exam has of a question.
SECRETS = ("hints", "answer", "right", "wrong", "mistakes", "truth", "feedback")


class Teller(Protocol):
    """What shows expressions in texts, and says of buttons where they set the clock."""

    def moment(self, text: str, place: Place) -> Moment | None:
        """Return the moment that a text names, None if it names none."""

    def text(self, text: str, form: str, place: Place) -> str:
        """Return a text with its values filled in."""


def question_told(one: Question, values: Values, teller: Teller) -> dict[str, Any]:
    """Return a question with its truth and feedback, of one combination of drawn stops.

    InputError for an answer that cannot be.
    """

    def html(text: str) -> str:
        return inline_html(text, one.place, teller.moment, teller.text) if text else ""

    common = {
        "name": one.name,
        "points": one.points,
        "html": html(one.text),
        "hints": [html(hint) for hint in one.hints],
    }
    if one.level:
        common["level"] = one.level
    if isinstance(one, ChoiceQuestion):
        return {**common, "choices": _choices(one, values, html)}
    feedback = {"tolerance": one.tolerance, "right": html(one.right), "wrong": html(one.wrong)}
    if isinstance(one, DrawnQuestion):
        return {**common, **feedback, **drawn_curve(one, values)}
    return {**common, **_number(one, values, html), **feedback}


def _number(one: NumberQuestion, values: Values, html: Any) -> dict[str, Any]:
    factor = unit_factor(one.unit, one.place)
    answer = values.of(one.answer, one.place) / factor
    if not np.isfinite(answer):
        raise InputError("the answer is not a number", one.place, value=one.answer.text)
    wrong = [values.of(each.answer, one.place) / factor for each in one.mistakes]
    for value in wrong:
        if abs(value - answer) <= one.tolerance * abs(answer):
            raise InputError("a mistake that is right within the tolerance", one.place, value=value)
    mistakes = [{"answer": value, "html": html(each.text)} for value, each in zip(wrong, one.mistakes, strict=True)]
    return {"answer": answer, "unit": one.unit.replace("us", "µs"), "mistakes": mistakes}


def _choices(one: ChoiceQuestion, values: Values, html: Any) -> list[dict[str, Any]]:
    """Return the choices; that of the largest value is right.

    InputError if two are. ``id`` does not tell their order.
    """
    worth = [values.of(choice.value, one.place) for choice in one.choices]
    if worth.count(max(worth)) > 1:
        raise InputError("two choices have the largest value", one.place, value=max(worth))
    return [
        {
            "id": sha256(f"{values.lesson.name}/{one.name}/{number}".encode()).hexdigest()[:8],
            "html": html(choice.text),
            "right": value == max(worth),
            "feedback": html(choice.feedback),
        }
        for number, (choice, value) in enumerate(zip(one.choices, worth, strict=True))
    ]


def drawn_curve(one: DrawnQuestion, values: Values) -> dict[str, Any]:
    """``truth``: stop and seconds of every point, of which the first ``given`` are shown.

    ``axis``: decades of the figure, one more than needed on either side.
    """
    run, lattice = values.lesson.runs[one.curve.run], values.lattices[one.curve.run]
    slider = values.lesson.sliders[one.over]
    numbers = range(len(slider.stops)) if one.curve.reading == FORMULA else run.simulated[one.over]
    start = values.stops_of(one.curve)
    points = []
    for number in numbers:
        at = {**start, one.over: number}
        if one.curve.reading == FORMULA:
            points.append((number, float(lattice.formula_s[tuple(at[each.name] for each in run.sliders)])))
        else:
            rung = rung_of(run, one.curve.effect, one.place)
            points.append((number, float(lattice.simulated_s[simulated_index(run, at, one.curve.place)][rung, 0])))
    seconds = [value for _, value in points]
    if not (min(seconds) > 0 and math.isfinite(max(seconds))):
        raise InputError("a curve of times that are not positive", one.place, value=min(seconds))
    decades = [10.0 ** (math.floor(math.log10(min(seconds))) - 1), 10.0 ** (math.ceil(math.log10(max(seconds))) + 1)]
    return {
        "over": one.over,
        "given": [list(point) for point in points[: one.given]],
        "open": [number for number, _ in points[one.given :]],
        "axis": decades,
        "truth": [value for _, value in points[one.given :]],
    }


def without_secrets(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question of an exam: no truth, no feedback, and choices in the order of their ids."""
    kept = {key: value for key, value in question.items() if key not in SECRETS}
    if "choices" in kept:
        shown = [{"id": one["id"], "html": one["html"]} for one in kept["choices"]]
        kept["choices"] = sorted(shown, key=lambda one: str(one["id"]))
    return kept


def by_case(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the same thing told for every combination, as one mapping; ``cases``: what differs."""
    first = told[0]
    differing = [key for key in first if any(one[key] != first[key] for one in told)]
    if not differing:
        return dict(first)
    return {**first, "cases": [{key: one[key] for key in differing} for one in told]}


def of_case(told: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return what ``by_case`` has made one, for one combination."""
    rest = {key: value for key, value in told.items() if key != "cases"}
    return {**rest, **told["cases"][number]} if "cases" in told else rest
