"""The table docs/tables/gpt-steps.csv: measured steps of training, and the errors of formula and forecast, computed again."""

from __future__ import annotations

import pytest

from tests.system.documentation import csv_rows
from validation.measured import gpt

ROWS = {row["step"]: row for row in csv_rows("gpt-steps")}
STEPS = [step for step in gpt.steps() if step.source != "vtrain"]


def percent(predicted_s: float, measured_s: float) -> str:
    return f"{100 * (predicted_s / measured_s - 1):+.1f}"


def test_measured_times_and_the_formula() -> None:
    assert [*ROWS] == [step.name for step in STEPS]
    for step in STEPS:
        row = ROWS[step.name]
        assert (row["source"], float(row["measured (s)"])) == (step.source, step.seconds)
        assert row["formula (%)"] == percent(step.formula_s(), step.seconds), step.name


@pytest.mark.thorough
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_forecasts(step: gpt.Step) -> None:
    assert ROWS[step.name]["forecast (%)"] == percent(step.forecast_s(), step.seconds)
