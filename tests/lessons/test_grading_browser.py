"""Codes, exams and the teacher's dialog in a real browser; what it exports is graded. Needs what test_browser.py does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.grading.changes import changes_of, read_changes
from simcodesign.lessons.grading.marking import TWO_WAYS, axis_of, missed_share
from simcodesign.lessons.grading.marks import CHECK, OK, grade
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import checked_code, place_of
from simcodesign.lessons.packing import block_in, unpack
from simcodesign.lessons.page import build_lesson
from tests.lessons import test_browser
from tests.lessons.small import seeded_lesson, small_lesson
from tests.lessons.test_browser import AXE, DESKTOP, browser  # noqa: F401
from tests.lessons.typed_numbers import BESIDE, CASES

pytestmark = test_browser.pytestmark
CODES = [*(f"s{number:03}" for number in range(1, 101)), "anna", "S-17.b", "0" * 40, "9" * 40, "x" + "9" * 39]
#: A second step, so that one can be hidden.
TWO = ("seeded:", "  - {name: Two, text: one.md, views: [{kind: sliders}, {kind: clock, run: near}]}\nseeded:")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("graded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        seeded_lesson(folder / "small", TWO)
        build_lesson(folder / "small", folder / "page.html", 1)
        build_lesson(folder / "small", folder / "exam.html", 1, exam=True)
        for language, number in (("en", "4,032"), ("de", "4.032")):
            typed_lesson(folder / language, language, number)
            build_lesson(folder / language, folder / f"{language}.html", 1)
            build_lesson(folder / language, folder / f"{language}-exam.html", 1, exam=True)
        yield folder


def typed_lesson(folder: Path, language: str, number: str) -> None:
    """A lesson with a count of thousands beside another one, a factor of 1.375, and a time of 2.279 ms."""
    questions = f"""\
      - {{name: count, text: "How many of the {number}?", answer: "2279", tolerance: 0 %, mistakes: [{{answer: "1753", text: Those have.}}]}}
      - {{name: factor, text: "By what factor?", answer: "11/8", tolerance: 1 %}}
      - {{name: time, text: "How long?", answer: "0.002279", unit: ms, tolerance: 1 %}}
"""
    small_lesson(folder, ("title: A small lesson\n", f"title: Typed\nlanguage: {language}\n"))
    file = folder / "lesson.yaml"
    file.write_text(
        file.read_text(encoding="utf-8").partition("      - {name: number")[0] + questions, encoding="utf-8"
    )


@pytest.fixture
def opened(browser: Any, built: Path) -> Iterator[Any]:  # noqa: F811
    """Opens a page and enters a code; no error of the page, and no request but for itself."""
    errors: list[str] = []
    contexts = []

    def visit(file: Path, code: str, needs_code: bool = True, **options: Any) -> Any:
        context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda one: errors.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        allowed = (file.as_uri(), "blob:")
        page.on("request", lambda one: None if one.url.startswith(allowed) else errors.append(one.url))
        page.goto(file.as_uri())
        if needs_code:
            page.locator(".code-form input").fill(code)
            page.locator(".code-form button").click()
        page.wait_for_selector("body.is-ready")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert errors == []


def header_of(file: Path) -> dict[str, Any]:
    return unpack(block_in(file.read_text(encoding="utf-8")))[0]


def saved(page: Any, button: Any, folder: Path, name: str) -> Path:
    """What a click downloads."""
    with page.expect_download() as download:
        button.click()
    download.value.save_as(folder / name)
    return folder / name


def draw(page: Any, values: dict[str, float]) -> None:
    """Set the points of the drawing by its keys, and put in place what keys cannot reach exactly."""
    page.locator("lesson-drawing circle.handle").first.wait_for()
    for stop in values:
        page.locator(f'lesson-drawing circle[data-stop="{stop}"]').press("ArrowUp")
    page.evaluate(
        "(values) => { const one = document.querySelector('lesson-drawing');"
        " for (const [stop, value] of Object.entries(values)) one.put(Number(stop), value); }",
        values,
    )


def test_codes_draw_the_same_in_python_and_in_the_page(opened: Any, built: Path) -> None:
    """Every code in a page of its own would take minutes: one page is asked for all of them."""
    page = opened(built / "page.html", "s001")
    for code in CODES:
        found = page.evaluate("(code) => document.querySelector('lesson-export').placeOf(code, 54)", code)
        assert found == place_of("small", checked_code(code), 54)
    header = header_of(built / "page.html")
    number = place_of("small", "s001", 4)
    expected = dict(zip(header["seeded"]["sliders"], header["seeded"]["combinations"][number], strict=True))
    assert page.evaluate("document.querySelector('lesson-export').lesson.parameters") == expected
    asked = page.locator('lesson-question[data-question="3"] .asked').inner_text()
    nodes, size = (header["sliders"][name]["stops"][k]["text"] for name, k in expected.items())
    assert asked == f"By what factor, on {nodes} nodes and {size}?"


def test_typed_numbers_mean_the_same_in_python_and_in_the_page(opened: Any, built: Path) -> None:
    """The table of test_typed.py. JSON has no tuples, and its whole numbers may be integers."""
    page = opened(built / "page.html", "s001")
    found = page.evaluate(
        "(cases) => cases.map(([language, text, unit]) => { const one = document.querySelector('lesson-question');"
        " return one.readingsIn(text, language, unit); })",
        [case[:3] for case in CASES],
    )
    for (language, text, _, expected), values in zip(CASES, found, strict=True):
        assert values == pytest.approx(expected, rel=1e-14), (language, text)
    beside = page.evaluate(
        "(cases) => cases.map(([language, html]) => document.querySelector('lesson-question').writesThousands(html, language))",
        [case[:2] for case in BESIDE],
    )
    assert beside == [expected for *_, expected in BESIDE]


#: Question, what is typed by language, the choice that follows if the page asks, what it says, whether that is right.
TYPED = [
    ("count", {"en": "2,279", "de": "2.279"}, None, {"en": "2,279", "de": "2279"}, True),
    ("count", {"en": "2279", "de": "2279"}, None, {"en": "2,279", "de": "2279"}, True),
    ("count", {"en": "1,753", "de": "1.753"}, None, {"en": "1,753", "de": "1753"}, False),
    ("factor", {"en": "11/8", "de": "11/8"}, None, {"en": "1.375", "de": "1,375"}, True),
    ("factor", {"en": "5.5*0.25", "de": "5,5·0,25"}, None, {"en": "1.375", "de": "1,375"}, True),
    ("factor", {"en": "1.375", "de": "1,375"}, None, {"en": "1.375", "de": "1,375"}, True),
    ("factor", {"en": "1,375", "de": "1.375"}, {"en": "1.375", "de": "1,375"}, {"en": "1.375", "de": "1,375"}, True),
    ("factor", {"en": "1,5", "de": "1.5"}, None, {"en": "1.5", "de": "1,5"}, False),
    ("factor", {"en": "8,875", "de": "8.875"}, {"en": "8875", "de": "8875"}, {"en": "8,875", "de": "8875"}, False),
    ("time", {"en": "2279 us", "de": "2279 us"}, None, None, False),
    ("time", {"en": "2279/1000 ms", "de": "2279/1000 ms"}, None, {"en": "2.279\xa0ms", "de": "2,279\xa0ms"}, True),
]


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("kind", ["", "-exam"])
def test_typed_answers_are_understood_asked_for_and_graded(
    kind: str, language: str, opened: Any, built: Path, tmp_path: Path
) -> None:
    """In practice the page asks only if neither meaning is right; in an exam it cannot know."""
    page = opened(built / f"{language}{kind}.html", "s001", needs_code=bool(kind))
    names = [one["name"] for one in header_of(built / f"{language}.html")["steps"][0]["questions"]]
    for name, typed, choice, shown, is_right in TYPED:
        asked = page.locator(f'lesson-question[data-question="{names.index(name)}"]')
        asked.locator("input").fill(typed[language])
        asked.locator("button[type=submit]").click()
        feedback = asked.locator(".feedback")
        if choice is not None and (kind or not is_right):
            assert "is-asked" in feedback.get_attribute("class")
            feedback.locator(f"button:text-is('{choice[language]}')").click()
        assert feedback.locator("button").count() == 0
        state = feedback.get_attribute("class")
        if shown is None:
            assert "is-wrong" in state
            continue
        assert ("is-kept" in state) if kind else (("is-right" in state) is is_right), typed
        assert f": {shown[language]}." in feedback.text_content()
        value = page.evaluate("(name) => document.querySelector('lesson-export').state.answers[name].value", name)
        assert value == pytest.approx(float(shown["en"].replace(",", "").removesuffix("\xa0ms")), rel=1e-12)


def test_an_answer_with_two_meanings_reaches_the_teacher(opened: Any, built: Path, tmp_path: Path) -> None:
    page = opened(built / "de-exam.html", "s001")
    asked = page.locator('lesson-question[data-question="1"]')
    asked.locator("input").fill("1.375")
    asked.locator("button[type=submit]").click()
    file = saved(page, page.locator(".bar lesson-export button"), tmp_path, "answers.json")
    assert json.loads(file.read_text(encoding="utf-8"))["language"] == "de"
    (row,) = grade([file], built / "de").rows
    assert (row.state, row.total) == (CHECK, 0.0)
    assert row.remarks[0] == f"factor: {TWO_WAYS}, as 1375 or as 1.375"
    asked.locator(".feedback button").last.click()
    file = saved(page, page.locator(".bar lesson-export button"), tmp_path, "answers.json")
    (row,) = grade([file], built / "de").rows
    assert (row.state, row.total) == (OK, 1.0)
    last = json.loads(file.read_text(encoding="utf-8"))["answers"]["factor"]
    assert (last["value"], last["typed"], len(last["tries"])) == (1.375, "1.375", 2)


def test_what_is_no_code_is_asked_for_again(browser: Any, built: Path) -> None:  # noqa: F811
    page = browser.new_page()
    page.goto((built / "page.html").as_uri())
    page.locator(".code-form input").fill("=1+1")
    page.locator(".code-form button").click()
    assert page.locator("body.is-ready").count() == 0
    assert "40" in page.locator(".code-form .note").inner_text()
    assert page.locator(".step:visible").count() == 0
    page.close()


@pytest.mark.parametrize("is_right", [True, False])
@pytest.mark.parametrize("kind", ["exam", "page"])
def test_answers_are_exported_and_graded(kind: str, is_right: bool, opened: Any, built: Path, tmp_path: Path) -> None:
    page = opened(built / f"{kind}.html", "S002")
    practice = header_of(built / "page.html")
    number = place_of("small", "s002", 4)
    questions = [of_case(one, number) for one in practice["steps"][0]["questions"]]
    for place, one in enumerate(questions):
        asked = page.locator(f'[data-step="0"][data-question="{place}"]')
        asked.scroll_into_view_if_needed()
        if "choices" in one:
            choice = next(each for each in one["choices"] if each["right"] is is_right)
            asked.locator(f"button:text-is('{choice['html']}')").click()
        elif "truth" in one:
            factor = 1.1 if is_right else 1.9
            drawn = {str(stop): factor * value for stop, value in zip(one["open"], one["truth"], strict=True)}
            draw(page, drawn)
            asked.locator("button").click()
            if kind == "page":
                axis = [practice["sliders"]["size"]["stops"][stop]["value"] for stop in one["open"]]
                missed = missed_share(axis_of(axis), list(drawn.values()), one["truth"])
                assert f"×{1 + missed:.2f}" in asked.locator(".feedback").inner_text()
        else:
            asked.locator("input").fill(f"{one['answer'] * (1 if is_right else 1.5):.10g}")
            asked.locator("button[type=submit]").click()
        state = asked.locator(".feedback").get_attribute("class")
        assert ("is-kept" in state) if kind == "exam" else (("is-right" in state) is is_right)
    file = saved(page, page.locator(".bar lesson-export button"), tmp_path, "answers.json")
    (row,) = grade([file], built / "small").rows
    assert (row.code, row.state, row.total) == ("s002", OK, 7.0 if is_right else 0.0)
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["exam"] is (kind == "exam")
    assert all(one["tries"][-1]["at"] > found["started"] for one in found["answers"].values())
    if kind == "exam":
        assert "right" not in json.dumps(found)
    forged = {**found, "code": "s003"}
    (tmp_path / "answers.json").write_text(json.dumps(forged), encoding="utf-8")
    assert grade([file], built / "small").rows[0].state == CHECK


def test_the_teachers_dialog_writes_the_page_that_build_writes(opened: Any, built: Path, tmp_path: Path) -> None:
    """By keyboard: from the button to the file."""
    page = opened(built / "page.html", "s001")
    page.locator("lesson-teacher button").focus()
    page.keyboard.press("Enter")
    for part in ("Two", "One/2", "choice"):
        page.locator(f'dialog [data-part="{part}"]').focus()
        page.keyboard.press("Space")
    page.locator('dialog [data-tolerance="number"]').fill("7.5")
    page.locator('dialog [data-start="startup"]').select_option(label="1 µs")
    assert page.locator('dialog [data-start="size"]').count() == 0  # drawn from the code
    file = saved(page, page.locator("dialog button.primary"), tmp_path, "written.html")
    changes = changes_of(["Two", "One/2", "choice"], ["startup=1 µs"], ["number=7.5 %"])
    build_lesson(built / "small", tmp_path / "built.html", 1, changes=changes)
    assert set(read_changes(file).hide) == set(changes.hide)
    ours, theirs = (header_of(tmp_path / name) for name in ("built.html", "written.html"))
    for header in (ours, theirs):
        header["changes"]["hide"].sort()
    assert ours == theirs
    shapes = [shape(opened(tmp_path / name, "s001")) for name in ("built.html", "written.html")]
    assert shapes[0] == shapes[1]
    assert len(shapes[0]) > 10


def shape(page: Any) -> Any:
    """Where everything of a page is: elements with their numbers, ids and headings."""
    return page.evaluate(
        "[...document.querySelectorAll('.step, .step h2, nav a, .row, [data-step]')].map((one) => [one.localName,"
        " one.id, one.className, one.dataset.step, one.dataset.view, one.dataset.question, one.getAttribute('href')])"
    )


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not there")
@pytest.mark.parametrize(("name", "scheme"), [("page", "light"), ("exam", "dark")])
def test_no_violation_of_accessibility(name: str, scheme: str, opened: Any, built: Path) -> None:
    page = opened(built / f"{name}.html", "s001", color_scheme=scheme, bypass_csp=True)
    page.add_script_tag(path=str(AXE))
    page.locator("lesson-drawing").scroll_into_view_if_needed()
    page.locator("lesson-drawing circle.handle").first.press("ArrowUp")
    for is_open in (False, name == "page"):
        if is_open:
            page.locator("lesson-teacher button").click()
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found] == []
