"""The table of docs/classics.md: every number is that of its case of validation, and every case has its number."""

from __future__ import annotations

import re

import pytest

from simcodesign.comparison.compare import compare
from simcodesign.studies.validation.outcome import CaseOutcome
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.run import measured
from simcodesign.studies.validation.verdict import Verdict
from tests import ROOT

GROUP = "classics/"
CASES = {case.name.removeprefix(GROUP): case for case in load_cases() if case.name.startswith(GROUP)}
#: ``+3.6 % (`linpack/by-panel`)``
NUMBER = re.compile(r"([+\N{MINUS SIGN}][\d.]+) % \(`([a-z0-9./-]+)`\)")
#: Columns of a row.
FORMULA, SOURCE, WORKLOAD, HOLDS, FAILS, EXPLAINED = range(6)


def rows() -> list[list[str]]:
    lines = (ROOT / "docs" / "classics.md").read_text(encoding="utf-8").splitlines()
    table = lines[lines.index("| formula | source | workload | holds within 5 % | fails | what explains it |") + 2 :]
    end = next(number for number, line in enumerate(table) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[:end]]


ROWS = rows()
#: Case -> the row that it stands in, the column, and its number.
SHOWN = {
    name: (row, column, number)
    for row in ROWS
    for column in (HOLDS, FAILS)
    for number, name in NUMBER.findall(row[column])
}


def test_every_case_of_a_group_in_the_table_stands_in_it() -> None:
    groups = {name.partition("/")[0] for name in SHOWN}
    assert {*SHOWN} == {name for name in CASES if name.partition("/")[0] in groups}
    assert sum(len(NUMBER.findall(cell)) for row in ROWS for cell in row) == len(SHOWN)


def largest_steps(outcome: CaseOutcome) -> set[str]:
    """Of the ladders of all points that fail."""
    return {max(ladder.steps, key=lambda step: abs(step.change_s)).effect for ladder in outcome.ladders}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if CASES[name].quick else pytest.mark.thorough) for name in SHOWN]
)
def test_numbers(name: str) -> None:
    row, column, number = SHOWN[name]
    case = CASES[name]
    outcome = measured(case)
    assert outcome.verdict is (Verdict.NOT_REPRODUCED if column == FAILS else Verdict.REPRODUCED)
    percent = round(100 * outcome.deviation(outcome.worst), 1) + 0.0  # no -0.0
    assert f"{percent:+.1f}".replace("-", "\N{MINUS SIGN}") == number
    assert row[WORKLOAD] == f"`{case.workload}`"
    if column == FAILS:
        (step,) = largest_steps(outcome)
        assert step in row[EXPLAINED]


def test_what_is_said_of_measured_times() -> None:
    """Of the test set of SPECseis96: Table 3 has 29.2 s, 3.37 s of messages and 0.76 s of disks."""
    text = " ".join((ROOT / "docs" / "classics.md").read_text(encoding="utf-8").split())
    comparison = compare("seismic", "power-challenge", {"P": 16}, effects="none")
    (usage,) = comparison.formulas
    assert usage.measured_error is not None
    less = [
        1 - float(usage.values.components_s[part]) / seconds
        for part, seconds in [("communication", 3.37), ("disk", 0.76)]
    ]
    said = f"the formula is {-usage.measured_error:.1%} below that of the test set, with {less[0]:.0%} less communication and {less[1]:.0%} less"
    assert said.replace("%", " %") in text
    assert usage.measured_error == pytest.approx(usage.total_s / 29.2 - 1)
