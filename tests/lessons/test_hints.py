"""Questions with several hints: in the lesson, on pages, for learning platforms and in another language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.lessons.courses.bank import read_bank
from simcodesign.lessons.courses.moodle import quiz_of
from simcodesign.lessons.courses.qti import qti_files
from simcodesign.lessons.packing import block_in, unpack
from simcodesign.lessons.page import build_lesson
from simcodesign.lessons.teacher.guide import build_guide
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language
from tests.lessons.small import small_lesson
from tests.lessons.test_languages import GERMAN

#: The first question of the small lesson, with three hints.
HINTS = ('"How long?",', '"How long?", hint: [Look at the formula., "It has {{formula : ms}}.", Read & write.],')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_lesson(tmp_path_factory.mktemp("hints") / "small", HINTS)


def test_a_list_and_a_text_are_read(folder: Path, tmp_path: Path) -> None:
    assert [len(one.hints) for one in read_lesson(folder).steps[0].questions] == [3, 0]
    one = small_lesson(tmp_path / "one", ('"How long?",', '"How long?", hint: Look.,'))
    assert read_lesson(one).steps[0].questions[0].hints == ("Look.",)
    with pytest.raises(InputError, match=r"6 hints.*up to 5"):
        read_lesson(small_lesson(tmp_path / "six", ('"How long?",', '"How long?", hint: [a, b, c, d, e, f],')))


def test_moodle_shows_one_after_another(folder: Path) -> None:
    question = quiz_of(read_bank(folder, 1)).find("question[@type='numerical']")
    assert question is not None
    first, second, third = [one.text for one in question.iterfind("hint/text")]
    assert (first, third) == ("Look at the formula.", "Read &amp; write.")
    assert second is not None
    assert re.fullmatch(r"It has [\d.]+\N{NO-BREAK SPACE}ms\.", second)
    assert quiz_of(read_bank(folder, 1, exam=True)).find("question/hint") is None


def test_qti_has_all_of_them_in_the_feedback_to_wrong_answers(folder: Path) -> None:
    text = qti_files(read_bank(folder, 1))["items/number-1.xml"]
    assert text.index("Hint: Look at the formula.") < text.index("Hint: It has") < text.index("Hint: Read &amp; write.")


def test_an_exam_page_has_none(folder: Path) -> None:
    found = []
    for exam in (False, True):
        file = folder.parent / f"{exam}.html"
        build_lesson(folder, file, 1, exam=exam)
        question = unpack(block_in(file.read_text(encoding="utf-8")))[0]["steps"][0]["questions"][0]
        found.append(len(question.get("hints", ())))
    assert found == [3, 0]


def test_the_guide_lists_them(folder: Path) -> None:
    file = folder.parent / "guide.html"
    build_guide(folder, file, 1)
    assert file.read_text(encoding="utf-8").count("<dt>Hint</dt>") == 3


@pytest.mark.parametrize(
    ("hints", "word"),
    [("hint: [Eins., Zwei., Drei.],", ""), ("hint: [Eins., Zwei.],", "not as many hints"), ("", "'hint' is missing")],
)
def test_a_translation_has_as_many(hints: str, word: str, tmp_path: Path) -> None:
    lesson = read_lesson(small_lesson(tmp_path / "small", HINTS))
    (tmp_path / "small" / "de").mkdir()
    text = GERMAN.replace('"Wie lange?",', f'"Wie lange?", {hints}')
    (tmp_path / "small" / "de" / "lesson.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "small" / "de" / "one.md").write_text("Text.", encoding="utf-8")
    if word:
        with pytest.raises(InputError, match=word):
            in_language(lesson, "de")
    else:
        assert in_language(lesson, "de").steps[0].questions[0].hints == ("Eins.", "Zwei.", "Drei.")
