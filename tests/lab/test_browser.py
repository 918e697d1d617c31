"""The laboratory in a real browser: an error at its line, mended; the forecast moves, and points come in."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn

from simcodesign.lab.app import Laboratory, application
from simcodesign.lab.serve import listening
from simcodesign.lab.work import Workers
from tests.lab.client import TOKEN
from tests.lessons.test_browser import AXE

CHROMIUM = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A laboratory that serves in a thread."""
    listener, workers = listening(0), Workers(1)
    port = listener.getsockname()[1]
    app = application(Laboratory(workers, 1), TOKEN, port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield f"http://127.0.0.1:{port}/{TOKEN}/"
    server.should_exit = True
    thread.join()
    workers.close()
    listener.close()


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Any]:
    reason = "Playwright is not installed: pip install 'simcodesign[browser]'"
    driver = pytest.importorskip("playwright.sync_api", reason=reason)
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.foreign, page.complaints = [], []
        page.on("request", lambda one: None if one.url.startswith(address) else page.foreign.append(one.url))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(address)
        settled(page)
        yield page
        browser.close()


def until(holds: Callable[[], bool]) -> None:
    """A page whose policy forbids eval cannot wait for an expression by itself."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def settled(page: Any) -> None:
    """Wait until what is set now has been described and simulated."""
    page.wait_for_selector("lesson-free[data-done]", timeout=60_000)


def points_of(page: Any) -> int:
    """How many simulated points there are."""
    return int(page.locator("lesson-free circle.simulated").count())


def curve_of(page: Any) -> str:
    """What the curve shows, in words."""
    return str(page.locator(".lab-chart").get_attribute("aria-label")).split(";")[0]


def test_an_error_is_shown_and_mended_and_both_readings_follow(page: Any) -> None:
    assert points_of(page) == 8  # P = 2, 4, ..., 256
    area = page.locator("#lab-machine")
    before, text = page.locator(".lab-chart").get_attribute("aria-label"), area.input_value()
    area.fill(text.replace("startup: 20 us", "startup: 20 uss"))
    page.wait_for_selector(".lab-editor.is-wrong")
    line = text.split("\n").index("  startup: 20 us") + 1
    assert page.locator(".lab-editor b.is-wrong").inner_text() == str(line)
    assert "did you mean 'us'" in page.locator("#lab-machine-error").inner_text()
    page.locator("#lab-machine-error button").click()
    assert page.evaluate("document.activeElement.id") == "lab-machine"
    begin, end = page.evaluate("[document.activeElement.selectionStart, document.activeElement.selectionEnd]")
    assert area.input_value()[begin:end] == "  startup: 20 uss"
    area.fill(text.replace("startup: 20 us", "startup: 40 us"))
    page.wait_for_selector(".lab-editor.is-wrong", state="detached")
    until(lambda: points_of(page) == 8)
    after = page.locator(".lab-chart").get_attribute("aria-label")
    assert before != after
    # 40 us for 20 us in each of 8 rounds are 160 us more: of 327 us, 487.
    assert "487" in after
    assert (page.foreign, page.complaints) == ([], [])


def test_a_point_has_its_ladder_and_a_run_at_each_rung(page: Any) -> None:
    """That of the largest number of nodes by itself, another one by a click on it; a change ends both."""
    done = page.locator(".lab-shown")
    rows = page.locator(".lab-shown lesson-ladder .rung")
    assert page.locator(".lab-at").input_value() == "256"
    page.locator(".lab-show").click()
    until(lambda: done.get_attribute("data-done") is not None)
    effects = page.locator(".lab-effects input:checked").count()
    assert rows.count() == effects + 3  # also the forecast, the order of operations, and the simulation
    ends = [rows.first.locator("b").inner_text(), rows.last.locator("b").inner_text()]
    chart = page.locator(".lab-chart").get_attribute("aria-label")
    assert f"256: simulation {ends[1]}".casefold() in chart.casefold()
    gantt = page.locator(".lab-shown lesson-gantt canvas")
    gantt.scroll_into_view_if_needed()  # figures are drawn where they are seen
    until(lambda: ends[1] in (gantt.get_attribute("aria-label") or ""))  # of the run with all effects
    rows.nth(1).click()
    until(lambda: rows.last.locator("b").inner_text() != ends[1])
    until(lambda: rows.last.locator("b").inner_text() in (gantt.get_attribute("aria-label") or ""))
    page.locator(".lab-chart circle.simulated").first.dispatch_event("click")
    assert page.locator(".lab-at").input_value() == "2"
    until(lambda: done.get_attribute("data-done") is not None)
    rows.first.scroll_into_view_if_needed()
    until(lambda: rows.first.locator("b").inner_text() not in ("", ends[0]))
    page.locator(".lab-effects input").first.uncheck()
    assert page.locator(".lab-shown > *").count() == 0
    page.locator(".lab-effects input").first.check()
    until(lambda: points_of(page) == 8)
    assert (page.foreign, page.complaints) == ([], [])


def test_a_slider_moves_the_forecast_at_once_and_simulations_begin_anew(page: Any) -> None:
    before = curve_of(page)
    page.locator('lesson-free input[type="range"][data-set="m"]').press("End")
    assert points_of(page) == 0  # those of the old setting are gone
    until(lambda: curve_of(page) != before)
    until(lambda: points_of(page) == 8)
    page.locator(".lab-axis").select_option("m")
    until(lambda: points_of(page) == 9)
    page.locator("select[data-set='order']").select_option("near")
    page.locator(".lab-effects input[value='hops']").uncheck()
    until(lambda: points_of(page) == 0)
    until(lambda: points_of(page) == 9)
    page.locator("[data-from='workload']").select_option("cg")
    page.wait_for_selector("lesson-free [data-set='iterations'], lesson-free .lab-editor.is-wrong", timeout=60_000)
    assert (page.foreign, page.complaints) == ([], [])


# Stops at the first point, before the page can read another one.
STOP_AT_FIRST = """() => {
  const free = document.querySelector("lesson-free");
  new MutationObserver((_, watching) => {
    if (!free.querySelector("circle.simulated")) return;
    watching.disconnect();
    free.querySelector(".lab-stop").click();
  }).observe(free, { childList: true, subtree: true });
  free.querySelector(".lab-run").click();
}"""


def test_a_stop_ends_the_stream_and_what_is_shown_stays(page: Any) -> None:
    page.locator("[data-from='workload']").select_option("broadcast")
    until(lambda: points_of(page) == 8)
    page.evaluate(STOP_AT_FIRST)
    until(lambda: points_of(page) > 0)
    # The only process that simulates answers in order: after a ladder, points still to come would have come.
    page.locator(".lab-show").click()
    until(lambda: page.locator(".lab-shown").get_attribute("data-done") is not None)
    assert points_of(page) == 1


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not there: {AXE}")
def test_no_violation_of_accessibility(page: Any) -> None:
    page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found] == []
