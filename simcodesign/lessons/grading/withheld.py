"""What an exam lacks of the texts of its lesson, so that who gives it can read those texts once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from simcodesign.core.errors import Place
from simcodesign.lessons.description import ChoiceQuestion, DrawnQuestion, Lesson, Step
from simcodesign.lessons.grading.exam import Held, has_all
from simcodesign.lessons.grading.spoken import FIGURE, NAMES, PREDICTION, spoken_of
from simcodesign.lessons.markdown import Moment, to_html
from simcodesign.lessons.step_texts import StepTexts
from simcodesign.lessons.values import Values

#: Kinds of what an exam lacks, and what they are called in the plural.
KINDS = {
    "figure": "figures left out",
    "word": "words about figures that are left out",
    "button": "buttons shown as text",
    "value": "values hidden",
}


@dataclass(frozen=True)
class Withheld:
    """A value, a button or a figure that the exam does not show, or a word about one, and its place.

    ``kind``: one of KINDS; ``parts``: the names with which ``--hide`` leaves it out of the page."""

    place: Place
    words: str
    parts: tuple[str, ...]
    kind: str


OnWithheld = Callable[[Withheld], None]


def withheld_of(lesson: Lesson, values: Values, held: Held) -> Iterator[Withheld]:
    """All of it, step by step, in the order of the lesson. ``values``: those of any combination of drawn stops."""
    for step in lesson.steps:
        for number, view in enumerate(step.views, start=1):
            if not has_all(view.kind, view.runs, held):
                words = f"the step '{step.name}' is without its {_figure(step, number)}"
                yield Withheld(Place(step.text_place.file), words, (step.name, f"{step.name}/{number}"), "figure")
        missing, texts = _missing(step, held), StepTexts(step, values, held)
        yield from _spoken(step.text, step.text_place, missing, (step.name,))
        yield from _in_text(step.text, step.text_place, texts, (step.name,))
        for one in step.questions:
            choices = [choice.text for choice in one.choices] if isinstance(one, ChoiceQuestion) else []
            yield from _spoken(one.text, one.place, missing, (step.name, one.name))
            for text in (one.text, *choices):
                yield from _in_text(text, one.place, texts, (step.name, one.name))


def _figure(step: Step, number: int) -> str:
    """Kind and title of a figure, and which of its kind it is: ``curve 2 of 4, 'Title'``."""
    view = step.views[number - 1]
    same = [place for place, other in enumerate(step.views, start=1) if other.kind == view.kind]
    which = f" {same.index(number) + 1} of {len(same)}" if len(same) > 1 else ""
    title = f"{',' if which else ''} '{view.title}'" if view.title else ""
    return f"{NAMES[view.kind]}{which}{title}"


def _missing(step: Step, held: Held) -> set[str]:
    """Return what a step has in the lesson and lacks in the exam.

    Kinds of figures, any figure, and the prediction.
    """
    shown = [view for view in step.views if has_all(view.kind, view.runs, held)]
    kept = {view.kind for view in shown} if any(view.runs for view in shown) else set()
    missing = {view.kind for view in step.views} - kept
    if step.views and not kept:
        missing.add(FIGURE)
    asks = any(isinstance(one, DrawnQuestion) for one in step.questions)
    if any(view.options.get("predict") for view in step.views) and not asks:
        missing.add(PREDICTION)
    return missing


def _spoken(text: str, place: Place, missing: set[str], parts: tuple[str, ...]) -> Iterator[Withheld]:
    for line, word, kind in spoken_of(text, missing):
        what = NAMES.get(kind, kind)
        yield Withheld(
            replace(place, line=(place.line or 1) + line - 1),
            f"the text says '{word}', and this step of the exam has no {what}",
            parts,
            "word",
        )


def _in_text(text: str, place: Place, texts: StepTexts, parts: tuple[str, ...]) -> list[Withheld]:
    """Return what is shown as three dots, or as text instead of a button, line by line."""
    found: dict[Withheld, None] = {}

    def moment(expression: str, place: Place) -> Moment | None:
        one = texts.moment(expression, place)
        if one is None:
            found[Withheld(place, f"the button clock:{expression} is text only", parts, "button")] = None
        return one

    def shown(expression: str, form: str, place: Place) -> str:
        if texts.hides(expression, place):
            found[Withheld(place, f"{{{{{expression}}}}} is shown as …", parts, "value")] = None
        return texts.text(expression, form, place)

    to_html(text, place, moment, shown)
    return sorted(found, key=lambda one: one.place.line or 0)
