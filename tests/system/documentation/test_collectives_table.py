"""The table of docs/classics.md about published costs of collectives says what comparisons say."""

from __future__ import annotations

import re

import pytest

from simcodesign.comparison.compare import compare
from simcodesign.describe.scenario import Scenario
from tests import ROOT
from tests.shipped_pairs import load_machine, load_workload

TEXT = (ROOT / "docs" / "classics.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| `(\w+)` \| `([\w-]+)` \| `([\w-]+)` \| (\d+) \| (\d+) \| ([+-]?[\d.]+) % \| (.*) \|$", TEXT, re.MULTILINE
)


def test_there_are_rows() -> None:
    assert len(ROWS) == 21


@pytest.mark.thorough
@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_a_row(row: tuple[str, ...]) -> None:
    name, phase, machine, ranks, size, percent, largest = row
    at = {"P": int(ranks), "size": int(size)}
    scenario = Scenario.of(load_workload("collective-costs"), load_machine(machine), at, phases=[phase])
    formula = next(one for one in compare(scenario, effects="all").formulas if one.name == name)
    assert 100 * formula.error == pytest.approx(float(percent), abs=0.05)
    if largest != "none":
        assert max(formula.rungs, key=lambda rung: abs(rung.change_s)).step == largest
