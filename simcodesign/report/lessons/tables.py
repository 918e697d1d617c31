"""The shipped lessons as a table, and what a check of one has computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from simcodesign.lessons.checking import Checked
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.grading.answer_table import cell
from simcodesign.lessons.grading.marks import OK, STATES, Marks
from simcodesign.lessons.grading.seeding import combinations_of
from simcodesign.lessons.grading.withheld import KINDS, Withheld
from simcodesign.report.common.tables import facts, new_table, section, text_table

#: Files that the terminal names; the table has all.
MAX_FILES = 20


def lesson_rows(lessons: Iterable[Lesson]) -> list[dict[str, Any]]:
    """Name, title, language, minutes and steps of every lesson."""
    return [
        {
            "name": one.name,
            "title": one.title,
            "language": one.language,
            "minutes": one.minutes,
            "steps": [step.name for step in one.steps],
        }
        for one in lessons
    ]


def lesson_table(lessons: Iterable[Lesson]) -> Table:
    """Table of lessons for a terminal."""
    table = text_table("Lessons", "name", "title", "minutes", "steps", right={"minutes"})
    for one in lessons:
        table.add_row(one.name, one.title, str(one.minutes), ", ".join(step.name for step in one.steps))
    return table


def check_tables(checked: Checked) -> list[RenderableType]:
    """Return stops of a code, named values, answers, and the size of the page."""
    lesson = checked.lesson
    first = f"that codes draw, the first of {len(combinations_of(lesson))} combinations (--code for a student's)"
    whose = f"of the code {checked.code}" if checked.code else first
    stops = [section(f"Stops {whose}", checked.parameters.items())] if checked.parameters else []
    return [
        facts([("lesson", lesson.name), ("title", lesson.title), ("page", f"{checked.page_bytes / 1e6:.2f} MB")]),
        *stops,
        section("Values (SI units)", [(name, f"{value:.6g}") for name, value in checked.values.items()]),
        section("Answers", list(checked.answers.items())),
    ]


def note_on_withheld(withheld: Sequence[Withheld]) -> str:
    """Return one note on what an exam leaves out of its lesson: counts of each kind, and the lines to read again."""
    counts = Counter(one.kind for one in withheld)
    lines: dict[str, set[int]] = {}
    for one in withheld:
        lines.setdefault(Path(one.place.file or "").name, set()).update([one.place.line] if one.place.line else [])
    what = ", ".join(f"{counts[kind]} {words}" for kind, words in KINDS.items() if counts[kind])
    places = "; ".join(" ".join([name, ", ".join(map(str, sorted(found)))]).strip() for name, found in lines.items())
    return f"note: the exam differs from the lesson: {what}. Read these lines again: {places}"


def marks_tables(marks: Marks) -> list[RenderableType]:
    """Return how many files there are of each state, and the mean of the points of each question.

    Also return remarks on files that a teacher should look at.
    """
    graded = [row for row in marks.rows if row.answers]
    table = new_table(f"Marks of {marks.lesson}", "question", "points", "mean")
    for name, most in marks.most.items():
        mean = sum(row.points[name] for row in graded) / len(graded) if graded else 0.0
        table.add_row(name, f"{most:g}", f"{mean:.2f}")
    counts = [sum(row.state == state for row in marks.rows) for state in STATES]
    wrong = [(cell(f"{row.state}: {row.file}"), cell("; ".join(row.remarks))) for row in marks.rows if row.state != OK]
    more = [("...", f"and {len(wrong) - MAX_FILES} more, in the table")] if len(wrong) > MAX_FILES else []
    return [
        table,
        facts([(state, str(count)) for state, count in zip(STATES, counts, strict=True)]),
        *([section("Files to look at", [*wrong[:MAX_FILES], *more])] if wrong else []),
    ]
