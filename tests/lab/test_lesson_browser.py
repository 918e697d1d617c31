"""A lesson in the laboratory, in a real browser: its runs begin the panel, where its sliders are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from simcodesign.lab.app import Laboratory, application
from simcodesign.lab.serve import listening
from simcodesign.lab.work import Workers
from tests.lab.client import TOKEN
from tests.lab.test_browser import CHROMIUM, pytestmark, until  # noqa: F401
from tests.lessons.small import small_lesson


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The small lesson, served in a thread."""
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    folder = small_lesson(tmp_path_factory.mktemp("lesson") / "small")
    listener, workers = listening(0), Workers(1)
    port = listener.getsockname()[1]
    app = application(Laboratory(workers, 1, folder), TOKEN, port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/{TOKEN}/lesson/small")
        page.wait_for_selector("lesson-free[data-done]", timeout=60_000)
        yield page
        browser.close()
    server.should_exit = True
    thread.join()
    workers.close()
    listener.close()


def test_a_run_is_taken_where_the_sliders_are(page: Any) -> None:
    """Two nodes, in the text of the machine and as the number of ranks; the size is the axis."""
    assert page.locator("#lab-machine").input_value().count("\n") > 5
    page.evaluate(
        """() => {
          const { store } = document.querySelector('lesson-curve');
          store.set({ stops: { nodes: 0, size: 1, startup: 0 } });
        }"""
    )
    page.locator(".lab-runs").select_option("near")
    until(lambda: "nodes: 2" in page.locator("#lab-machine").input_value())
    field = page.locator('lesson-free input[type="text"][data-set="P"]')
    until(lambda: field.count() == 1 and field.input_value() == "2")
    assert page.locator(".lab-axis").input_value() == "m"
    assert page.complaints == []


def test_a_lesson_without_a_server_names_the_command(page: Any) -> None:
    """The line at its end, which a page of the laboratory does not show."""
    assert page.locator("[data-text=ownLab]").text_content().endswith("simcodesign lab small")
    assert page.locator("[data-text=ownLab]").is_hidden()
