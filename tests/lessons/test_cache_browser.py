"""The animation of a cache in a real browser: with keys, with buttons, playing, and without motion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.page import build_lesson
from tests.lessons.small import VIEWS, small_lesson
from tests.lessons.test_browser import CHROMIUM, DESKTOP, PHONE, Visit, browser

__all__ = ["browser"]  # the fixture

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system: apt-get install chromium"),
]
CACHE = "      - {kind: cache, elements: 20, strides: [1, 4], sizes: [128 B, 256 B], ways: 2, title: A cache}\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    build_lesson(small_lesson(folder / "small", (VIEWS[0], VIEWS[0] + CACHE)), folder / "page.html", 1)
    return folder / "page.html"


@pytest.fixture(params=[{"reduced_motion": "reduce"}, {"reduced_motion": "no-preference"}], ids=["still", "moving"])
def visit(browser: Any, file: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    one = Visit(browser, file, DESKTOP, **request.param)
    one.still = request.param["reduced_motion"] == "reduce"  # type: ignore[attr-defined]
    yield one
    assert one.errors == []
    assert one.requests == [file.as_uri()]
    one.close()


def cases(visit: Visit) -> list[dict[str, Any]]:
    (view,) = (one for step in visit.header["steps"] for one in step["views"] if one["kind"] == "cache")
    return list(view["cases"])


def test_every_access_is_told_and_drawn(visit: Visit) -> None:
    """With the arrow keys: the words, the marked element and the contents of all slots are those of the computed accesses."""
    figure = visit.see("lesson-cache")
    inputs = figure.locator("input")
    for number, case in enumerate(cases(visit)):
        inputs.nth(0).fill(str(number // 2))
        inputs.nth(1).fill(str(number % 2))
        assert "empty" in figure.locator(".told").inner_text()
        held: dict[int, int] = {}
        hits = 0
        for place, (element, slot, hit, evicted) in enumerate(case["accesses"], start=1):
            inputs.nth(2).press("ArrowRight")
            visit.settle()
            held[slot], hits = element // 8, hits + hit
            told = figure.locator(".told").inner_text()
            assert told.startswith(f"Access {place} of {len(case['accesses'])}: number {element}, line {element // 8}.")
            assert f"So far {hits} hits and {place - hits} misses." in told
            assert ("Hit." in told) is bool(hit)
            assert (f"line {evicted} is evicted" in told) is (evicted >= 0)
            now = figure.locator(".array i").evaluate_all(
                "all => all.findIndex((one) => one.classList.contains('now'))"
            )
            assert now == element
            slots = figure.locator(".slot b").all_inner_texts()
            assert slots == [f"line {held[one]}" if one in held else "empty" for one in range(case["size"] // 64)]


def test_all_accesses_are_there_as_text(visit: Visit) -> None:
    figure = visit.see("lesson-cache")
    case = cases(visit)[0]
    hits = sum(one[2] for one in case["accesses"])
    summary = figure.locator("summary")
    assert summary.inner_text() == f"All 40 accesses as text: {hits} hits, {40 - hits} misses"
    summary.press("Enter")
    visit.settle()
    assert figure.locator("details li").count() == 40
    assert figure.locator(".told").get_attribute("aria-live") == "polite"
    assert figure.locator("[aria-hidden] :is(button, input, a)").count() == 0


def test_it_plays_unless_motion_is_reduced(visit: Visit) -> None:
    figure = visit.see("lesson-cache")
    play = figure.locator(".play-cache")
    if visit.still:  # type: ignore[attr-defined]
        assert not play.is_visible()
        figure.locator("[data-step-by='1']").click()
        visit.settle()
        assert figure.locator(".told").inner_text().startswith("Access 1 of")
        return
    play.press("Enter")
    figure.locator(".told", has_text="Access 2 of").wait_for()
    assert figure.locator(".told").get_attribute("aria-live") == "off"
    play.press("Enter")
    visit.settle()
    assert play.get_attribute("aria-pressed") == "false"
    shown = figure.locator(".told").inner_text()
    visit.page.wait_for_timeout(1600)
    assert figure.locator(".told").inner_text() == shown


def test_it_is_no_wider_than_a_phone(browser: Any, file: Path) -> None:
    one = Visit(browser, file, PHONE)
    one.see("lesson-cache")
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.close()
