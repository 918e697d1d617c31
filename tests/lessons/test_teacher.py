"""The guide for teachers: numbers in notes, answers as ``lesson check`` prints them, accepted intervals, mistakes."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from simcodesign import cli
from simcodesign.core.errors import InputError, Place
from simcodesign.lessons.checking import check_lesson
from simcodesign.lessons.compute import Numbers, compute
from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.grading.changes import changes_of
from simcodesign.lessons.grading.marking import is_near
from simcodesign.lessons.lattice import Lattice, formula_times
from simcodesign.lessons.teacher.guide import guide
from simcodesign.lessons.teacher.notes import notes_of
from simcodesign.lessons.teacher.words import WORDS
from simcodesign.lessons.values import Values
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language, languages_of
from tests.lessons.small import seeded_lesson
from tests.lessons.test_grading import numbers_without_simulating

NOTES = """\
# Notes

**Before.** Nothing.

**One.** The formula says {{formula : ms .4g}}.

Ask [when](clock:half).

**Later.** More.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = seeded_lesson(tmp_path_factory.mktemp("guide") / "small", ("runs:", "teacher: teacher.md\nruns:"))
    (folder / "teacher.md").write_text(NOTES, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    lesson = read_lesson(folder)
    return guide(lesson, compute(lesson, 1))[1]


def question(html: str, name: str) -> str:
    """The part of a guide that is about one question."""
    found = re.search(rf'<section class="question"><h3>Question {name} .*?</section>', html, re.DOTALL)
    assert found
    return found[0]


def rows(html: str) -> list[list[str]]:
    """The cells of all tables, as texts."""
    found = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    return [[unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in found if row]


def test_notes_are_beside_their_steps_with_numbers() -> None:
    lesson = read_lesson(lesson_folder("broadcast"))
    values = Values(lesson, {}, {})
    values._known["formula"] = 0.25
    notes = notes_of(NOTES, Place("x"), ["One", "Two"], values)
    assert notes.general == "<p><strong>Before.</strong> Nothing.</p>\n<p><strong>Later.</strong> More.</p>\n"
    assert notes.of_steps["Two"] == ""
    assert notes.of_steps["One"].replace("\N{NO-BREAK SPACE}", " ") == (
        "<p>The formula says 250 ms.</p>\n<p>Ask <span>when</span>.</p>\n"
    )


def test_answers_of_every_code_and_what_is_accepted(folder: Path, html: str) -> None:
    """As ``lesson check`` computes them, over the sliders on which each question depends."""
    shown = rows(question(html, "factor"))
    assert {row[0] for row in shown[:4]} == {"2", "8"}
    assert {row[1] for row in shown[:4]} == {"1 KiB", "1 MiB"}
    for code in range(1, 5):
        checked = check_lesson(folder, 1, code=str(code))
        stops = [checked.parameters["nodes"], checked.parameters["size"]]
        (row,) = [row for row in shown if row[:2] == stops]
        answer = checked.answers["factor"].split(" ")[0]
        assert row[2] == answer
        low, high = (float(end) for end in re.findall(r"[\d.]+", row[3])[:2])
        exact = checked.values["simulated"] / checked.values["formula"]
        assert (low, high) == pytest.approx((0.95 * exact, 1.05 * exact), rel=1e-3)
        assert is_near(low * 1.001, exact, 0.05)
        assert not is_near(low * 0.998, exact, 0.05)


def test_mistakes_choices_and_curves(html: str) -> None:
    number = rows(question(html, "number"))
    assert number[-1][1] == "Half of it."
    drawn = rows(question(html, "sketch"))
    assert len(drawn) == 2  # one for each number of nodes; the size is its axis
    assert drawn[0][1].count(";") == 1  # three sizes, of which the first is given
    choices = [row for row in rows(question(html, "choice")) if row[-1] in ("No.", "Yes.")]
    assert [(row[0], row[2]) for row in choices] == [("Hops", "No."), ("Links", "Yes.")]
    assert sorted(row[1] for row in choices) == ["wrong", "✓ right"]


def test_the_curve_that_is_predicted(folder: Path, html: str) -> None:
    """The simulation is of the effects before the first random one, as the values of the lesson are."""
    drawn = html[html.index("Students draw this curve") : html.index("Question number")]
    for code in range(1, 5):
        checked = check_lesson(folder, 1, code=str(code))
        if checked.parameters["size"] != "1 MiB":  # where the slider begins
            continue
        (row,) = [row for row in rows(drawn) if row[0] == checked.parameters["nodes"]]
        shown_s = [float(cell.split()[0]) * {"ms": 1e-3, "µs": 1e-6}[cell.split()[1]] for cell in row[1:3]]
        expected = [checked.values["formula"], checked.values["simulated"]]
        assert shown_s == pytest.approx(expected, rel=1e-3)
        assert float(row[3]) == pytest.approx(expected[1] / expected[0], rel=1e-2)


def test_a_guide_needs_nothing_else(html: str) -> None:
    assert "<script" not in html
    assert "<button" not in html
    assert not re.search(r"(src|href)=", html)


def test_hidden_parts_and_other_tolerances(folder: Path) -> None:
    lesson = read_lesson(folder)
    header, text = guide(lesson, compute(lesson, 1), changes_of(["choice"], [], ["factor=20%"]))
    assert "Question choice" not in text
    assert "within 20 %" in question(text, "factor")
    assert [one["name"] for one in header["steps"][0]["questions"]] == ["number", "sketch", "factor"]


def test_a_note_with_an_unknown_value(folder: Path) -> None:
    lesson = read_lesson(folder)
    numbers = compute(lesson, 1)
    with pytest.raises(InputError, match=r"notes for teachers:1: no such value.*nothing"):
        guide(replace(lesson, teacher="{{nothing}}"), numbers)


def needs_only_ladders(name: str) -> bool:
    """Whether a lesson shows no traces, events or helps, so that made-up ladders are enough for its texts."""
    return not any(run.traces or run.events or run.helps for run in read_lesson(lesson_folder(name)).runs.values())


@pytest.mark.parametrize("name", [name for name in available() if needs_only_ladders(name)])
def test_shipped_lessons_have_one_in_each_of_their_languages(name: str) -> None:
    """All others are computed by ``lesson check`` in the thorough tests."""
    lesson = read_lesson(lesson_folder(name))
    numbers: Numbers = numbers_without_simulating(lesson, Lattice, formula_times)
    for language in languages_of(lesson):
        header, text = guide(in_language(lesson, language), numbers)
        assert f'<html lang="{language}">' in text
        assert text.count('<section class="question">') == sum(len(step["questions"]) for step in header["steps"])


def test_words_are_there_in_every_language() -> None:
    assert len({tuple(words) for words in WORDS.values()}) == 1


def test_the_command(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = folder.parent / "guide.html"
    assert cli.main(["lesson", "build", str(folder), "--teacher", "--write", str(path), "-j", "1"]) == 0
    assert "4 questions with answers" in capfd.readouterr().out
    assert "Teacher's guide" in path.read_text(encoding="utf-8")
    assert cli.main(["lesson", "build", str(folder), "--teacher", "--exam", "--write", str(path)]) != 0
    assert cli.main(["lesson", "build", str(folder), "--teacher", "--write", "guide.xml"]) != 0
    assert "page:FILE.html" in capfd.readouterr().err
