"""Questions of a lesson, as they stand in ``lesson.yaml``."""

from __future__ import annotations

from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.tree import Entry
from simcodesign.lessons.description import Choice, ChoiceQuestion, Mistake, NumberQuestion, Question
from simcodesign.lessons.values import unit_factor

COMMON = ("name", "text", "hint")
OF_NUMBERS = ("answer", "unit", "tolerance", "right", "wrong", "mistakes")


def read_questions(entry: Entry) -> tuple[Question, ...]:
    """All questions of a step."""
    return tuple(_question(one) for one in entry.sequence())


def _question(entry: Entry) -> Question:
    items = entry.mapping((*COMMON, *OF_NUMBERS, "choices"), required=("name", "text"))
    if ("choices" in items) == ("answer" in items):
        what = "a question has an answer, which is a number, or choices"
        raise InputError(what, entry.place, allowed="one of answer, choices")
    return _choices(entry, items) if "choices" in items else _number(items, entry)


def _number(items: dict[str, Entry], entry: Entry) -> NumberQuestion:
    unit = items["unit"].text() if "unit" in items else ""
    unit_factor(unit, items["unit"].place if "unit" in items else entry.place)
    tolerance = items["tolerance"].quantity("count") if "tolerance" in items else 0.02
    if not 0 <= tolerance <= 1:
        raise items["tolerance"].error("not a tolerance", "0 to 100 %")
    mistakes = [
        one.mapping(("answer", "text"), required=("answer", "text"))
        for one in (items["mistakes"].sequence() if "mistakes" in items else ())
    ]
    return NumberQuestion(
        name=items["name"].name(),
        text=items["text"].text(),
        answer=items["answer"].expression(),
        unit=unit,
        tolerance=tolerance,
        right=_text(items, "right"),
        wrong=_text(items, "wrong"),
        hint=_text(items, "hint"),
        mistakes=tuple(Mistake(one["answer"].expression(), one["text"].text()) for one in mistakes),
        place=entry.place,
    )


def _choices(entry: Entry, items: dict[str, Entry]) -> ChoiceQuestion:
    for key in OF_NUMBERS:
        if key in items:
            raise InputError("has no meaning for choices", items[key].place, value=key, allowed=", ".join(COMMON))
    choices = [
        one.mapping(("text", "value", "feedback"), required=("text", "value")) for one in items["choices"].sequence()
    ]
    if len(choices) < 2:
        raise items["choices"].error("too few choices", "2 or more")
    made = tuple(Choice(one["text"].text(), one["value"].expression(), _text(one, "feedback")) for one in choices)
    return ChoiceQuestion(items["name"].name(), items["text"].text(), made, _text(items, "hint"), entry.place)


def _text(items: dict[str, Entry], key: str) -> str:
    return items[key].text() if key in items else ""
