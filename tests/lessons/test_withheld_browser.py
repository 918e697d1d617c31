"""Every kind of figure in an exam that withholds every combination of readings: none throws, and each shows what it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.compute import Numbers, numbers_of
from simcodesign.lessons.description import Lesson
from simcodesign.lessons.page import page
from simcodesign.lessons.yaml.lesson import read_lesson
from tests.lessons import test_browser
from tests.lessons.small import ONE_TRACE, TEXT, TRACES, small_lesson
from tests.lessons.test_browser import DESKTOP, browser  # noqa: F401

pytestmark = test_browser.pytestmark

#: A step for each kind of figure; the last has one of each side by side.
FIGURES = {
    "Curve": "{kind: curve, run: near, over: size, measured: true, log: true}",
    "Ladder": "{kind: ladder, run: near}",
    "Network": "{kind: network, run: near}",
    "Ranks": "{kind: gantt, run: near}",
    "Rounds": "{kind: gantt, run: near, of: rounds}",
    "Stations": "{kind: gantt, run: near, of: stations}",
    "Events": "{kind: events, run: near}",
    "Trust": "{kind: trust, run: near, over: [nodes, size]}",
    "Helps": "{kind: helps, run: near}",
    "Clock": "{kind: clock, run: near}",
    "Table": "{kind: table, run: near, over: size}",
}
#: What a figure cannot be drawn without, as docs/grading.md states it; a Gantt chart marks the formula if it is there.
NEEDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(FIGURES, frozenset({"formula", "simulation", "traces"})),
    "Curve": frozenset({"formula"}),
    **dict.fromkeys(("Network", "Ranks", "Rounds", "Stations", "Clock"), frozenset({"traces"})),
}
#: Questions by what they withhold. A simulation is withheld with its traces.
ASKED = {"formula": "formula", "simulation": "simulated", "traces": "early"}
WITHHELD = [
    set[str](),
    {"formula"},
    {"traces"},
    {"formula", "traces"},
    {"simulation", "traces"},
    {"formula", "simulation", "traces"},
]
RUN = (
    f"{TRACES}    draws: 2\n    events: {{nodes: 8}}\n    helps: [{{nodes: 2}}]\n"
    "    measured: {about: made up, points: [{at: {size: 1 MiB}, time: 2 ms, low: 1 ms, high: 3 ms}]}\n"
)


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lesson, Numbers]]:
    """A lesson with every kind of figure and a question for each reading, and its numbers."""
    folder = tmp_path_factory.mktemp("withheld")
    steps = [
        f"  - {{name: {name}, text: one.md, views: [{view}, {{kind: sliders}}]}}" for name, view in FIGURES.items()
    ]
    steps.append(f"  - name: All\n    text: one.md\n    views: [{', '.join(FIGURES.values())}]\n    questions:")
    steps += [f"      - {{name: {name}, text: How much?, answer: {value}}}" for name, value in ASKED.items()]
    head = TEXT.partition("steps:\n")[0].replace(ONE_TRACE, RUN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        small_lesson(folder / "small", text="Text.\n")
        (folder / "small" / "lesson.yaml").write_text("\n".join([f"{head}steps:", *steps, ""]), encoding="utf-8")
        described = read_lesson(folder / "small")
        yield described, numbers_of(described, 1)


def asking(lesson: Lesson, names: set[str]) -> Lesson:
    """The lesson with these of its questions."""
    return replace(
        lesson,
        steps=tuple(
            replace(step, questions=tuple(one for one in step.questions if one.name in names)) for step in lesson.steps
        ),
    )


def use_everything(shown: Any) -> None:
    """Scroll through the page, move sliders, click rungs, links and clocks, and draw everything again."""
    for element in shown.locator(".stage > .row > *").all():
        element.scroll_into_view_if_needed()
        shown.wait_for_timeout(30)
    for one in shown.locator("input[data-slider]:not([disabled])").all():
        for key in ("Home", "End"):
            one.press(key)
    for selector in (".rung.effect", "lesson-clock .play", "lesson-trust td button", ".draws button:visible"):
        for one in shown.locator(selector).all()[:6]:
            one.click()
            shown.wait_for_timeout(20)
    for canvas in shown.locator("canvas[role=img]").all():
        canvas.click()
    shown.evaluate("dispatchEvent(new Event('themechange')); dispatchEvent(new Event('beforeprint'))")
    shown.wait_for_timeout(60)


IS_DRAWN = """(one) => {
  const canvas = one.querySelector('canvas');
  if (!canvas) return one.querySelectorAll('svg > *, td, i, li, .rung').length > 0;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value) => value > 0);
}"""


@pytest.mark.parametrize("withheld", WITHHELD, ids=lambda one: "+".join(sorted(one)) or "nothing")
def test_no_figure_needs_what_is_withheld(
    withheld: set[str],
    lesson: tuple[Lesson, Numbers],
    browser: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    described, numbers = lesson
    asked = withheld - ({"traces"} if "simulation" in withheld else set())
    html = page(asking(described, asked), numbers, exam=True)
    (tmp_path / "exam.html").write_text(html, encoding="utf-8")
    errors: list[str] = []
    shown = browser.new_page(viewport=DESKTOP, reduced_motion="reduce")
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.on("console", lambda one: errors.append(one.text) if one.type in ("error", "warning") else None)
    shown.goto((tmp_path / "exam.html").as_uri())
    shown.locator(".code-form input").fill("s001")
    shown.locator(".code-form button").click()
    shown.wait_for_selector("body.is-ready")
    use_everything(shown)
    kept = [name for name in FIGURES if not NEEDS[name] & withheld]
    for number, name in enumerate(FIGURES):
        figures = shown.locator(f"#step-{number + 1} .stage > .row > :not(lesson-sliders)")
        assert figures.count() == (name in kept), name
        assert all(figure.evaluate(IS_DRAWN) for figure in figures.all()), name
    assert shown.locator(f"#step-{len(FIGURES) + 1} .stage > .row > *").count() == len(kept)
    assert errors == []
    shown.close()
