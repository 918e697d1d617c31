"""Every lesson in a real browser: opened from disk, drawn in, every slider moved, every question answered right and wrong.

Needs Playwright (extra ``browser``) and a Chromium of the system; the check of accessibility also axe-core, from
``node_modules`` of the front end or ``$AXE_CORE``. What is missing is said as the reason of a skipped test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcodesign import cli
from simcodesign.lessons.folders import available, lesson_folder
from simcodesign.lessons.grading.questions import of_case
from simcodesign.lessons.grading.seeding import place_of
from simcodesign.lessons.packing import block_in, unpack
from simcodesign.lessons.page import build_lesson
from tests import ROOT
from tests.lessons.test_languages import TRANSLATED

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
AXE = Path(os.environ.get("AXE_CORE", ROOT / "simcodesign/lessons/front/node_modules/axe-core/axe.min.js"))
CODE = "s001"
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
LESSONS = available()

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    reason = "Playwright is not installed: pip install 'simcodesign[browser]'"
    driver = pytest.importorskip("playwright.sync_api", reason=reason)
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of every lesson."""
    folder = tmp_path_factory.mktemp("pages")
    for name in LESSONS:
        build_lesson(lesson_folder(name), folder / f"{name}.html", 2)
    return {name: folder / f"{name}.html" for name in LESSONS}


class Visit:
    """A page that is open, and what it has asked for and complained of."""

    def __init__(self, browser: Any, file: Path, size: dict[str, int], **options: Any) -> None:
        self.page = browser.new_context(viewport=size, **{"reduced_motion": "reduce"} | options).new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda one: self.errors.append(one.text) if one.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())
        if self.page.locator("body[data-needs-code]").count():
            self.page.locator(".code-form input").fill(CODE)
            self.page.locator(".code-form button").click()
        self.page.wait_for_selector("body.is-ready")
        self.header, self.arrays = unpack(block_in(file.read_text(encoding="utf-8")))

    def settle(self) -> None:
        """Two frames."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def see(self, selector: str) -> Any:
        """Scroll to an element, which is drawn then."""
        element = self.page.locator(selector).first
        element.scroll_into_view_if_needed()
        self.settle()
        self.page.wait_for_timeout(80)
        return element

    def predict(self) -> None:
        """Draw a prediction with the keyboard, and compare, if the lesson asks for one."""
        if not self.asks_prediction:
            return
        self.see("lesson-curve")
        handles = self.page.locator("lesson-curve circle.handle")
        handles.first.wait_for()
        for number in range(handles.count()):
            handles.nth(number).press("ArrowUp")
        self.page.locator("button.compare").click()
        self.page.wait_for_selector("body.is-open")
        self.settle()
        while (locked := self.page.locator(".locked button:visible")).count():  # steps that wait for an answer
            locked.first.click()

    @property
    def asks_prediction(self) -> bool:
        return any(view.get("predict") for step in self.header["steps"] for view in step["views"])

    def questions(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        """The questions of a step, as the code of this visit has them."""
        number = place_of(self.header["name"], CODE, len(self.header["seeded"]["combinations"]))
        return [of_case(one, number) for one in step["questions"]]

    def draw_all(self) -> None:
        """Scroll through the whole page."""
        height = self.page.evaluate("document.documentElement.scrollHeight")
        for y in range(0, height, 500):
            self.page.evaluate(f"scrollTo(0, {y})")
            self.page.wait_for_timeout(40)
        self.settle()

    def close(self) -> None:
        self.page.context.close()


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_from_beginning_to_end(name: str, browser: Any, files: dict[str, Path]) -> None:
    visit = Visit(browser, files[name], DESKTOP)
    page = visit.page
    if visit.asks_prediction:
        assert page.locator("path.simulation").count() == 0  # nothing is given away
        assert page.locator("[data-after-prediction] .prose p:not(.number):visible").count() == 0
        assert page.locator("input[data-slider]:not([disabled])").count() == 0
        visit.predict()
        assert page.locator("[data-after-prediction] .prose p:not(.number):visible").count() > 0
        assert "×" in page.locator(".score").inner_text()
    visit.draw_all()
    assert (page.locator("path.simulation").count() > 0) is (name != "bank")  # the bank has no figures
    move_every_slider(visit)
    click_every_rung(visit)
    answer_every_question(visit)
    assert visit.errors == []
    assert visit.requests == [files[name].as_uri()]
    visit.close()


def move_every_slider(visit: Visit) -> None:
    """Each to its first and last stop and back; the texts beside them are those of the stops."""
    sliders = visit.page.locator("input[data-slider]")
    for number in range(sliders.count()):
        slider = sliders.nth(number)
        one = visit.header["sliders"][slider.get_attribute("data-slider")]
        slider.scroll_into_view_if_needed()
        for key, stop in (("Home", one["stops"][0]), ("End", one["stops"][-1])):
            slider.press(key)
            for _ in range(200):  # on a busy machine a frame may take its time
                if slider.get_attribute("aria-valuetext") == stop["text"]:
                    break
                visit.page.wait_for_timeout(50)
            assert slider.get_attribute("aria-valuetext") == stop["text"]
        slider.press("Home")
        for _ in range(one["start"]):
            slider.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == one["stops"][one["start"]]["text"]


def click_every_rung(visit: Visit) -> None:
    """The last row of a ladder is the simulation with the effects up to the one that was clicked."""
    for place in range(visit.page.locator("lesson-ladder").count()):
        ladder = visit.page.locator("lesson-ladder").nth(place)
        ladder.scroll_into_view_if_needed()
        visit.settle()
        rungs = ladder.locator("button.rung")
        for number in range(rungs.count()):
            rungs.nth(number).click()
            visit.settle()
            assert rungs.nth(number).get_attribute("aria-pressed") == "true"
            assert ladder.locator('[aria-pressed="true"]').count() == 1


def answer_every_question(visit: Visit) -> None:
    """Right and wrong, by number and by choice."""
    for step_number, step in enumerate(visit.header["steps"]):
        for number, question in enumerate(visit.questions(step)):
            if "truth" in question:
                continue  # drawn: test_grading_browser.py
            asked = visit.page.locator(f'lesson-question[data-step="{step_number}"][data-question="{number}"]')
            feedback = asked.locator(".feedback")
            if "choices" in question:
                for place, choice in enumerate(question["choices"]):
                    asked.locator(f'[data-choice="{place}"]').click()
                    assert ("is-right" in feedback.get_attribute("class")) is choice["right"]
                continue
            wrong = [3 * question["answer"] + 1, *(one["answer"] for one in question["mistakes"])]
            for value, is_right in [(question["answer"], True), *((value, False) for value in wrong)]:
                asked.locator("input").fill(f"{value:.12g}")
                asked.locator("button[type=submit]").click()
                assert ("is-right" in feedback.get_attribute("class")) is is_right
                assert len(feedback.inner_text()) > 5
            asked.locator("input").fill("many")
            asked.locator("button[type=submit]").click()
            assert "is-wrong" in feedback.get_attribute("class")


def test_the_clock_moves_messages(browser: Any, files: dict[str, Path]) -> None:
    """The count above the network at the end of a run, and at its beginning; and what a button in a text sets."""
    visit = Visit(browser, files["broadcast"], DESKTOP)
    visit.page.locator(".locked button").first.click()
    visit.see("lesson-network canvas")
    clock = visit.see("lesson-clock input")
    counted = visit.page.locator("lesson-network .count").first
    clock.press("End")
    visit.settle()
    assert "63 of 63" in counted.inner_text()
    clock.press("Home")
    visit.settle()
    assert "0 of 63" in counted.inner_text()
    jump = visit.page.locator("button.jump[data-clock]").nth(1)
    jump.click()
    visit.settle()
    (trace, *_) = visit.header["runs"]["near"]["traces"]
    arrivals = visit.arrays[f"{trace['arrays']}3/message_times"][:, 1]
    arrived = int((arrivals <= float(jump.get_attribute("data-clock") or 0)).sum())
    assert f"{arrived} of 63" in counted.inner_text()
    assert visit.errors == []
    visit.close()


@pytest.mark.parametrize("name", LESSONS)
def test_a_phone_shows_all_of_it(name: str, browser: Any, files: dict[str, Path]) -> None:
    visit = Visit(browser, files[name], PHONE, has_touch=True)
    visit.predict()
    visit.draw_all()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert visit.errors == []
    visit.close()


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not there: {AXE} (npm install axe-core, or $AXE_CORE)")
@pytest.mark.parametrize(("name", "scheme"), [*((name, "light") for name in LESSONS), (LESSONS[0], "dark")])
def test_no_violation_of_accessibility(name: str, scheme: str, browser: Any, files: dict[str, Path]) -> None:
    visit = Visit(browser, files[name], DESKTOP, color_scheme=scheme, bypass_csp=True)
    visit.page.add_script_tag(path=str(AXE))
    for is_open in (False, True):
        if is_open:
            visit.predict()
        visit.draw_all()
        found = visit.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found] == []
    visit.close()


#: Labels of figures that reach beyond their figure.
CUT = """() => [...document.querySelectorAll("svg text")].filter((one) => {
  const inner = one.getBoundingClientRect(), outer = one.closest("svg").getBoundingClientRect();
  return inner.width > 0 && (inner.left < outer.left - 2 || inner.right > outer.right + 2);
}).map((one) => one.textContent)"""


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not there: {AXE} (npm install axe-core, or $AXE_CORE)")
@pytest.mark.parametrize(("name", "language"), TRANSLATED)
def test_a_translation_on_a_phone_in_the_dark(name: str, language: str, browser: Any, tmp_path: Path) -> None:
    """Nothing is cut off, and the first and the last step have no violation of accessibility."""
    build_lesson(lesson_folder(name), tmp_path / "page.html", 2, language=language)
    options = {"has_touch": True, "color_scheme": "dark", "bypass_csp": True}
    visit = Visit(browser, tmp_path / "page.html", PHONE, **options)
    visit.page.add_script_tag(path=str(AXE))
    visit.predict()
    visit.draw_all()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert visit.page.evaluate(CUT) == []
    for step in (1, len(visit.header["steps"])):
        found = visit.page.evaluate(f"axe.run('#step-{step}', {{resultTypes: ['violations']}})")["violations"]
        assert [(one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found] == []
    assert visit.errors == []
    visit.close()


def test_a_redraw_is_quick(browser: Any, files: dict[str, Path], record_property: Any) -> None:
    """How long JavaScript takes for a slider, recorded and not asserted."""
    visit = Visit(browser, files["broadcast"], DESKTOP)
    visit.predict()
    took_ms = visit.page.evaluate(
        """() => { const curve = document.querySelector("lesson-curve"), times = [];
        for (let k = 0; k < 40; k++) { curve.store.setStop("size", k % 18); const begin = performance.now(); curve.store.flush(); times.push(performance.now() - begin); }
        return times.sort((a, b) => a - b)[20]; }"""
    )
    record_property("slider_ms", took_ms)
    assert took_ms > 0
    visit.close()


def test_a_timeline_of_very_many_links_is_drawn(browser: Any, tmp_path: Path) -> None:
    """359,400 links are more values than a browser takes as arguments of one call."""
    page = tmp_path / "run.html"
    command = ["simulate", "broadcast", "crossbar-16", "--set", "nodes=600", "-P", "600", "--effects", "links"]
    assert cli.main([*command, "--write", str(page)]) == 0
    visit = Visit(browser, page, DESKTOP)
    visit.settle()
    assert visit.errors == []
    assert visit.page.locator("canvas").count() >= 1
