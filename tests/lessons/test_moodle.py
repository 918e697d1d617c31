"""Questions as Moodle XML: the structure that Moodle documents, the lesson's answers and tolerances, and variants."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.lessons.checking import check_lesson
from simcodesign.lessons.contents import contents
from simcodesign.lessons.courses.bank import bank_of, read_bank
from simcodesign.lessons.courses.moodle import quiz_of, write_moodle
from simcodesign.lessons.folders import lesson_folder
from simcodesign.lessons.grading.changes import changes_of
from simcodesign.lessons.grading.marking import is_near
from simcodesign.lessons.lattice import Lattice, formula_times
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import in_language
from tests.lessons.small import seeded_lesson
from tests.lessons.test_grading import numbers_without_simulating

#: Elements of a question by its type, as https://docs.moodle.org/en/Moodle_XML_format lists them; required ones first.
COMMON = ("name", "questiontext", "defaultgrade", "answer")
MORE = {"numerical": {"generalfeedback", "hint", "units"}, "multichoice": {"single", "shuffleanswers", "hint"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeded_lesson(
        tmp_path_factory.mktemp("moodle") / "small", (", hint: Divide.", ", unit: '%', hint: Divide & see.")
    )


@pytest.fixture(scope="module")
def quiz(folder: Path) -> ET.Element:
    return written(folder)


def written(folder: Path, **options: object) -> ET.Element:
    """The root of a file, which a parser reads."""
    path = folder.parent / "quiz.xml"
    write_moodle(read_bank(folder, 1, **options), path)  # type: ignore[arg-type]
    return ET.parse(path).getroot()


def of_name(quiz: ET.Element, name: str) -> list[ET.Element]:
    return [one for one in quiz if one.findtext("name/text", "").split(" ")[0] == name]


def check_structure(quiz: ET.Element) -> None:
    assert quiz.tag == "quiz"
    assert quiz[0].get("type") == "category"
    for one in quiz.iterfind("question[name]"):
        tags, kind = {child.tag for child in one}, one.get("type", "")
        assert tags >= set(COMMON)
        assert tags - set(COMMON) <= MORE[kind]
        assert one.find("questiontext[@format='html']") is not None
        ET.fromstring(f"<div>{one.findtext('questiontext/text')}</div>")  # every tag of the text is closed
        answers = one.findall("answer")
        assert sorted({answer.get("fraction") for answer in answers}) == ["0", "100"]
        assert len(one.findall("answer[@fraction='100']")) == 1
        assert all(answer.findtext("text") and answer.find("feedback/text") is not None for answer in answers)
        assert len(one.findall("answer/tolerance")) == (0 if kind == "multichoice" else len(answers))
        assert one.findtext("single") == ("true" if kind == "multichoice" else None)
        assert (answers[-1].findtext("text") == "*") is (kind == "numerical")


def test_structure(quiz: ET.Element) -> None:
    check_structure(quiz)
    assert [one.findtext("category/text") for one in quiz.iterfind("question[@type='category']")] == [
        f"$course$/A small lesson/{name}" for name in ("number", "choice", "factor")
    ]
    assert "<button" not in ET.tostring(quiz, encoding="unicode")
    (number, *_), (factor, *_) = of_name(quiz, "number"), of_name(quiz, "factor")
    assert [one.text for one in number.iterfind("units/unit/unit_name")] == ["ms"]
    assert [one.text for one in factor.iterfind("units/unit/multiplier")] == ["1"]
    assert factor.findtext("defaultgrade") == "2"
    assert factor.findtext("hint/text") == "Divide &amp; see."


def test_variants_have_the_numbers_of_their_codes(folder: Path, quiz: ET.Element) -> None:
    """Answers, and choices, as ``lesson check`` computes them for the same code."""
    assert [one.findtext("name/text") for one in of_name(quiz, "factor")] == [f"factor {code}" for code in range(1, 5)]
    assert len({one.findtext("answer/text") for one in of_name(quiz, "factor")}) == 4
    for one in quiz.iterfind("question[name]"):
        name, code = one.findtext("name/text", "").split(" ")
        checked = check_lesson(folder, 1, code=code)
        right = one.find("answer[@fraction='100']")
        assert right is not None
        if one.get("type") == "multichoice":
            assert right.findtext("text") == checked.answers[name]
            continue
        value, percent = checked.answers[name].split(" ")[0], checked.answers[name].split(" ")[-2]
        answer = float(right.findtext("text", ""))
        assert f"{answer:.4g}" == value
        assert float(right.findtext("tolerance", "")) / abs(answer) == pytest.approx(float(percent) / 100, rel=1e-6)
        text = one.findtext("questiontext/text", "")
        assert name != "factor" or f"on {checked.parameters['nodes']} nodes and {checked.parameters['size']}" in text


def test_moodle_accepts_what_the_page_accepts(quiz: ET.Element) -> None:
    """Moodle takes the first answer with |given - answer| <= tolerance."""
    for one in quiz.iterfind("question[@type='numerical']"):
        rows = [
            (a.get("fraction"), a.findtext("text", ""), float(a.findtext("tolerance", "")))
            for a in one.iterfind("answer")
        ]
        answer, relative = float(rows[0][1]), {"number": 0.01, "factor": 0.05}[one.findtext("name/text", "")[:6]]
        for off in (-1, -0.5, -0.0501, -0.0499, -0.0101, -0.0099, 0, 0.0099, 0.0101, 0.0499, 0.0501, 1):
            given = answer * (1 + off)
            fraction = next(row[0] for row in rows if row[1] == "*" or abs(given - float(row[1])) <= row[2])
            assert (fraction == "100") is is_near(given, answer, relative) is (abs(off) <= relative)
    number = of_name(quiz, "number")[0].findall("answer")
    assert [one.findtext("feedback/text") for one in number][1] == "Half of it."
    assert float(number[1].findtext("text", "")) == pytest.approx(float(number[0].findtext("text", "")) / 2)


def test_files_are_the_same_each_time_and_options_apply(folder: Path, quiz: ET.Element) -> None:
    assert ET.tostring(written(folder)) == ET.tostring(quiz)
    two = written(folder, variants=2, changes=changes_of(["choice"], [], ["factor=20%"]))
    assert [one.findtext("name/text") for one in of_name(two, "factor")] == ["factor 1", "factor 2"]
    assert not of_name(two, "choice")
    wide, narrow = (float(of_name(one, "factor")[0].findtext("answer/tolerance", "")) for one in (two, quiz))
    assert wide == pytest.approx(4 * narrow)
    exact = written(folder, changes=changes_of([], [], ["factor=0%"]))
    told = [of_name(one, "factor")[0].findtext("generalfeedback/text", "") for one in (exact, two)]
    assert ["±" in text for text in told] == [False, True]


def test_an_exam_hides_what_its_page_hides(folder: Path) -> None:
    withheld: list[object] = []
    exam = written(folder, exam=True, on_withheld=withheld.append)
    check_structure(exam)
    assert exam.find("question/hint") is None
    assert {one.findtext("answer/text") for one in of_name(exam, "number")} == {
        one.findtext("answer/text") for one in of_name(written(folder), "number")
    }
    assert "says …" in of_name(exam, "number")[0].findtext("questiontext/text", "")
    assert withheld


def test_languages_have_the_same_answers() -> None:
    """The shipped exam; its variants read two sliders, one, or none."""
    lesson = read_lesson(lesson_folder("exam"))
    numbers = numbers_without_simulating(lesson, Lattice, formula_times)
    told = [contents(in_language(lesson, language), numbers)[0] for language in (None, "de")]
    english, german = (quiz_of(bank_of(one, one, None)) for one in told)
    for one in (english, german):
        check_structure(one)
    assert bank_of(told[0], told[0], None).left_out == ("sketch",)
    assert len(of_name(english, "near")) == 9
    assert len(of_name(english, "slowest")) == 3
    for path in ("question/name/text", "question[@type='numerical']/answer/text", "question/answer/tolerance"):
        assert [one.text for one in english.iterfind(path)] == [one.text for one in german.iterfind(path)]
    texts = [{one.text for one in quiz.iterfind("question/questiontext/text")} for quiz in (english, german)]
    assert not texts[0] & texts[1]
    assert "<p>Einheit: %</p>" in of_name(german, "left_out")[0].findtext("questiontext/text", "")


def test_what_cannot_be_written(folder: Path) -> None:
    for variants in (0, 5):
        with pytest.raises(InputError, match=r"variants.*1 to 4"):
            written(folder, variants=variants)
    with pytest.raises(InputError, match="no question that a learning"):
        written(folder, changes=changes_of(["number", "choice", "factor"], [], []))


def test_the_command(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = folder.parent / "command.xml"
    assert cli.main(["lesson", "build", str(folder), "--write", str(path), "--variants", "1", "-j", "1"]) == 0
    assert "3 questions in 3 categories; without sketch" in capfd.readouterr().out
    check_structure(ET.parse(path).getroot())
    assert cli.main(["lesson", "build", str(folder), "--write", "page.html", "--variants", "1"]) != 0
    assert "moodle:FILE.xml" in capfd.readouterr().err
