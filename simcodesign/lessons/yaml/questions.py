"""Questions of a lesson, as they stand in ``lesson.yaml``."""

from __future__ import annotations

from collections.abc import Mapping

from simcodesign.core.errors import InputError
from simcodesign.describe.yaml.tree import Entry
from simcodesign.lessons.description import (
    Choice,
    ChoiceQuestion,
    DrawnQuestion,
    Mistake,
    NumberQuestion,
    Question,
    ReadValue,
    Run,
)
from simcodesign.lessons.values import FORMULA, SIMULATION, rung_of, unit_factor
from simcodesign.lessons.yaml.runs import read_stops

COMMON = ("name", "text", "hint", "points", "level")
#: From questions that students answer in a minute to questions that combine several ideas.
MOST_LEVEL = 3
MOST_HINTS = 5
MOST_POINTS = 1000.0
OF_NUMBERS = ("answer", "unit", "tolerance", "right", "wrong", "mistakes")
OF_CURVES = ("draw", "tolerance", "right", "wrong")


def read_questions(entry: Entry, runs: Mapping[str, Run]) -> tuple[Question, ...]:
    """All questions of a step."""
    return tuple(_question(one, runs) for one in entry.sequence())


def _question(entry: Entry, runs: Mapping[str, Run]) -> Question:
    items = entry.mapping((*COMMON, *OF_NUMBERS, "choices", "draw"), required=("name", "text"))
    if sum(key in items for key in ("choices", "answer", "draw")) != 1:
        what = "a question has an answer, which is a number, choices, or a curve to draw"
        raise InputError(what, entry.place, allowed="one of answer, choices, draw")
    if "draw" in items:
        return _drawn(entry, items, runs)
    return _choices(entry, items) if "choices" in items else _number(items, entry)


def _points(items: dict[str, Entry]) -> float:
    points = items["points"].number() if "points" in items else 1.0
    if not 0 <= points <= MOST_POINTS:
        raise items["points"].error("not a number of points", f"0 to {MOST_POINTS:.0f}")
    return points


def _level(items: dict[str, Entry]) -> int:
    return items["level"].whole(1, MOST_LEVEL) if "level" in items else 0


def _tolerance(items: dict[str, Entry], otherwise: float) -> float:
    return items["tolerance"].quantity("count") if "tolerance" in items else otherwise


def _number(items: dict[str, Entry], entry: Entry) -> NumberQuestion:
    unit = items["unit"].text() if "unit" in items else ""
    unit_factor(unit, items["unit"].place if "unit" in items else entry.place)
    tolerance = _tolerance(items, 0.02)
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
        hints=hints_in(items),
        mistakes=tuple(Mistake(one["answer"].expression(), one["text"].text()) for one in mistakes),
        place=entry.place,
        points=_points(items),
        level=_level(items),
    )


def _drawn(entry: Entry, items: dict[str, Entry], runs: Mapping[str, Run]) -> DrawnQuestion:
    """Return a curve of a run over one of its sliders."""
    entry.mapping((*COMMON, *OF_CURVES))
    keys = ("run", "over", "reading", "effect", "at", "given")
    asked = items["draw"].mapping(keys, required=("run", "over"))
    run = runs[asked["run"].text(runs)]
    over = asked["over"].text([slider.name for slider in run.sliders])
    others = [slider for slider in run.sliders if slider.name != over]
    at = read_stops(asked["at"], others) if "at" in asked else {}
    reading = asked["reading"].text((FORMULA, SIMULATION)) if "reading" in asked else SIMULATION
    effect = asked["effect"].text() if "effect" in asked else None
    rung_of(run, effect, items["draw"].place)
    count = (
        len(run.simulated[over]) if reading == SIMULATION else len(next(s for s in run.sliders if s.name == over).stops)
    )
    given = asked["given"].whole(0, 100) if "given" in asked else 1
    if given > count - 2:
        raise (asked.get("given") or items["draw"]).error(
            "too many points are given", f"at most {count - 2} of {count}"
        )
    tolerance = _tolerance(items, 0.2)
    if not 0 < tolerance <= 10:
        raise items["tolerance"].error("not a tolerance of a curve", "more than 0, to 1000 %")
    return DrawnQuestion(
        name=items["name"].name(),
        text=items["text"].text(),
        curve=ReadValue(run.name, reading, at, effect, None, items["draw"].place),
        over=over,
        given=given,
        tolerance=tolerance,
        right=_text(items, "right"),
        wrong=_text(items, "wrong"),
        hints=hints_in(items),
        place=entry.place,
        points=_points(items),
        level=_level(items),
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
    return ChoiceQuestion(
        items["name"].name(),
        items["text"].text(),
        made,
        hints_in(items),
        entry.place,
        _points(items),
        _level(items),
    )


def hints_in(items: Mapping[str, Entry]) -> tuple[str, ...]:
    """Return the hints of a question: none, one text, or the texts of a list, the first hint first."""
    if "hint" not in items:
        return ()
    one = items["hint"]
    hints = tuple(each.text() for each in one.sequence()) if isinstance(one.content, list) else (one.text(),)
    if len(hints) > MOST_HINTS:
        raise one.error(f"{len(hints)} hints", f"up to {MOST_HINTS}")
    return hints


def _text(items: dict[str, Entry], key: str) -> str:
    return items[key].text() if key in items else ""
