"""What an exam lacks of the texts of its lesson, so that who gives it can read those texts once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simcodesign.core.errors import Place
from simcodesign.lessons.description import ChoiceQuestion, Lesson
from simcodesign.lessons.grading.exam import Held, has_all
from simcodesign.lessons.markdown import Moment, to_html
from simcodesign.lessons.step_texts import StepTexts
from simcodesign.lessons.values import Values


@dataclass(frozen=True)
class Withheld:
    """A value, a button or a figure that the exam does not show, and where it stands.

    ``parts``: what ``--hide`` could name, so that it is not in the page at all."""

    place: Place
    words: str
    parts: tuple[str, ...]


OnWithheld = Callable[[Withheld], None]


def withheld_of(lesson: Lesson, values: Values, held: Held) -> Iterator[Withheld]:
    """All of it, step by step, in the order of the lesson. ``values``: those of any combination of drawn stops."""
    for step in lesson.steps:
        for number, view in enumerate(step.views, start=1):
            if not has_all(view.kind, view.runs, held):
                title = f" '{view.title}'" if view.title else ""
                words = f"the step '{step.name}' is without figure {number}, {view.kind}{title}"
                yield Withheld(Place(step.text_place.file), words, (step.name, f"{step.name}/{number}"))
        texts = StepTexts(step, values, held)
        yield from _in_text(step.text, step.text_place, texts, (step.name,))
        for one in step.questions:
            choices = [choice.text for choice in one.choices] if isinstance(one, ChoiceQuestion) else []
            for text in (one.text, *choices):
                yield from _in_text(text, one.place, texts, (step.name, one.name))


def _in_text(text: str, place: Place, texts: StepTexts, parts: tuple[str, ...]) -> list[Withheld]:
    """What stands as three dots, or as text where there was a button, line by line."""
    found: dict[Withheld, None] = {}

    def moment(expression: str, place: Place) -> Moment | None:
        one = texts.moment(expression, place)
        if one is None:
            found[Withheld(place, f"the button clock:{expression} is text only", parts)] = None
        return one

    def shown(expression: str, form: str, place: Place) -> str:
        if texts.hides(expression, place):
            found[Withheld(place, f"{{{{{expression}}}}} is shown as …", parts)] = None
        return texts.text(expression, form, place)

    to_html(text, place, moment, shown)
    return sorted(found, key=lambda one: one.place.line or 0)
