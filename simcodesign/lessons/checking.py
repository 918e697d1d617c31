"""What a lesson says, computed: its named values, the answers to its questions, and how large its page is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.core.errors import Place
from simcodesign.lessons.compute import OnProgress, numbers_of
from simcodesign.lessons.contents import contents
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import combinations_of
from simcodesign.lessons.page import page
from simcodesign.lessons.values import Values
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language, languages_of


@dataclass(frozen=True)
class Checked:
    """A lesson without errors. ``answers``: of each question its name, and a number with its unit or a text.

    Both are those of the first combination, if stops are drawn from a student's code."""

    lesson: Lesson
    values: dict[str, float]
    answers: dict[str, str]
    page_bytes: int


def check_lesson(folder: Path, workers: int, on_progress: OnProgress | None = None) -> Checked:
    """Compute all that the page shows. InputError for the first thing that is wrong."""
    lesson = read_lesson(folder)
    numbers = numbers_of(lesson, workers, on_progress=on_progress)
    values = Values(lesson, numbers.lattices, numbers.traces, combinations_of(lesson)[0])
    named = {name: values.named(name, Place(str(folder))) for name in lesson.values}
    header, _ = contents(lesson, numbers)
    for language in languages_of(lesson)[1:]:
        contents(in_language(lesson, language), numbers)
    questions = [one for step in header["steps"] for one in step["questions"]]
    size = len(page(lesson, numbers).encode())
    return Checked(lesson, named, {one["name"]: _answer(of_case(one, 0)) for one in questions}, size)


def _answer(question: dict[str, Any]) -> str:
    if "choices" in question:
        return next(str(one["html"]) for one in question["choices"] if one["right"])
    if "truth" in question:
        points = ", ".join(f"{value:.4g}" for value in question["truth"])
        return f"a curve through {points} s, within {question['tolerance']:.2g}"
    return f"{question['answer']:.4g} {question['unit']}, within {question['tolerance']:.2g}"
