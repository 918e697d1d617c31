"""Every kind of figure in a real browser, on a small lesson that has them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcodesign.lessons.page import build_lesson
from tests.lessons.small import lesson_with_all_figures
from tests.lessons.test_browser import AXE, CHROMIUM, DESKTOP, PHONE, Visit, browser

__all__ = ["browser"]  # the fixture

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    build_lesson(lesson_with_all_figures(folder / "small"), folder / "page.html", 1)
    return folder / "page.html"


@pytest.fixture
def visit(browser: Any, file: Path) -> Iterator[Visit]:
    one = Visit(browser, file, DESKTOP)
    one.predict()
    yield one
    assert one.errors == []
    assert one.requests == [file.as_uri()]
    one.close()


def test_events_are_gone_through_with_the_keyboard(visit: Visit) -> None:
    rows = visit.header["runs"]["near"]["events"]["rungs"][2]  # up to links: noise is random
    events = visit.see("lesson-events")
    items = events.locator("li")
    assert items.count() == len(rows)
    listed = events.locator("ol")
    listed.press("Home")
    for number, row in enumerate(rows):
        visit.settle()
        assert events.locator('[aria-selected="true"]').get_attribute("data-number") == str(number)
        marked = events.locator("mark").all_inner_texts()
        functions = visit.header["runs"]["near"]["events"]["functions"]
        assert marked == [functions[one]["text"][line] for one, *lines in row["lines"] for line in sorted(lines)]
        listed.press("ArrowDown")
    waiting = next(number for number, row in enumerate(rows) if row.get("holder"))
    words = items.nth(waiting).inner_text()
    assert " → ".join(map(str, rows[waiting]["holder"])) in words
    assert rows[waiting]["station"] in words


def test_an_event_sets_the_clock_and_the_clock_the_event(visit: Visit) -> None:
    rows = visit.header["runs"]["near"]["events"]["rungs"][2]
    events = visit.see("lesson-events")
    events.locator("li").nth(len(rows) - 1).click()
    visit.settle()
    clock = visit.see("lesson-clock input")
    assert float(clock.evaluate("one => one.value")) == pytest.approx(1000, abs=1)
    clock.press("Home")
    visit.see("lesson-events")
    chosen = int(events.locator('[aria-selected="true"]').get_attribute("data-number"))
    assert rows[chosen]["time"] == 0


def test_a_map_of_trust_says_how_far_the_formula_is_off(visit: Visit) -> None:
    run, formula, simulated = visit.header["runs"]["near"], visit.arrays["near/formula"], visit.arrays["near/simulated"]
    visit.see("lesson-trust")
    cells = visit.page.locator("lesson-trust button")
    assert cells.count() == 2 * 2
    for number in range(cells.count()):
        cell = cells.nth(number)
        nodes, size = (int(cell.get_attribute(f"data-{name}") or -1) for name in ("across", "down"))
        error = formula[nodes, size, 1] / simulated[nodes, run["simulated"]["size"].index(size), 0, 2, 0] - 1
        text = cell.inner_text().replace("−", "-").replace("\N{NO-BREAK SPACE}%", "")
        assert float(text) == pytest.approx(100 * error, abs=0.51)
        assert (cell.get_attribute("class") == "trusted") == (abs(error) <= 0.1)
        cell.click()
        visit.settle()
        assert visit.page.evaluate("document.querySelector('lesson-curve').state.stops.size") == size


def test_what_helps_is_the_table_that_was_computed(visit: Visit) -> None:
    visit.see("lesson-helps")
    rows = visit.page.locator("lesson-helps tbody tr:has(td)")
    (found,) = visit.header["runs"]["near"]["helps"]
    assert rows.count() == len(found["rows"]) + len(found["algorithms"])
    first = rows.first.locator("b").all_inner_texts()
    expected = [found["rows"][0]["forecast"], found["rows"][0]["simulated"]]
    shown = [float(text.replace("−", "-").replace("\N{NO-BREAK SPACE}%", "")) / 100 for text in first]
    assert shown == pytest.approx(expected, abs=6e-4)


def test_a_link_says_who_has_it_and_who_waits(visit: Visit) -> None:
    """At a time at which a message waits, by hand from the page's numbers."""
    (trace, *_) = visit.header["runs"]["near"]["traces"]
    arrays = {name: visit.arrays[f"{trace['arrays']}2/{name}"] for name in ("visits", "way", "way_start", "messages")}
    visits, way = arrays["visits"].astype(float), arrays["way"]
    waits = np.flatnonzero(visits[:, 1] > visits[:, 0])
    hop = int(waits[np.argmax(visits[waits, 1] - visits[waits, 0])])
    moment = float(visits[hop, 0] + visits[hop, 1]) / 2
    on_link = [k for k in np.flatnonzero(way == way[hop]).tolist() if visits[k, 1] <= moment < visits[k, 2]]
    (holder,) = (np.searchsorted(arrays["way_start"], k, side="right") - 1 for k in on_link)
    visit.see("lesson-network")
    visit.page.evaluate(
        f"document.querySelector('lesson-network').store.set({{time: {moment!r}, link: {int(way[hop])}}})"
    )
    visit.settle()
    sender, receiver = arrays["messages"][holder, 1:3].tolist()
    info = visit.page.locator("lesson-network .info").inner_text()
    assert f"{sender} → {receiver} has it" in info


@pytest.mark.parametrize("of", ["stations", "rounds"])
def test_a_chart_of_stations_or_rounds_has_a_bar_for_each_service(of: str, visit: Visit) -> None:
    visit.see(f"lesson-gantt[data-view='{7 if of == 'stations' else 8}']")
    bars = visit.page.evaluate(
        f"[...document.querySelectorAll('lesson-gantt')].find((one) => one.of === '{of}').chart.bars.filter((bar) => bar.role !== 'waits').length"
    )
    (trace, *_) = visit.header["runs"]["near"]["traces"]
    count = len(visit.arrays[f"{trace['arrays']}2/{'served' if of == 'stations' else 'messages'}"])
    assert bars == count > 0


def test_after_the_prediction_formula_points_and_score_come_in_turn(browser: Any, file: Path) -> None:
    visit = Visit(browser, file, DESKTOP, reduced_motion="no-preference")
    visit.predict()
    page = visit.page
    page.wait_for_selector("lesson-curve path.formula")
    assert page.locator("lesson-curve path.simulation").count() == 0
    assert page.locator(".score").inner_text() == ""
    page.wait_for_selector("lesson-curve path.simulation")
    assert page.locator("lesson-curve path.between.yours").count() == 1
    assert "×" in page.locator(".score").inner_text()
    visit.close()


def test_locked_steps_say_what_they_are_and_how_they_open(browser: Any, tmp_path: Path) -> None:
    folder = lesson_with_all_figures(tmp_path / "small")
    text = (folder / "lesson.yaml").read_text(encoding="utf-8")
    later = "  - {name: Afterwards, text: later.md, after_prediction: true}\n"
    later += "  - {name: Last, text: later.md, after_answer: choice, views: [{kind: sliders}]}\n"
    (folder / "lesson.yaml").write_text(text + later, encoding="utf-8")
    (folder / "later.md").write_text("> Later.\n", encoding="utf-8")
    build_lesson(folder, tmp_path / "page.html", 1)
    visit = Visit(browser, tmp_path / "page.html", DESKTOP)
    locked = visit.page.locator("#step-2")
    assert locked.locator("h2").is_visible()
    assert locked.locator(".locked").is_visible()
    assert not locked.locator(".task").is_visible()
    visit.predict()
    assert locked.locator(".task").is_visible()
    visit.close()
    visit = Visit(browser, tmp_path / "page.html", DESKTOP)
    last = visit.page.locator("#step-3")
    assert last.locator("input").first.is_disabled()
    visit.page.locator("#step-2 .locked button").click()  # all steps
    visit.see("#step-3 lesson-sliders")
    assert last.locator(".task").is_visible()
    assert last.locator("input").first.is_enabled()
    assert visit.see("lesson-curve").locator("path.simulation").count() == 1
    visit.close()


def test_a_phone_shows_all_figures(browser: Any, file: Path) -> None:
    visit = Visit(browser, file, PHONE, has_touch=True)
    visit.predict()
    visit.draw_all()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert visit.errors == []
    visit.close()


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not there: {AXE} (npm install axe-core, or $AXE_CORE)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_violation_of_accessibility(scheme: str, browser: Any, file: Path) -> None:
    visit = Visit(browser, file, DESKTOP, color_scheme=scheme, bypass_csp=True)
    visit.page.add_script_tag(path=str(AXE))
    visit.predict()
    visit.draw_all()
    found = visit.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found] == []
    visit.close()
