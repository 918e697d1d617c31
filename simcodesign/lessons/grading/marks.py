"""Marks of a class: every truth from the models again, a row for each file of answers, and a table for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, nearest, shorten
from simcodesign.lessons.compute import numbers_of
from simcodesign.lessons.contents import contents
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.grading.answer_table import Judged, answers_csv, cell, judged
from simcodesign.lessons.grading.answers import Answers, read_answers
from simcodesign.lessons.grading.changes import Changes, changed
from simcodesign.lessons.grading.marking import TWO_WAYS, Mark, mark
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import place_of
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language, languages_of

#: Files that an error names, if none can be graded.
MOST_REASONS = 10
#: A row without remarks, with some that a teacher should look at, and a file that cannot be graded.
OK, CHECK, REFUSED = STATES = ("ok", "check", "refused")


@dataclass(frozen=True)
class Row:
    """The marks of one file.

    ``answers`` to every question, none for a file that is refused; ``stops``: those of its code, by slider.
    """

    file: str
    code: str
    state: str
    answers: tuple[Judged, ...]
    remarks: tuple[str, ...]
    stops: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> dict[str, float]:
        """By question."""
        return {one.question: one.points for one in self.answers}

    @property
    def total(self) -> float:
        """The sum of its points."""
        return sum(self.points.values())


@dataclass(frozen=True)
class Marks:
    """``most``: the points of every question. Rows stand in the order of codes; refused files at the end."""

    lesson: str
    most: Mapping[str, float]
    rows: tuple[Row, ...]


def grade(
    files: Sequence[Path], lesson: str | Path | None = None, changes: Changes | None = None, workers: int = 1
) -> Marks:
    """Grade files of answers; ``lesson``: its name or folder, by default the shipped one that most files name.

    InputError for a lesson or changes that cannot be used, and where no file can be graded; otherwise never for what is
    in a file of answers.
    """
    read = [_read(path) for path in files]
    found = [one for one in read if isinstance(one, Answers)]
    if read and not found:
        reasons = [f"{row.file}: {'; '.join(row.remarks)}" for row in read if isinstance(row, Row)]
        more = f"; and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
        raise InputError(f"none of the files can be graded: {'; '.join(reasons[:MOST_REASONS])}{more}")
    described = read_lesson(lesson_folder(lesson if lesson is not None else _named(found)))
    grader = Grader.of(described, changes or Changes(), workers)
    has_exams = any(one.is_exam for one in found)
    rows = [grader.row(one, has_exams) if isinstance(one, Answers) else one for one in read]
    rows = _with_twins(rows)
    rows.sort(key=lambda one: (one.state == REFUSED, one.code, one.file))
    return Marks(described.name, grader.most, tuple(rows))


def _read(path: Path) -> Answers | Row:
    try:
        return read_answers(path)
    except InputError as error:
        return Row(path.name, "", REFUSED, (), (error.what,))


def _named(found: Sequence[Answers]) -> str:
    """Return the shipped lesson that most files name."""
    named = Counter(one.lesson for one in found if one.lesson in available())
    if not named:
        raise InputError(
            "no file names a shipped lesson", allowed=f"--lesson FOLDER, or answers to {nearest('', available())}"
        )
    return named.most_common(1)[0][0]


def _with_twins(rows: list[Row]) -> list[Row]:
    """Rows of one code name each other."""
    files: dict[str, list[str]] = {}
    for row in rows:
        if row.code:
            files.setdefault(row.code, []).append(row.file)
    return [_with_twin(row, [name for name in files.get(row.code, []) if name != row.file], files) for row in rows]


def _with_twin(row: Row, others: list[str], files: Mapping[str, list[str]]) -> Row:
    if len(files.get(row.code, [])) < 2:
        return row
    remark = f"the same code as {', '.join(others[:3]) or 'another file of this name'}"
    return replace(row, state=CHECK if row.state == OK else row.state, remarks=(*row.remarks, remark))


def _in_own_language(lesson: Lesson, changes: Changes) -> Changes:
    """Return changes for grading, to which starts of sliders do not matter.

    Steps have other names in other languages.
    """
    own = {
        other.name: step.name
        for language in languages_of(lesson)[1:]
        for other, step in zip(in_language(lesson, language).steps, lesson.steps, strict=True)
    }
    hide = []
    for name in changes.hide:
        step, sign, number = name.rpartition("/")
        hide.append(f"{own.get(step, step)}/{number}" if sign else own.get(name, name))
    return Changes(tuple(hide), {}, changes.tolerance)


@dataclass(frozen=True)
class Grader:
    """The questions of a lesson with all truths, for every combination of drawn stops."""

    header: Mapping[str, Any]
    questions: tuple[Mapping[str, Any], ...]
    known: frozenset[str]  # names of all questions of the lesson, also those that a teacher hides

    @classmethod
    def of(cls, lesson: Lesson, changes: Changes, workers: int) -> Grader:
        """Truths are computed by both readings, or taken from the last time if nothing has changed since."""
        header = changed(contents(lesson, numbers_of(lesson, workers))[0], _in_own_language(lesson, changes))
        known = frozenset(one.name for step in lesson.steps for one in step.questions)
        return cls(header, tuple(one for step in header["steps"] for one in step["questions"]), known)

    @property
    def most(self) -> dict[str, float]:
        """The points of every question."""
        return {one["name"]: one["points"] for one in self.questions}

    def row(self, answers: Answers, has_exams: bool = False) -> Row:
        """Return the marks of one file; ``has_exams``: whether files beside it were written by an exam."""
        if answers.lesson != self.header["name"]:
            remark = f"answers to another lesson: {shorten(answers.lesson)}"
            return Row(answers.file, answers.code, REFUSED, (), (remark,))
        number = place_of(answers.lesson, answers.code, len(self.header["seeded"]["combinations"]))
        suspicions = self._suspicions(answers, number)
        if has_exams and not answers.is_exam:
            suspicions.append("by a practice page, which has the truths")
        language = answers.language or self.header["language"]
        own = tuple(self._judged(of_case(one, number), answers.given, language) for one in self.questions)
        remarks = [f"{one.question}: {one.remark}" for one in own if one.remark]
        missing = [one.question for one in own if one.question not in answers.given]
        if missing:
            remarks.append(f"not answered: {', '.join(missing)}")
        return Row(
            answers.file,
            answers.code,
            CHECK if suspicions or any(one.remark.startswith(TWO_WAYS) for one in own) else OK,
            own,
            (*suspicions, *remarks),
            {name: self.header["sliders"][name]["stops"][stop]["text"] for name, stop in self._drawn(number).items()},
        )

    def _judged(self, question: Mapping[str, Any], given: Mapping[str, object], language: str) -> Judged:
        stops = self.header["sliders"][question["over"]]["stops"] if "over" in question else []
        value, axis = given.get(question["name"]), [stop["value"] for stop in stops]
        found = mark(question, value, axis, language) if question["name"] in given else Mark(0.0)
        return judged(question, value, found, stops, language)

    def _drawn(self, number: int) -> dict[str, int]:
        """Return the stops of a combination."""
        seeded = self.header["seeded"]
        return dict(zip(seeded["sliders"], seeded["combinations"][number], strict=True))

    def _suspicions(self, answers: Answers, number: int) -> list[str]:
        """Return what does not fit a file that the page of this lesson has written."""
        found = []
        if answers.parameters != self._drawn(number):
            found.append("parameters are not those of the code; graded by those of the code")
        if answers.content != self.header["content"]:
            found.append("of another version of the lesson")
        strange = set(answers.given) - self.known
        if strange:
            found.append(f"unknown questions: {len(strange)}")
        return found


def answers_of(marks: Marks) -> str:
    """Return the table of all answers of the files that are graded (``answers_csv``)."""
    return answers_csv([(row.code, row.file, row.stops, row.answers) for row in marks.rows])


def marks_csv(marks: Marks) -> str:
    """Return a line for each row: code, file, state, points by question, total, out of, remarks.

    Texts that a spreadsheet would take for formulas have an apostrophe before them.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["code", "file", "state", *map(cell, marks.most), "total", "of", "remarks"])
    most = sum(marks.most.values())
    for row in marks.rows:
        points = [_shown(row.points[name]) if name in row.points else "" for name in marks.most]
        total = "" if row.state == REFUSED else _shown(row.total)
        cells = [cell(row.code), cell(row.file), row.state, *points, total, _shown(most)]
        writer.writerow([*cells, cell("; ".join(row.remarks))])
    return text.getvalue()


def _shown(points: float) -> str:
    return f"{points:.6g}"
