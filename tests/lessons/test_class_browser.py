"""Predictions of a class in a real browser: a histogram of what is in the files of students."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcodesign.lessons.page import build_lesson
from tests.lessons.small import small_lesson
from tests.lessons.test_browser import AXE, DESKTOP, PHONE, Visit, browser, pytestmark  # noqa: F401

#: Seconds that seven students predict for 8 nodes; one has drawn nothing.
TIMES_S = [0.001, 0.001, 0.002, 0.004, 0.008, 0.064, 0.128]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    build_lesson(small_lesson(folder / "small"), folder / "small.html", 1)
    return folder / "small.html"


@pytest.fixture
def answers(tmp_path: Path) -> list[Path]:
    """Files of answers, one without a prediction, one of another lesson, and one that is none."""
    predictions: list[Any] = [{"0": {"8": one}} for one in TIMES_S]
    contents = [{"simcodesign": 1, "lesson": "small", "predictions": one} for one in [*predictions, {}]]
    contents.append({"simcodesign": 1, "lesson": "broadcast", "predictions": predictions[0]})
    for number, content in enumerate(contents):
        (tmp_path / f"answers-{number}.json").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "none.json").write_text("<b>", encoding="utf-8")
    return sorted(tmp_path.glob("*.json"))


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def visit(browser: Any, file: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:  # noqa: F811
    visit = Visit(browser, file, request.param, bypass_csp=True, color_scheme="dark")
    yield visit
    assert visit.errors == []
    assert visit.requests == [file.as_uri()]
    visit.close()


def open_class(visit: Visit, answers: list[Path]) -> Any:
    """The dialog with all files read. On a phone the button of the dialog for teachers is hidden."""
    visit.page.locator("lesson-teacher button").dispatch_event("click")
    visit.page.locator("button[value=class]").click()
    visit.page.locator("dialog.class input[type=file]").set_input_files(answers)
    visit.page.wait_for_selector("dialog.class svg")
    return visit.page.locator("dialog.class")


def test_the_histogram_has_every_prediction(visit: Visit, answers: list[Path]) -> None:
    """Twelve bins of equal ratio from the smallest to the largest: 1, 1, 2, 4, 8, 64 and 128 ms."""
    dialog = open_class(visit, answers)
    assert dialog.locator("select").input_value() == '["0","8"]'
    counts = [int(one) for one in dialog.locator(".count").all_text_contents()]
    assert counts == [2, 1, 1, 1, 1, 1]
    bins = dialog.locator(".bin").evaluate_all(
        "all => all.map(one => Math.round((one.getAttribute('x') - 35) / (506 / 12)))"
    )
    assert bins == [0, 1, 3, 5, 10, 11]  # 1.7 bins for a factor of two
    tall = dialog.locator(".bin").evaluate_all("all => all.map(one => +one.getAttribute('height'))")
    assert tall == pytest.approx([max(tall), *[max(tall) / 2] * 5])
    words = dialog.inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "7 predictions: half of them up to 4.00 ms, from 1.00 ms to 128 ms." in words
    assert "8 files, 7 of them with a prediction here." in words
    assert "Not of this lesson: answers-8.json, none.json." in words
    assert dialog.locator(".known").count() == 0  # nothing is given away before the comparison
    if AXE.is_file():
        visit.page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
        found = visit.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found] == []
    box = dialog.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= visit.page.viewport_size["width"]


def test_formula_and_simulation_are_marked_after_the_comparison(visit: Visit, answers: list[Path]) -> None:
    visit.predict()
    dialog = open_class(visit, answers)
    marks = dialog.locator(".known text").all_text_contents()
    run = visit.arrays["near/formula"], visit.arrays["near/simulated"]
    formula_s, simulated_s = (
        float(run[0][1, 2, 1]),
        float(run[1][1, 1, 0, 2, 0]),
    )  # 8 nodes, 1 MiB, 20 us, hops and links
    for shown, seconds in zip(marks, (formula_s, simulated_s), strict=True):
        assert float(shown.replace("\N{NO-BREAK SPACE}", " ").split(" ")[1]) == pytest.approx(1e3 * seconds, rel=0.01)
