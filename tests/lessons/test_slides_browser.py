"""Slides and paper in a real browser: keys turn slides, figures of slides are drawn in, paper has colours and no closed step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.page import build_lesson
from simcodesign.lessons.teacher.guide import build_guide
from simcodesign.lessons.yaml.lesson import read_lesson
from simcodesign.lessons.yaml.translation import languages_of
from tests.lessons.small import small_lesson
from tests.lessons.test_browser import AXE, DESKTOP, PHONE, Visit, browser, pytestmark  # noqa: F401

#: A second step that opens with the prediction, and a picture of its own.
SECOND = "  - name: Two\n    text: one.md\n    after_prediction: true\n    views:\n      - {kind: ladder, run: near}\n      - {kind: network, run: near}\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slides")
    small_lesson(folder / "small")
    with (folder / "small" / "lesson.yaml").open("a", encoding="utf-8") as text:
        text.write(SECOND)
    build_lesson(folder / "small", folder / "small.html", 1)
    return folder / "small.html"


@pytest.fixture
def visit(browser: Any, file: Path) -> Iterator[Visit]:  # noqa: F811
    visit = Visit(browser, file, DESKTOP, bypass_csp=True)
    yield visit
    assert visit.errors == []
    visit.close()


def shown(page: Any) -> list[str]:
    """The slide that is seen: the head of the page, or a step."""
    return list(page.evaluate("[...document.querySelectorAll('.is-slide')].map((one) => one.id || 'head')"))


def test_keys_turn_slides_and_escape_ends_them(visit: Visit) -> None:
    page = visit.page
    wide = page.locator("#step-1 .prose").evaluate("one => parseFloat(getComputedStyle(one).fontSize)")
    page.locator("lesson-slides button").click()
    assert shown(page) == ["head"]
    assert page.locator("#step-1").is_hidden()
    assert page.locator("lesson-summary").is_hidden()  # a class sees the step alone
    page.keyboard.press("ArrowRight")
    assert shown(page) == ["step-1"]
    large = page.evaluate(
        "parseFloat(getComputedStyle(document.querySelector('#step-1 .prose')).fontSize) * document.querySelector('main').currentCSSZoom"
    )
    assert large == pytest.approx(wide * 1440 / 1100, rel=0.01)
    page.keyboard.press("PageDown")
    assert shown(page) == ["step-2"]
    assert page.locator("#step-2 .locked").is_visible()
    page.keyboard.press("ArrowRight")
    assert shown(page) == ["step-2"]  # there is no other
    page.keyboard.press("ArrowUp")
    assert shown(page) == ["step-1"]
    page.keyboard.press("Escape")
    assert page.locator(".bar").is_visible()
    assert page.locator(".slides-bar").count() == 0
    assert page.evaluate("document.querySelector('main').currentCSSZoom") == 1


def test_a_prediction_is_drawn_on_a_slide(visit: Visit) -> None:
    """A point goes where the pointer is, though the slide is larger than it is laid out; keys in a figure stay there."""
    page = visit.page
    page.locator("lesson-slides button").click()
    page.keyboard.press("ArrowRight")
    handles = page.locator("#step-1 lesson-curve circle.handle")
    handles.first.wait_for()
    visit.settle()
    box = handles.last.bounding_box()
    chart = page.locator("#step-1 lesson-curve svg").bounding_box()
    across, down = box["x"] + box["width"] / 2, chart["y"] + 0.4 * chart["height"]
    page.mouse.click(across, down)
    visit.settle()
    moved = handles.last.bounding_box()
    assert moved["x"] + moved["width"] / 2 == pytest.approx(across, abs=1)
    assert moved["y"] + moved["height"] / 2 == pytest.approx(down, abs=1)
    handles.last.press("ArrowDown")
    assert shown(page) == ["step-1"]


def test_paper_is_light_and_has_no_closed_step(browser: Any, file: Path) -> None:  # noqa: F811
    visit = Visit(browser, file, DESKTOP, color_scheme="dark")
    page = visit.page
    page.emulate_media(media="print")
    assert page.locator("#step-2").is_hidden()
    assert page.locator(".bar").is_hidden()
    assert page.locator(".sliders input, .clock, .locked button").locator("visible=true").count() == 0
    page.emulate_media(media="screen")
    visit.predict()
    visit.draw_all()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visit.settle()
    assert page.locator("#step-2").is_visible()
    assert page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(251, 250, 247)"
    bars = page.locator("#step-2 .rung .track i, #step-1 .key").locator("visible=true")
    assert bars.count() > 4
    for number in range(bars.count()):
        assert bars.nth(number).evaluate("one => getComputedStyle(one).printColorAdjust") == "exact"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    visit.close()


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not there: {AXE}")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_slides_without_a_violation_of_accessibility(scheme: str, browser: Any, file: Path) -> None:  # noqa: F811
    visit = Visit(browser, file, DESKTOP, color_scheme=scheme, bypass_csp=True)
    visit.page.locator("lesson-slides button").click()
    for _ in range(2):
        visit.page.keyboard.press("ArrowRight")
        visit.settle()
        assert violations(visit.page) == []
    visit.close()


def violations(page: Any) -> list[Any]:
    """What axe-core finds."""
    page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found]


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not there: {AXE}")
@pytest.mark.parametrize("name", available())
def test_guides_of_shipped_lessons(name: str, browser: Any, tmp_path: Path) -> None:  # noqa: F811
    """In all languages, on a phone and in the dark: nothing wider than the screen, no violation of accessibility."""
    for language in languages_of(read_lesson(lesson_folder(name))):
        build_guide(lesson_folder(name), tmp_path / "guide.html", 2, language=language)
        page = browser.new_context(viewport=PHONE, color_scheme="dark", bypass_csp=True).new_page()
        page.goto((tmp_path / "guide.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert violations(page) == []
        page.context.close()
