"""Answers, drawings and opened steps survive a reload and come back from a file. Needs what test_browser.py does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.grading.marks import OK, grade
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import place_of
from simcodesign.lessons.page import build_lesson
from tests.lessons import test_browser
from tests.lessons.small import SEEDED, seeded_lesson
from tests.lessons.test_browser import DESKTOP, browser  # noqa: F401
from tests.lessons.test_grading_browser import draw, header_of, saved

pytestmark = test_browser.pytestmark
#: Steps that wait for the prediction and for an answer.
TWO = (
    SEEDED,
    "  - {name: Two, text: one.md, after_prediction: true, views: [{kind: sliders}, {kind: clock, run: near}]}\n"
    "  - {name: Three, text: one.md, after_answer: choice, views: [{kind: clock, run: near}]}\n" + SEEDED,
)
REFUSED = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"
STATE = "document.querySelector('lesson-export').state"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        lesson = seeded_lesson(folder / "small", TWO)
        build_lesson(lesson, folder / "page.html", 1)
        build_lesson(lesson, folder / "exam.html", 1, exam=True)
        german = seeded_lesson(folder / "german", TWO)
        file = german / "lesson.yaml"
        file.write_text(
            file.read_text(encoding="utf-8").replace("name: small", "name: small\nlanguage: de"), encoding="utf-8"
        )
        build_lesson(german, folder / "german.html", 1)
        yield folder


class Student:
    """A browser whose storage lasts from one page to the next."""

    def __init__(self, browser: Any, refused: str = "") -> None:  # noqa: F811
        self.context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
        if refused:
            self.context.add_init_script(refused)
        self.errors: list[str] = []

    def open(self, file: Path, code: str = "s001") -> Any:
        page = self.context.new_page()
        page.on("console", lambda one: self.errors.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(file.as_uri())
        self.enter(page, code)
        return page

    @staticmethod
    def enter(page: Any, code: str = "s001") -> None:
        page.locator(".code-form input").fill(code)
        page.locator(".code-form button").click()
        page.wait_for_selector("body.is-ready")

    def reload(self, page: Any, code: str = "s001") -> None:
        page.reload()
        self.enter(page, code)


@pytest.fixture
def student(browser: Any) -> Iterator[Any]:  # noqa: F811
    students = []

    def come(refused: str = "") -> Student:
        students.append(Student(browser, refused))
        return students[-1]

    yield come
    for one in students:
        one.context.close()
        assert one.errors == []


def asked(page: Any, place: int) -> Any:
    return page.locator(f'.questions [data-step="0"][data-question="{place}"]')


def type_in(page: Any, place: int, text: str, check: bool = True) -> None:
    asked(page, place).locator("input").fill(text)
    if check:
        asked(page, place).locator("button[type=submit]").click()


def predict(page: Any) -> None:
    """Draw the prediction, and compare it."""
    page.locator("lesson-curve").first.scroll_into_view_if_needed()
    handles = page.locator("lesson-curve circle.handle")
    handles.first.wait_for(timeout=5000)
    for number in range(handles.count()):
        handles.nth(number).press("PageUp")
    page.locator("lesson-curve .compare").click()


def questions_of(file: Path, code: str = "s001") -> list[dict[str, Any]]:
    header = header_of(file)
    number = place_of(header["name"], code, len(header["seeded"]["combinations"]))
    return [of_case(one, number) for one in header["steps"][0]["questions"]]


def until(page: Any, expression: str, *arguments: Any) -> None:
    """Wait until an expression of the page is true; Playwright's own way is refused by the policy of the page."""
    for _ in range(100):
        if page.evaluate(expression, *arguments):
            return
        page.wait_for_timeout(50)
    raise AssertionError(expression)


def unloads_with_warning(page: Any) -> bool:
    """Whether the page asks before it is left; it stays open then."""
    asks: list[str] = []

    def stay(dialog: Any) -> None:
        asks.append(dialog.type)
        dialog.dismiss()

    other = next(each for each in page.context.pages if each is not page)
    page.on("dialog", stay)
    page.close(run_before_unload=True)
    other.wait_for_timeout(300)
    return asks == ["beforeunload"]


def test_a_reload_loses_nothing(student: Any, built: Path) -> None:
    one = student()
    page = one.open(built / "page.html")
    number, choice, sketch, _ = questions_of(built / "page.html")
    predict(page)
    type_in(page, 0, f"{number['answer']:.10g}")
    right = next(each["html"] for each in choice["choices"] if each["right"])
    asked(page, 1).locator(f"button:text-is('{right}')").click()
    asked(page, 2).scroll_into_view_if_needed()
    drawn = {str(stop): value * 1.1 for stop, value in zip(sketch["open"], sketch["truth"], strict=True)}
    draw(page, drawn)
    type_in(page, 3, "7,5", check=False)
    before = page.evaluate(
        f"(({{answers, predictions, pencils, started}}) => [answers, predictions, pencils, started])({STATE})"
    )
    one.reload(page)
    after = page.evaluate(
        f"(({{answers, predictions, pencils, started}}) => [answers, predictions, pencils, started])({STATE})"
    )
    assert after == before
    assert set(before[0]) == {"number", "choice"}
    assert before[1]["0"]
    # What was shown is shown again, and what was typed or drawn without checking waits as it was.
    assert "is-right" in asked(page, 0).locator(".feedback").get_attribute("class")
    assert asked(page, 1).locator("[aria-pressed=true]").inner_text() == right
    assert asked(page, 3).locator("input").input_value() == "7,5"
    assert asked(page, 3).locator(".feedback").inner_text() == ""
    page.locator("lesson-curve").first.scroll_into_view_if_needed()
    assert page.locator("lesson-curve path.pencil").count() == 1
    assert page.locator("lesson-curve .score").inner_text() != ""
    for step in (2, 3):
        assert page.locator(f"#step-{step} lesson-clock").is_visible()
    submit = asked(page, 2).locator("button[type=submit]")
    asked(page, 2).scroll_into_view_if_needed()
    assert submit.is_enabled()
    submit.click()
    assert "×1.10" in asked(page, 2).locator(".feedback").inner_text()
    one.reload(page)
    assert "×1.10" in asked(page, 2).locator(".feedback").text_content()
    # Another code has no answers yet, and the first one still has its own.
    one.reload(page, "s002")
    assert page.evaluate(f"Object.keys({STATE}.answers).length") == 0
    assert page.locator("#step-2 lesson-clock").is_visible() is False
    one.reload(page)
    assert page.evaluate(f"Object.keys({STATE}.answers).length") == 3


def test_an_opened_step_stays_open(student: Any, built: Path) -> None:
    one = student()
    page = one.open(built / "page.html")
    page.locator("#step-3 .locked button").click()
    page.wait_for_selector("#step-3.is-open")
    one.reload(page)
    assert page.locator("#step-3 lesson-clock").is_visible()
    assert not page.locator("#step-2 lesson-clock").is_visible()


def test_an_exam_keeps_nothing_and_warns_until_it_is_exported(student: Any, built: Path, tmp_path: Path) -> None:
    one = student()
    first = one.open(built / "exam.html")
    page = one.open(built / "exam.html")
    type_in(page, 0, "7")
    page.wait_for_timeout(400)
    assert page.evaluate("localStorage.length") == 0
    assert unloads_with_warning(page)
    file = saved(page, page.locator(".bar lesson-export button"), tmp_path, "answers.json")
    page.locator("lesson-summary").scroll_into_view_if_needed()
    page.locator("lesson-summary .is-kept").wait_for(timeout=5000)
    assert page.locator("lesson-summary .total").inner_text() == "1 of 4 questions answered"
    assert not unloads_with_warning(page)
    # The file brings the answers into another page of the exam, and is worth the same.
    first.locator("lesson-import input").set_input_files(file)
    until(first, f"{STATE}.answers.number?.value === 7")
    assert asked(first, 0).locator("input").input_value() == "7"
    assert "is-kept" in asked(first, 0).locator(".feedback").get_attribute("class")
    again = saved(first, first.locator(".bar lesson-export button"), tmp_path, "again.json")
    rows = [grade([each], built / "small").rows[0] for each in (file, again)]
    assert rows[0].total == rows[1].total
    assert [row.state for row in rows] == [OK, OK]


@pytest.mark.parametrize("refused", [REFUSED, FULL])
def test_without_storage_the_page_works_and_warns(refused: str, student: Any, built: Path, tmp_path: Path) -> None:
    one = student(refused)
    other = one.open(built / "page.html")
    page = one.open(built / "page.html")
    type_in(page, 0, "7")
    page.locator("lesson-summary").scroll_into_view_if_needed()
    page.locator("lesson-summary .total b").wait_for(timeout=5000)
    assert "keeps nothing" in page.locator("lesson-summary .note").inner_text()
    assert unloads_with_warning(page)
    saved(page, page.locator(".bar lesson-export button"), tmp_path, "answers.json")
    assert not unloads_with_warning(page)
    assert not unloads_with_warning(one.open(built / "page.html"))
    assert other.locator("lesson-summary .again").count() == 0


def test_with_storage_nothing_is_asked_and_all_can_be_deleted(student: Any, built: Path) -> None:
    one = student()
    page = one.open(built / "page.html")
    type_in(page, 0, "7")
    second = one.open(built / "page.html", "s002")
    assert not unloads_with_warning(page)
    page = one.open(built / "page.html")
    assert page.evaluate(f"{STATE}.answers.number.value") == 7
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator("lesson-summary").scroll_into_view_if_needed()
    page.locator("lesson-summary .again").click(timeout=5000)
    page.wait_for_selector(".code-form input")
    one.enter(page)
    assert page.evaluate(f"Object.keys({STATE}.answers).length") == 0
    assert second.evaluate("Object.keys(localStorage).filter((key) => key.endsWith('s001')).length") == 0


@pytest.mark.parametrize("stored", ["{", "null", "[]", '{"answers": 7, "pencils": {"0": 1}, "rungs": [-1], "stops": {"size": 99}}',
    '{"answers": {"choice": {"value": "<b>"}, "number": {"value": "1e999"}, "__proto__": {"value": 1}}, "openSteps": {}, "drafts": {"sketch": 3}}'])  # fmt: skip
def test_what_storage_has_is_not_trusted(stored: str, student: Any, built: Path) -> None:
    one = student()
    page = one.open(built / "page.html")
    page.locator("#step-3 .locked button").click()
    until(page, "Object.keys(localStorage).some((key) => key.endsWith('s001'))")
    page.evaluate(
        "(text) => { const key = Object.keys(localStorage).find((one) => one.endsWith('s001')); addEventListener('pagehide', () => localStorage.setItem(key, text)); }",
        stored,
    )
    one.reload(page)
    assert page.evaluate(f"Object.keys({STATE}.answers).length") == 0
    type_in(page, 0, "7")
    page.locator("lesson-drawing").scroll_into_view_if_needed()
    page.locator("lesson-drawing circle.handle").first.wait_for(timeout=5000)


@pytest.mark.parametrize("name", ["page", "german"])
def test_the_summary_has_the_points_that_grade_gives(name: str, student: Any, built: Path, tmp_path: Path) -> None:
    one = student()
    page = one.open(built / f"{name}.html")
    number, choice, sketch, factor = questions_of(built / f"{name}.html")
    type_in(page, 0, f"{number['answer']:.10g}")
    wrong = next(each["html"] for each in choice["choices"] if not each["right"])
    asked(page, 1).locator(f"button:text-is('{wrong}')").click()
    type_in(page, 3, f"{factor['answer']:.10g}")
    type_in(page, 3, f"{factor['answer'] * 1.5:.10g}")  # the last one counts
    asked(page, 2).scroll_into_view_if_needed()
    # 30 % off with a tolerance of 20 %: half of three points.
    draw(page, {str(stop): value * 1.3 for stop, value in zip(sketch["open"], sketch["truth"], strict=True)})
    asked(page, 2).locator("button[type=submit]").click()
    file = saved(page, page.locator(".bar lesson-export button"), tmp_path, "answers.json")
    (row,) = grade([file], built / ("small" if name == "page" else "german")).rows
    assert row.total == 2.5
    page.locator("lesson-summary").scroll_into_view_if_needed()
    page.locator("lesson-summary .total b").wait_for(timeout=5000)
    total = page.locator("lesson-summary .total").inner_text()
    expected = {
        "page": "2.5 of 7 points, 4 of 4 questions answered",
        "german": "2,5 von 7 Punkten, 4 von 4 Fragen beantwortet",
    }
    assert total == expected[name]
    states = [re.sub(r"is-", "", one.get_attribute("class")) for one in page.locator("lesson-summary tbody tr").all()]
    assert states == ["right", "wrong", "half", "wrong"]
    predict(page)
    page.locator("lesson-summary").scroll_into_view_if_needed()
    until(page, "document.querySelectorAll('lesson-summary tbody tr').length === 5")


def test_an_imported_file_brings_back_answers_and_predictions(student: Any, built: Path, tmp_path: Path) -> None:
    page = student().open(built / "page.html")
    predict(page)
    type_in(page, 0, "7")
    file = saved(page, page.locator(".bar lesson-export button"), tmp_path, "answers.json")
    stranger = student().open(built / "page.html")
    stranger.locator("lesson-import input").set_input_files(file)
    stranger.wait_for_selector("lesson-import .note:text-is('Imported: 1 answers.')")
    for state in ("answers", "predictions"):
        assert stranger.evaluate(f"{STATE}.{state}") == page.evaluate(f"{STATE}.{state}")
    assert "is-wrong" in asked(stranger, 0).locator(".feedback").get_attribute("class")
    assert stranger.locator("#step-2 lesson-clock").is_visible()
    stranger.locator("lesson-curve").first.scroll_into_view_if_needed()
    assert stranger.locator("lesson-curve path.pencil").count() == 1


def test_files_that_do_not_belong_here_are_refused(student: Any, built: Path, tmp_path: Path) -> None:
    page = student().open(built / "page.html")
    type_in(page, 0, "7")
    file = saved(page, page.locator(".bar lesson-export button"), tmp_path, "answers.json")
    good = json.loads(file.read_text(encoding="utf-8"))
    forged = {
        "not a file of answers": "{",
        "another lesson, <b>": json.dumps({**good, "lesson": "<b>"}),
        "another version": json.dumps({**good, "content": "0"}),
        "answers of s002. This page has the numbers of s001": json.dumps({**good, "code": "s002"}),
    }
    page.evaluate(f"{STATE}.answers = {{}}")
    for expected, text in forged.items():
        file.write_text(text, encoding="utf-8")
        page.locator("lesson-import input").set_input_files(file)
        until(page, "(text) => document.querySelector('lesson-import .note').textContent.includes(text)", expected)
    assert page.evaluate(f"Object.keys({STATE}.answers).length") == 0
    exam = student().open(built / "exam.html")
    file.write_text(json.dumps(good), encoding="utf-8")
    exam.locator("lesson-import input").set_input_files(file)
    until(exam, "document.querySelector('lesson-import .note').textContent.includes('practice page')")
