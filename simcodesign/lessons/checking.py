"""Computed contents of a lesson: its named values, the answers to its questions, and how large its page is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.lessons.compute import OnProgress, numbers_of
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import checked_code, combinations_of, place_of
from simcodesign.lessons.page import page
from simcodesign.lessons.teacher.guide import guide
from simcodesign.lessons.values import Values
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language, languages_of


@dataclass(frozen=True)
class Checked:
    """A lesson without errors. ``answers``: of each question its name, and a number with its unit or a text.

    If stops are drawn from a student's code, both are for ``code``, or for the first combination if it is empty;
    ``parameters``: these stops by slider."""

    lesson: Lesson
    code: str
    parameters: dict[str, str]
    values: dict[str, float]
    answers: dict[str, str]
    page_bytes: int


def check_lesson(folder: Path, workers: int, on_progress: OnProgress | None = None, code: str = "") -> Checked:
    """Compute all that the page and the guide for teachers show. InputError for the first thing that is wrong."""
    lesson = read_lesson(folder)
    combinations = combinations_of(lesson)
    number = _place_of(lesson, code, len(combinations)) if code else 0
    drawn = combinations[number]
    numbers = numbers_of(lesson, workers, on_progress=on_progress)
    values = Values(lesson, numbers.lattices, numbers.traces, drawn)
    named = {name: values.named(name, Place(str(folder))) for name in lesson.values}
    header, _ = guide(lesson, numbers)
    for language in languages_of(lesson)[1:]:
        guide(in_language(lesson, language), numbers)
    questions = [of_case(one, number) for step in header["steps"] for one in step["questions"]]
    return Checked(
        lesson=lesson,
        code=code,
        parameters={name: lesson.sliders[name].stops[stop].text for name, stop in drawn.items()},
        values=named,
        answers={one["name"]: _answer(one) for one in questions},
        page_bytes=len(page(lesson, numbers).encode()),
    )


def _place_of(lesson: Lesson, code: str, count: int) -> int:
    """Return the number of a code's combination. InputError if nothing depends on it."""
    checked = checked_code(code)
    if not lesson.seeded:
        raise InputError(
            "nothing in this lesson depends on a code", Place("--code"), value=code, allowed="a lesson with 'seeded'"
        )
    return place_of(lesson.name, checked, count)


def _answer(question: dict[str, Any]) -> str:
    if "choices" in question:
        return next(str(one["html"]) for one in question["choices"] if one["right"])
    if "truth" in question:
        points = ", ".join(f"{value:.4g}" for value in question["truth"])
        return f"a curve through {points} s, within {100 * question['tolerance']:.3g} %"
    return f"{question['answer']:.4g} {question['unit']}, within {100 * question['tolerance']:.3g} %"
