"""The table of docs/anchored.md: 512 nodes of Fugaku predicted from 8 and 64 nodes."""

from __future__ import annotations

import re

import pytest

from tests import ROOT
from validation.measured.fugaku_anchored import figures, predictions

TEXT = (ROOT / "docs" / "anchored.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("reading", ["forecast", pytest.param("simulation", marks=pytest.mark.thorough)])
def test_the_table_shows_what_is_computed(reading: str) -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| {reading} |"))
    known = figures(reading)
    shown = [float(number) for number in re.findall(r"\d+", row)]
    percents = ["error", "anchored error", "covered", "steady error", "warned error"]
    assert shown.pop(4) == known["steady rows"]
    assert shown == [round(100 * known[name]) for name in percents]
    assert known["rows"] == 48
    assert all(not one.row.is_calibration for one in predictions(reading))
