"""The table docs/tables/classics.csv: every number is that of its case of validation, and every case has its number."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from _pytest.mark import ParameterSet

from simcodesign.comparison.compare import compare
from simcodesign.studies.validation.outcome import CaseOutcome
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.run import measured
from simcodesign.studies.validation.verdict import Verdict
from tests import ROOT
from tests.system.documentation import csv_rows

GROUP = "classics/"
CASES = {case.name.removeprefix(GROUP): case for case in load_cases() if case.name.startswith(GROUP)}
#: ``+3.6 % (linpack/by-panel)``; of several, as ``collectives/mesh/*``, the largest in absolute value.
NUMBER = re.compile(r"([+\N{MINUS SIGN}][\d.]+) % \(([a-z0-9./*-]+)\)")
#: Columns of a row.
WORKLOAD, HOLDS, FAILS, EXPLAINED = "workload", "holds within 5 %", "fails", "what explains it"


#: Name or pattern, the row that it stands in, the column, and its number.
SHOWN = [
    (name, row, column, number)
    for row in csv_rows("classics")
    for column in (HOLDS, FAILS)
    for number, name in NUMBER.findall(row[column])
]


def meant(name: str, column: str) -> list[str]:
    """The cases of a name or pattern: those that hold, or those that fail."""
    return [one for one, case in CASES.items() if fnmatchcase(one, name) and bool(case.because) == (column == FAILS)]


def test_every_case_stands_in_the_table_once() -> None:
    assert sorted(one for name, _, column, _ in SHOWN for one in meant(name, column)) == sorted(CASES)
    assert all(meant(name, column) for name, _, column, _ in SHOWN)


def largest_steps(outcome: CaseOutcome) -> set[str]:
    """Of the ladders of all points that fail."""
    return {max(ladder.steps, key=lambda step: abs(step.change_s)).effect for ladder in outcome.ladders}


def shown_parameters() -> list[ParameterSet]:
    """Patterns, and cases that take long, are marked."""
    return [
        pytest.param(
            *one, marks=() if one[0] in CASES and CASES[one[0]].quick else pytest.mark.thorough, id=f"{one[0]}-{one[2]}"
        )
        for one in SHOWN
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "row", "column", "number"), shown_parameters())
def test_numbers(name: str, row: dict[str, str], column: str, number: str) -> None:
    percents = []
    for one in meant(name, column):
        outcome = measured(CASES[one])
        assert outcome.verdict is (Verdict.NOT_REPRODUCED if column == FAILS else Verdict.CONSISTENT), one
        percents.append(round(100 * outcome.deviation(outcome.worst), 1) + 0.0)  # no -0.0
        assert CASES[one].workload in row[WORKLOAD].split(", "), one
        if column == FAILS:
            assert all(step in row[EXPLAINED] for step in largest_steps(outcome)), one
    assert f"{max(percents, key=abs):+.1f}".replace("-", "\N{MINUS SIGN}") == number


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
