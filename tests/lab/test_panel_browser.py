"""The panel of the laboratory in a real browser: pinned curves, units, and what is set across a reload and in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.test_browser import address, curve_of, page, points_of, pytestmark, settled, until  # noqa: F401
from tests.lessons.test_browser import AXE

FAST, SLOW = "  bandwidth: 1 GB/s", "  bandwidth: 100 MB/s"


def heights(page: Any, selector: str) -> list[float]:  # noqa: F811
    """How far points stand above the axis, from the left, in pixels."""
    zero = page.locator(".lab-chart .tick line").first.get_attribute("y1")
    points = page.locator(selector).evaluate_all(
        "all => all.map(one => [+one.getAttribute('cx'), +one.getAttribute('cy')])"
    )
    return [float(zero) - y for _, y in sorted(points)]


def begin_again(page: Any) -> None:  # noqa: F811
    page.locator(".lab-again").click()
    settled(page)
    until(lambda: points_of(page) == 8)


def write(page: Any, before: str, after: str) -> None:  # noqa: F811
    area, curve = page.locator("#lab-machine"), curve_of(page)
    text = area.input_value()
    assert before in text
    area.fill(text.replace(before, after))
    settled(page)
    until(lambda: curve_of(page) != curve)


def test_ten_times_the_bandwidth_is_seen(page: Any) -> None:  # noqa: F811
    """64 KiB take 20 us + 655 us a round and with ten times the bandwidth 20 us + 66 us, beside 1 us for each link.

    The forecast has the mean distance of two nodes on a mesh of 16x16: 2/3 of 16 links.
    """
    slow_us, fast_us = (20 + 2 * 16 / 3 + 65536 / bandwidth for bandwidth in (100, 1000))
    begin_again(page)
    page.locator('lesson-free input[type="text"][data-set="m"]').fill("64 KiB")
    page.locator('lesson-free input[type="text"][data-set="m"]').press("Tab")
    settled(page)
    slow = heights(page, ".lab-chart > circle.simulated")
    page.locator(".lab-pin").click()
    write(page, SLOW, FAST)
    until(lambda: points_of(page) == 16)
    assert heights(page, ".pinned circle.simulated") == pytest.approx(slow, abs=0.5)  # the axis stays
    fast = heights(page, ".lab-chart > circle.simulated")
    assert slow[-1] / fast[-1] == pytest.approx(slow_us / fast_us, rel=0.15)
    row = page.locator(".lab-pins tbody tr")
    assert "bandwidth: 100 MB/s → 1 GB/s" in row.inner_text()
    shown = [float(one.split("\n")[0].removeprefix("×")) for one in row.locator("td").all_inner_texts()[1:3]]
    assert shown[0] == pytest.approx(fast_us / slow_us, rel=0.01)
    assert page.locator(".lab-fit").is_hidden()
    page.locator("[data-unpin]").click()
    assert page.locator(".lab-pins tbody tr").count() == 0
    page.locator(".lab-fit").click()  # without the pin the axis is too high
    assert heights(page, ".lab-chart > circle.simulated")[-1] > 3 * fast[-1]


def test_a_pinned_curve_is_gone_back_to(page: Any) -> None:  # noqa: F811
    begin_again(page)
    page.locator(".lab-pin").click()
    write(page, SLOW, FAST)
    page.locator('lesson-free input[type="range"][data-set="m"]').press("End")
    until(lambda: "m: 1 KiB → 64 KiB" in page.locator(".lab-pins").inner_text())
    page.locator("[data-back]").click()
    settled(page)
    assert SLOW in page.locator("#lab-machine").input_value()
    assert page.locator('lesson-free input[type="text"][data-set="m"]').input_value() == "1 KiB"
    page.locator(".lab-axis").select_option("m")
    until(lambda: "drawn over P" in page.locator(".lab-pins").inner_text())
    assert page.locator(".pinned").count() == 0


def test_units_of_values(page: Any) -> None:  # noqa: F811
    """A slider goes from one round number to the next, and says it with its unit."""
    begin_again(page)
    slider = page.locator('lesson-free input[type="range"][data-set="m"]')
    field = page.locator('lesson-free input[type="text"][data-set="m"]')
    assert (field.input_value(), slider.get_attribute("aria-valuetext")) == ("1 KiB", "1 KiB")
    slider.press("ArrowRight")
    assert (field.input_value(), slider.get_attribute("aria-valuetext")) == ("2 KiB", "2 KiB")
    for typed, shown in (("1048576", "1 MiB"), ("1 MB", "1 MB"), ("3 MiB", "3 MiB"), ("1500", "1.5 kB")):
        field.fill(typed)
        field.press("Tab")
        page.locator(".lab-axis").select_option("P")  # fields are written anew
        assert field.input_value() == shown
    page.locator(".lab-axis").select_option("m")
    settled(page)
    assert points_of(page) == 9
    ends = [page.locator(f".lab-{name}").input_value() for name in ("low", "high")]
    assert all(one.endswith(("B", "iB")) for one in ends)
    page.locator(".lab-high").fill("2 MiB")
    page.locator(".lab-high").press("Tab")
    until(lambda: "2 MiB" in page.locator(".lab-at").inner_text())


def test_what_is_set_survives_a_reload_and_goes_through_a_file(page: Any, tmp_path: Path) -> None:  # noqa: F811
    begin_again(page)
    page.locator(".lab-pin").click()
    write(page, SLOW, FAST)
    page.locator(".lab-effects input[value='hops']").uncheck()
    settled(page)
    assert points_of(page) == 16
    before = curve_of(page)
    page.reload()
    settled(page)
    until(lambda: points_of(page) == 16)
    assert FAST in page.locator("#lab-machine").input_value()
    assert not page.locator(".lab-effects input[value='hops']").is_checked()
    assert curve_of(page) == before
    with page.expect_download() as download:
        page.locator(".lab-save").click()
    file = tmp_path / "laboratory.json"
    download.value.save_as(file)
    begin_again(page)
    assert SLOW in page.locator("#lab-machine").input_value()
    assert page.locator(".lab-pins tbody tr").count() == 0
    page.locator(".lab-file").set_input_files(file)
    until(lambda: points_of(page) == 16)
    assert curve_of(page) == before
    assert page.locator(".lab-pins tbody tr").count() == 1


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"simcodesign": 1, "laboratory": {}}', "null", '{"simcodesign": 2}']
)
def test_files_that_are_none_change_nothing(content: str, page: Any, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "wrong.json").write_text(content, encoding="utf-8")
    before = page.locator("#lab-machine").input_value()
    page.locator(".lab-file").set_input_files(tmp_path / "wrong.json")
    until(lambda: "wrong.json is not a file" in page.locator("[data-of='saved']").inner_text())
    assert page.locator("#lab-machine").input_value() == before


def test_a_file_of_others_writes_no_html(page: Any, tmp_path: Path) -> None:  # noqa: F811
    begin_again(page)
    page.locator(".lab-pin").click()
    with page.expect_download() as download:
        page.locator(".lab-save").click()
    made = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    made["laboratory"]["pins"][0]["names"] = ["<img src=x>", "<b>"]
    made["laboratory"]["pins"][0]["axis"] = "<img src=x>"
    (tmp_path / "other.json").write_text(json.dumps(made), encoding="utf-8")
    page.locator(".lab-file").set_input_files(tmp_path / "other.json")
    until(lambda: "<img src=x>" in page.locator(".lab-pins").inner_text())
    assert page.locator(".lab-pins img").count() == 0
    begin_again(page)


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not there: {AXE}")
@pytest.mark.parametrize("width", [1440, 390])
def test_no_violation_with_pins(width: int, page: Any) -> None:  # noqa: F811
    begin_again(page)
    page.locator(".lab-pin").click()
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]][:5]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert (page.foreign, page.complaints) == ([], [])
    page.set_viewport_size({"width": 1440, "height": 900})
