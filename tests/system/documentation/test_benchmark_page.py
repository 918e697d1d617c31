"""The table of docs/benchmark.md: our own scores on the rows of evidence, computed again."""

from __future__ import annotations

import pytest

from tests import ROOT
from validation.measured.benchmark import rows
from validation.measured.scores import FORECAST, READINGS, SIMULATION, SMPI, TEXTBOOK, evidence, table_lines

TEXT = (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
SHOWN = {
    reading: [line for line in TEXT.splitlines() if line.startswith("| ") and f" | {reading} | " in line]
    for reading in READINGS
}
#: Groups whose forecasts take seconds; of the others they take minutes.
QUICK = ("fugaku/", "a100/", "gb200/", "miriel/", "taurus/", "graphene/")


@pytest.mark.parametrize("reading", [TEXTBOOK, SMPI])
def test_the_cheap_columns(reading: str) -> None:
    assert table_lines(reading, evidence()) == SHOWN[reading]


def test_quick_forecasts() -> None:
    shown = [line for line in SHOWN[FORECAST] if line[2:].startswith(QUICK)]
    assert len(shown) > 10
    assert table_lines(FORECAST, [row for row in evidence() if row.group.startswith(QUICK)]) == shown


@pytest.mark.thorough
@pytest.mark.parametrize("reading", [FORECAST, SIMULATION])
def test_columns_that_take_minutes(reading: str) -> None:
    assert table_lines(reading, evidence()) == SHOWN[reading]


def test_the_page_counts_rows_and_machines() -> None:
    machines = {row.group.partition("/")[0] for row in rows()}
    assert f"has {len(rows())} measured times of {len(machines)} machines" in TEXT
    assert all(f"`{machine}`" in TEXT for machine in machines)
