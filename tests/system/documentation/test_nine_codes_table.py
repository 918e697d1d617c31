"""The table docs/tables/nine-codes.csv of errors of predictions, and its means in docs/counters.md."""

from __future__ import annotations

import re
from statistics import mean

import pytest

from tests import ROOT
from tests.system.documentation import csv_rows

ROWS = csv_rows("nine-codes")
TEXT = (ROOT / "docs" / "counters.md").read_text(encoding="utf-8")
COLUMNS = {
    "128 processes": ["counters", "a size/P + b", "a/P + b P^c + d"],
    "the next size": ["next size: counters", "next size: a size/P + b"],
}


def medians(column: str) -> dict[str, float]:
    """Return the median errors in per cent by code, of those that have one."""
    return {row["code"]: float(row[column].split(" %")[0]) for row in ROWS if row[column]}


@pytest.mark.parametrize("line", COLUMNS)
def test_means(line: str) -> None:
    (cells,) = re.findall(rf"^\| {line}.*?\)? \|(.*)\|$", TEXT, re.MULTILINE)
    shown = [float(cell) for cell in re.findall(r"(\d+) %", cells)]
    assert shown == [round(mean(abs(one) for one in medians(column).values())) for column in COLUMNS[line]]


def test_intervals_hold_their_medians() -> None:
    for row in ROWS:
        for column in (name for names in COLUMNS.values() for name in names if row[name]):
            median, low, high = (float(one) for one in re.findall(r"[+-]\d+", row[column]))
            assert low <= median <= high, (row["code"], column)


def test_codes_for_which_counters_are_better() -> None:
    line, counters = medians("a size/P + b"), medians("counters")
    better = [code for code in counters if abs(counters[code]) < abs(line[code])]
    text = " ".join(TEXT.split())
    assert f"counters are better than the line for {', '.join(better[:-1])} and {better[-1]}," in text
