"""The table docs/tables/collective-costs.csv of published costs of collectives says what comparisons say."""

from __future__ import annotations

import pytest

from simcodesign.comparison.compare import compare
from simcodesign.describe.scenario import Scenario
from tests.shipped_pairs import load_machine, load_workload
from tests.system.documentation import csv_rows

ROWS = [tuple(row.values()) for row in csv_rows("collective-costs")]


def test_there_are_rows() -> None:
    assert len(ROWS) == 21


@pytest.mark.thorough
@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_a_row(row: tuple[str, ...]) -> None:
    name, phase, machine, ranks, size, percent, largest = row
    at = {"P": int(ranks), "size": int(size)}
    scenario = Scenario.of(load_workload("collective-costs"), load_machine(machine), at, phases=[phase])
    formula = next(one for one in compare(scenario, effects="all").formulas if one.name == name)
    assert 100 * formula.error == pytest.approx(float(percent.removesuffix(" %")), abs=0.05)
    if largest != "none":
        assert max(formula.rungs, key=lambda rung: abs(rung.change_s)).step == largest
