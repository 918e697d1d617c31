"""The table docs/tables/benchmark.csv: our own scores on the rows of evidence, computed again."""

from __future__ import annotations

import pytest

from tests import ROOT
from tests.system.documentation import csv_rows
from validation.measured.benchmark import rows
from validation.measured.scores import FORECAST, READINGS, SIMULATION, SMPI, TEXTBOOK, evidence, table_rows

TEXT = (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
SHOWN = {
    reading: [tuple(row.values()) for row in csv_rows("benchmark") if row["reading"] == reading] for reading in READINGS
}
#: Groups whose forecasts take seconds; of the others they take minutes.
QUICK = ("fugaku/", "a100/", "gb200/", "miriel/", "taurus/", "graphene/")


@pytest.mark.parametrize("reading", [TEXTBOOK, SMPI])
def test_the_cheap_columns(reading: str) -> None:
    assert table_rows(reading, evidence()) == SHOWN[reading]


def test_quick_forecasts() -> None:
    shown = [row for row in SHOWN[FORECAST] if row[0].startswith(QUICK)]
    assert len(shown) > 10
    assert table_rows(FORECAST, [row for row in evidence() if row.group.startswith(QUICK)]) == shown


@pytest.mark.thorough
@pytest.mark.parametrize("reading", [FORECAST, SIMULATION])
def test_columns_that_take_minutes(reading: str) -> None:
    assert table_rows(reading, evidence()) == SHOWN[reading]


def test_the_page_counts_rows_and_machines() -> None:
    machines = {row.group.partition("/")[0] for row in rows()}
    assert f"has {len(rows())} measured times of {len(machines)} machines" in TEXT
    assert all(f"`{machine}`" in TEXT for machine in machines)
