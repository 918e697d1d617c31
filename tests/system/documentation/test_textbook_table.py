"""Differences from textbook formulas in docs/tables/textbook.csv, point by point: each is that of its validation case."""

from __future__ import annotations

import re

import pytest

from simcodesign.studies.validation.case import Case
from simcodesign.studies.validation.registry import load_cases
from tests.system.documentation import csv_rows

ROWS = {row["case"]: (row["at"], row["difference (%)"]) for row in csv_rows("textbook")}
CASES = {
    case.name.removeprefix("classics/"): case
    for case in load_cases()
    if re.match(r"classics/(matrix-multiply|fft|laws)/", case.name)
}


def test_every_case_has_its_row() -> None:
    assert {*ROWS} == {*CASES}


def label(text: str) -> int:
    """``1,024`` or ``2^20``."""
    base, _, power = text.replace(",", "").partition("^")
    return int(base) ** int(power or 1)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if name.startswith("laws/a") else pytest.mark.thorough, id=name)
        for name, case in CASES.items()
    ],
)
def test_differences(case: Case) -> None:
    points, shown = ROWS[case.name.removeprefix("classics/")]
    axis, labels = points.split(" = ")
    assert axis == case.axis
    assert [label(text) for text in labels.split(", ")] == list(case.expected)
    assert case.measure is not None
    simulated = case.measure().simulation
    found = [100 * (simulated[at] / formula_s - 1) for at, formula_s in case.expected.items()]
    assert [float(percent) for percent in shown.split(", ")] == pytest.approx(found, abs=0.051)
