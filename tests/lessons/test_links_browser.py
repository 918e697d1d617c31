"""Links to a state of a page, and a page inside another one. Needs what test_browser.py does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.page import build_lesson
from tests.lessons import test_browser
from tests.lessons.small import TEXT, small_lesson
from tests.lessons.test_browser import DESKTOP, browser  # noqa: F401

pytestmark = test_browser.pytestmark
STEPS = "  - {name: Two, text: one.md, after_prediction: true, views: [{kind: sliders}, {kind: clock, run: near}, {kind: ladder, run: near}]}\n"
STATE = "document.querySelector('lesson-export').state"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("links")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        small_lesson(folder / "small")
        (folder / "small" / "lesson.yaml").write_text(TEXT + STEPS, encoding="utf-8")
        build_lesson(folder / "small", folder / "page.html", 1)
        yield folder


@pytest.fixture
def opened(browser: Any, built: Path) -> Iterator[Any]:  # noqa: F811
    errors: list[str] = []
    contexts = [browser.new_context(viewport=DESKTOP, reduced_motion="reduce")]

    def visit(hash_: str, is_new: bool = True) -> Any:
        if is_new:
            contexts.append(browser.new_context(viewport=DESKTOP, reduced_motion="reduce"))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((built / "page.html").as_uri() + hash_)
        page.wait_for_selector("body.is-ready")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert errors == []


def stops(page: Any) -> dict[str, int]:
    found: dict[str, int] = page.evaluate(f"{STATE}.stops")
    return found


def top_of(page: Any, step: int) -> float:
    page.wait_for_timeout(200)
    return float(page.evaluate(f"document.querySelector('#step-{step}').getBoundingClientRect().top"))


def test_a_link_sets_sliders_and_effects_when_the_prediction_is_compared(opened: Any) -> None:
    page = opened("#step=2&size=64 KiB&nodes=2&effects=hops")
    assert -50 < top_of(page, 2) < 450  # the closed step is short, and at the end of the page
    assert stops(page) == {"nodes": 1, "size": 2, "startup": 1}  # where the prediction is drawn
    page.locator("#step-2 .locked button").click()
    page.wait_for_timeout(100)
    assert stops(page) == {"nodes": 0, "size": 1, "startup": 1}
    assert page.evaluate(f"{STATE}.rungs") == [2, 1]
    page.evaluate("location.hash = '#step=1&size=1024&effects=none'")  # a value in SI units
    page.wait_for_timeout(100)
    assert stops(page) == {"nodes": 0, "size": 0, "startup": 1}
    assert page.evaluate(f"{STATE}.rungs") == [0, 1]


@pytest.mark.parametrize("hash_", ["#step=9&size=7 KiB&effects=spin", "#size", "#step-2", "#%", "#a=%E0%A4%A", "#__proto__=1&step=", "#constructor=2"])  # fmt: skip
def test_a_link_that_means_nothing_changes_nothing(hash_: str, opened: Any) -> None:
    page = opened(hash_)
    page.locator("#step-2 .locked button").click()
    page.wait_for_timeout(100)
    assert stops(page) == {"nodes": 1, "size": 2, "startup": 1}
    assert page.evaluate(f"{STATE}.rungs") == [2, 2]


def test_the_link_of_the_dialog_leads_to_the_same_state(opened: Any) -> None:
    page = opened("#step=2")
    page.locator("#step-2 .locked button").click()
    page.evaluate(
        "document.querySelector('lesson-export').store.set({stops: {nodes: 0, size: 1, startup: 0}, rungs: [2, 0]})"
    )
    page.locator("#step-2").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#step-2').scrollIntoView()")
    page.wait_for_selector("nav a[href='#step-2'][aria-current]")
    page.evaluate("document.querySelector('lesson-share button').click()")
    link, embedded = (one.input_value() for one in page.locator("dialog.share textarea").all())
    page.keyboard.press("Escape")
    assert page.locator("dialog").count() == 0
    hash_ = "#" + link.partition("#")[2]
    assert hash_ == "#step=2&nodes=2&size=64%20KiB&startup=1%20%C2%B5s&effects=none"
    other = opened(hash_)
    other.locator("#step-2 .locked button").click()
    other.wait_for_timeout(100)
    assert stops(other) == stops(page)
    assert other.evaluate(f"{STATE}.rungs") == page.evaluate(f"{STATE}.rungs")
    assert embedded.startswith('<iframe src="file:')
    assert f"{hash_.replace('#', '#embed&amp;').replace('&nodes', '&amp;nodes').partition('&size')[0]}" in embedded


def test_an_embedded_step_is_alone_and_opens_nothing_elsewhere(opened: Any) -> None:
    page = opened("#embed&step=2&size=64 KiB")
    assert page.locator("#step-2 lesson-sliders").is_visible()
    for hidden in ("#step-1", ".bar", ".hero", "footer", "lesson-summary"):
        assert not page.locator(hidden).first.is_visible()
    assert stops(page)["size"] == 1
    page.wait_for_timeout(400)
    whole = opened("", is_new=False)
    assert not whole.locator("#step-2 lesson-sliders").is_visible()
    # The step with the prediction still asks for it.
    first = opened("#embed&step=1")
    assert first.locator("#step-1 .compare").is_visible()
    assert not first.locator("#step-2").is_visible()
