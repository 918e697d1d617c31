"""The tables for lecturers agree with the lessons, and the course plan uses every lesson once, but for the extra ones."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.yaml.lesson import read_lesson
from tests import ROOT
from tests.system.documentation import csv_rows

PAGE = (ROOT / "docs" / "start" / "lecturers.md").read_text(encoding="utf-8")
STEP_MIN = re.compile(r"^\*\*Time\.\*\* (.*?)\n\n", re.MULTILINE | re.DOTALL)


def table(first_line: str) -> list[list[str]]:
    """Return the rows below this heading of a table, without backticks."""
    _, found, rest = PAGE.partition(f"{first_line}\n|---")
    assert found, first_line
    rows = rest.partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]


LESSONS = {name.strip("`"): rest for name, *rest in (list(row.values()) for row in csv_rows("lessons"))}
with (ROOT / "docs" / "tables" / "lesson-objectives.csv").open(encoding="utf-8", newline="") as file:
    OBJECTIVES = dict(list(csv.reader(file))[1:])
WEEKS = table("| week | topic | class | homework |")


def test_every_bundled_lesson_has_a_row() -> None:
    assert sorted(LESSONS) == sorted(OBJECTIVES) == available()


@pytest.mark.parametrize("name", available())
def test_minutes_and_objectives_are_in_the_lesson(name: str) -> None:
    lesson = read_lesson(lesson_folder(name))
    assert LESSONS[name][0] == str(lesson.minutes)
    assert OBJECTIVES[name] == "; ".join(one.rstrip(",.") for one in lesson.objectives)


@pytest.mark.parametrize("name", available())
def test_minutes_are_the_steps_of_the_notes_rounded_up_to_five(name: str) -> None:
    lesson = read_lesson(lesson_folder(name))
    found = STEP_MIN.search(lesson.teacher)
    if name in ("exam", "bank"):
        assert found is None
        return
    assert found is not None
    planned = dict(re.findall(r"([A-Z][a-z ]+?) (\d+)", found[1].replace(" minutes", "").replace("\n", " ")))
    assert list(planned) == [step.name for step in lesson.steps]
    assert lesson.minutes == -(-sum(map(int, planned.values())) // 5) * 5


@pytest.mark.parametrize("name", available())
def test_areas_are_explained_below_the_table(name: str) -> None:
    cs2023, tcpp = re.findall(
        r"^- \*\*\w+\*\* \((.*?)(?:\n- |\n\n)", PAGE.replace("\n- ", "\n\n- "), re.MULTILINE | re.DOTALL
    )
    assert all(f"({area})" in cs2023 for area in LESSONS[name][3].split(", "))
    assert all(area in tcpp for area in LESSONS[name][4].split(", "))


def test_the_course_has_eight_weeks_and_every_lesson_once() -> None:
    assert {row[2] for row in LESSONS.values()} == {"class", "homework", "extra", "questions"}
    assert [week for week, *_ in WEEKS] == [str(number) for number in range(1, 9)]
    homework = [one for *_, one in WEEKS if one]
    lessons = [one for one in homework if not one.startswith("notebook ")]
    notebooks = [one.removeprefix("notebook ").strip("`") for one in homework if one not in lessons]
    assert all((ROOT / "lessons" / "notebooks" / one).is_file() for one in notebooks)
    assert len(homework) == 7
    assert sorted(week[2] for week in WEEKS) == sorted(name for name, row in LESSONS.items() if row[2] == "class")
    assert sorted(lessons) == sorted(name for name, row in LESSONS.items() if row[2] == "homework")


def test_the_page_states_that_all_lessons_are_in_german() -> None:
    assert "All lessons are also in German" in PAGE
    assert all(Path(lesson_folder(name), "de", "lesson.yaml").is_file() for name in available())
