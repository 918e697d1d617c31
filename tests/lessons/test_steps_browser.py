"""In a real browser: what is switched off in one step, draws of chance, steps that wait for an answer, numbers that can be read, and German."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.page import build_lesson
from tests.lessons.small import MORE, TEXT, VIEWS, small_lesson
from tests.lessons.test_browser import CHROMIUM, DESKTOP, Visit, browser
from tests.lessons.test_draws_and_steps import DRAWS, LATER
from tests.lessons.test_languages import ENGLISH, GERMAN

__all__ = ["browser"]  # the fixture

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system: apt-get install chromium"),
]
LATE = "  - name: Spaeter\n    text: one.md\n"
#: Words of the simulator that a German page must not have.
TERMS = re.compile(
    r"\b(link|injection|ejection|send|receive|bandwidth|startup|waits|node|path|instead)\b", re.IGNORECASE
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A lesson with all figures, three draws and a later step, in both languages."""
    root = tmp_path_factory.mktemp("steps")
    folder = small_lesson(root / "small")
    text = TEXT.replace(*DRAWS).replace(*MORE).replace(*VIEWS) + LATER
    (folder / "lesson.yaml").write_text(text, encoding="utf-8")
    (folder / "later.md").write_text("Later.\n", encoding="utf-8")
    (folder / "de").mkdir()
    german = GERMAN.replace("[Titel]", "[Titel, Schritt um Schritt, Vertrauen]") + LATE
    (folder / "de" / "lesson.yaml").write_text(german, encoding="utf-8")
    (folder / "de" / "one.md").write_text("Die [Formel](role:formula) sagt {{formula : ms}}.\n", encoding="utf-8")
    for language in ("en", "de"):
        build_lesson(folder, root / f"{language}.html", 1, language=language)
    return {language: root / f"{language}.html" for language in ("en", "de")}


@pytest.fixture
def visit(browser: Any, files: dict[str, Path]) -> Iterator[Visit]:
    one = Visit(browser, files["en"], DESKTOP)
    one.predict()
    yield one
    assert one.errors == []
    one.close()


def test_a_switch_counts_in_its_own_step_and_is_seen(visit: Visit) -> None:
    rungs = visit.see("#step-1 lesson-ladder").locator("button.rung")
    assert rungs.first.inner_text().startswith("Messages, order, waiting")
    assert "messages that the formula leaves out" in (rungs.first.get_attribute("title") or "")
    rungs.first.click()
    assert visit.see("#step-1 lesson-gantt .is-switched-off").inner_text() == "Switched off: Hops, Links, Noise"
    assert [" off" in row for row in rungs.all_inner_texts()] == [False, True, True, True]
    pressed = visit.see("#step-2 lesson-ladder").locator('[aria-pressed="true"]')
    assert "Hops" in pressed.inner_text()  # that it begins with
    visit.see("#step-1 lesson-ladder")
    rungs.last.click()
    assert visit.see("#step-1 lesson-gantt .is-switched-off").inner_text() == ""


def test_the_clock_goes_through_the_draws_that_the_page_has(visit: Visit) -> None:
    clock = visit.see("#step-1 lesson-clock")
    assert not clock.locator(".draws").is_visible()  # nothing is random yet
    visit.see("#step-1 lesson-ladder").locator("button.rung").last.click()
    visit.see("#step-1 lesson-clock")
    ends = []
    for number in range(1, 5):
        visit.settle()
        assert clock.locator(".draws output").inner_text() == f"draw {(number - 1) % 3 + 1} of 3"
        ends.append(visit.page.evaluate("document.querySelector('lesson-gantt').shownTrace.end"))
        clock.locator("[data-by='1']").click()
    assert len(set(ends)) == 3
    assert ends[3] == ends[0]


def test_a_step_opens_with_the_answer(browser: Any, files: dict[str, Path]) -> None:
    visit = Visit(browser, files["en"], DESKTOP)
    assert not visit.page.locator("#step-2 lesson-ladder").is_visible()
    visit.see("#step-1 lesson-question [data-choice='0']").click()  # a wrong one
    visit.settle()
    assert visit.page.locator("#step-2 lesson-ladder").is_visible()
    visit.close()


def test_stops_of_a_slider_stand_by_their_values(visit: Visit) -> None:
    """1 KiB, 64 KiB and 1 MiB are ten doublings apart, of which the first two make six."""
    visit.page.locator(".locked button:visible").first.wait_for(state="detached")
    slider = visit.see("#step-2 input[data-slider='size']")
    places = []
    for key in ("End", "ArrowLeft", "ArrowLeft", "ArrowLeft"):
        slider.press(key)
        visit.settle()
        places.append(int(slider.input_value()))
    assert places == [1000, 600, 0, 0]
    assert slider.get_attribute("aria-valuetext") == "1 KiB"


def test_a_curve_says_what_the_chosen_stop_has(visit: Visit) -> None:
    """The time by the formula on 2 nodes, with four digits: one round of startup and 1 MiB, of the page's own array."""
    curve = visit.see("#step-1 lesson-curve")
    visit.page.evaluate("document.querySelector('lesson-curve').store.setStop('nodes', 0)")
    visit.settle()
    (forecast,) = {float(visit.arrays["near/formula"][0, 2, 1])}
    assert (
        curve.locator(".reading").inner_text().startswith(f"2 nodes: Formula {1e3 * forecast:.4g}\u00a0ms, Simulation ")
    )


def test_a_send_is_seen_while_a_message_comes_in(visit: Visit) -> None:
    """Rank 0 sends from 0 to 4 s, and receives from 1 to 3 s: there the send has the upper half of the row."""
    visit.see("#step-1 lesson-gantt")
    bars = visit.page.evaluate(
        """() => { const chart = document.querySelector("lesson-gantt"), trace = { ...chart.shownTrace, path: [], end: 4,
        ops: [{ rank: 0, kind: 1, peer: 1, ready: 0, begin: 0, end: 4 }],
        messages: [{ from: 1, to: 0, begin: 1, arrival: 3, bytes: 1, hops: [], recorded: false }] };
        Object.defineProperty(chart, "shownTrace", { get: () => trace });
        chart.draw();
        return chart.chart.bars.map((bar) => [bar.role, bar.from, bar.to, bar.lanes]); }"""
    )
    assert bars == [["sends", 0, 4, 1], ["receives", 1, 3, 1], ["sends", 1, 3, 2]]
    assert "upper half" in visit.page.locator("lesson-gantt .keys").first.inner_text()


def test_messages_leave_nodes_at_their_rims(visit: Visit) -> None:
    """At the beginning no dot stands on the number of a node."""
    visit.see("#step-1 lesson-network")
    off = visit.page.evaluate(
        """() => { const net = document.querySelector("lesson-network"), { moving } = net.now();
        const spots = moving.map((message) => [message, net.spot(message, 0)]);
        return spots.map(([{ from }, [x, y]]) => Math.hypot(x - net.at(net.trace.node[from])[0], y - net.at(net.trace.node[from])[1]) / net.radius); }"""
    )
    assert len(off) > 0
    assert min(off) > 1


def test_a_german_page_has_no_english_word(browser: Any, files: dict[str, Path]) -> None:
    visit = Visit(browser, files["de"], DESKTOP)
    visit.predict()
    visit.page.locator("lesson-ladder").first.locator("button.rung").last.click()
    visit.draw_all()
    visit.page.evaluate("document.querySelectorAll('.source').forEach((one) => one.remove())")  # lines of the program
    shown = visit.page.locator("body").inner_text()
    labels = visit.page.evaluate(
        "[...document.querySelectorAll('[aria-label]')].map((one) => one.getAttribute('aria-label')).join('\\n')"
    )
    rows = visit.page.evaluate(
        "[...document.querySelectorAll('lesson-gantt')].flatMap((one) => one.chart.rows).join('\\n')"
    )
    for text in (shown, labels, rows):
        assert len(text) > 50
        assert ENGLISH.findall(text) + TERMS.findall(text) == []
    visit.close()
