"""Questions of a lesson in seeded variants, as learning platforms ask them: one description for all formats.

A topic is a question of the lesson; its variants are the question with the numbers of the codes 1 to N. Platforms have
no question for a drawn curve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.lessons.compute import OnProgress, numbers_of
from simcodesign.lessons.contents import contents
from simcodesign.lessons.grading.changes import Changes, changed
from simcodesign.lessons.grading.marking import max_error
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import place_of
from simcodesign.lessons.grading.withheld import OnWithheld, Withheld
from simcodesign.lessons.values import digits_in, shown
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language

#: Minimum relative tolerance of a known mistake in a page (``front/views/question.js``).
_MISTAKE_TOLERANCE = 0.02
_LEVEL = {"en": "Level", "de": "Stufe"}
#: Buttons that set the clock of a page, and characters that no XML file may have.
_BUTTON = re.compile("</?button[^>]*>")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Reply:
    """A number that a question recognizes: the answer or a known mistake.

    ``max_error`` is in the unit of ``value``; ``html`` is the feedback.
    """

    value: float
    max_error: float
    html: str
    is_right: bool = False


@dataclass(frozen=True)
class Choice:
    """A choice with its feedback. ``key`` does not reveal which one is right."""

    key: str
    html: str
    feedback: str
    is_right: bool


@dataclass(frozen=True)
class Variant:
    """A question with the numbers of one code.

    ``text`` is the text of the step, ``asked`` the question, both as HTML. A question for a number has ``replies``, the
    answer first, ``otherwise``, the feedback to all other numbers, and ``solution``, the answer in words. ``unit`` may
    be empty.
    """

    code: int
    text: str
    asked: str
    points: float
    hints: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    replies: tuple[Reply, ...] = ()
    otherwise: str = ""
    solution: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Topic:
    """A question of the lesson, in one variant or more. ``place``: its step and level, if it states a level."""

    name: str
    variants: tuple[Variant, ...]
    place: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bank:
    """The questions of a lesson. ``left_out``: names of drawn questions, which no platform can ask."""

    lesson: str
    title: str
    language: str
    topics: tuple[Topic, ...]
    left_out: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """How many questions there are, and which ones are left out."""
        counted = f"{sum(len(topic.variants) for topic in self.topics)} questions in {len(self.topics)} categories"
        if not self.left_out:
            return counted
        return f"{counted}; without {', '.join(self.left_out)}: platforms have no question for a curve"


def read_bank(
    folder: Path,
    workers: int,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
    exam: bool = False,
    changes: Changes | None = None,
    language: str | None = None,
    variants: int | None = None,
    on_withheld: OnWithheld | None = None,
) -> Bank:
    """Return the questions of a lesson's folder.

    ``exam``: without hints, and with the texts of the exam page. ``variants``: the variants of the codes 1 to N
    (default: every combination of slider positions that codes draw). ``on_withheld`` is called for each value that the
    texts of an exam lack. InputError for a lesson, changes or a number of variants that cannot be used.
    """
    original = read_lesson(folder)
    lesson, made = in_language(original, language), changes or Changes()
    numbers = numbers_of(original, workers, fresh, on_progress)

    def on_shown(one: Withheld) -> None:
        if on_withheld is not None and one.kind == "value" and not set(one.parts) & set(made.hide):
            on_withheld(one)

    told = changed(contents(lesson, numbers)[0], made)
    shown = changed(contents(lesson, numbers, True, on_shown)[0], made) if exam else told
    return bank_of(told, shown, variants)


def bank_of(told: Mapping[str, Any], shown: Mapping[str, Any], variants: int | None) -> Bank:
    """Return the questions of a page.

    ``told``: the header of a page, which has all answers; ``shown``: the header whose texts students see. InputError if
    there are fewer combinations than ``variants``, or no question that a platform can ask.
    """
    count = len(told["seeded"]["combinations"])
    if variants is not None and not 1 <= variants <= count:
        allowed = f"1 to {count}, the number of combinations of stops that codes draw"
        raise InputError("number of variants", Place("--variants"), value=variants, allowed=allowed)
    topics, left_out = [], []
    for step, seen in zip(told["steps"], shown["steps"], strict=True):
        for one, public in zip(step["questions"], seen["questions"], strict=True):
            if "open" in one:
                left_out.append(one["name"])
            else:
                place = (step["name"], f"{_LEVEL[told['language']]} {one['level']}") if "level" in one else ()
                topics.append(Topic(one["name"], tuple(_variants(told, one, (seen, public), variants or count)), place))
    if not topics:
        raise InputError("no question that a learning platform can ask", allowed="questions for numbers and choices")
    return Bank(told["name"], told["title"], told["language"], tuple(topics), tuple(left_out))


def _variants(
    told: Mapping[str, Any], one: Mapping[str, Any], seen: tuple[Mapping[str, Any], Mapping[str, Any]], count: int
) -> Iterator[Variant]:
    """Yield a question for each of the codes 1 to ``count``, unless it is the same as an earlier one."""
    known = set()
    for code in range(1, count + 1):
        case = place_of(told["name"], str(code), len(told["seeded"]["combinations"]))
        step, public = (of_case(each, case) for each in seen)
        variant = _variant(of_case(one, case), step["html"], public, told["language"])
        if variant not in known:
            known.add(variant)
            yield replace(variant, code=code)


def _variant(one: Mapping[str, Any], text: str, public: Mapping[str, Any], language: str) -> Variant:
    """Return a question with the code 0, below the text of its step; ``public``: the question as students see it."""
    asked = public["html"] if "<p>" in public["html"] else f"<p>{public['html']}</p>"
    shared = Variant(0, clean(text), clean(asked), one["points"], tuple(map(clean, public.get("hints", ()))))
    if "choices" in one:
        texts = {choice["id"]: choice["html"] for choice in public["choices"]}
        choices = (
            Choice(each["id"], clean(texts[each["id"]]), clean(each["feedback"]), each["right"])
            for each in one["choices"]
        )
        return replace(shared, choices=tuple(choices))
    error, largest = max_error(one["answer"], one["tolerance"]), max(one["tolerance"], _MISTAKE_TOLERANCE)
    around = f" ± {shown(error, '.3g', Place())}" if one["tolerance"] else ""
    mistakes = (Reply(each["answer"], largest * abs(each["answer"]), clean(each["html"])) for each in one["mistakes"])
    return replace(
        shared,
        replies=(Reply(one["answer"], error, clean(one["right"]), is_right=True), *mistakes),
        otherwise=clean(one["wrong"]),
        solution=digits_in(f"{shown(one['answer'], '.4g', Place())}{around} {one['unit']}", language).strip(),
        unit=one["unit"],
    )


def clean(html: str) -> str:
    """Return HTML without buttons of the clock and without characters that no XML file may have."""
    return _NOT_XML.sub("", _BUTTON.sub("", html)).strip()


def in_digits(value: float) -> str:
    """Return a number as text. More than 12 digits would only show how binary numbers are rounded."""
    return f"{value:.12g}"
