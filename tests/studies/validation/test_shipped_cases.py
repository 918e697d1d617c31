"""The shipped cases: every quick one is run, and what can be said of the others without running them."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from simcodesign.report.validation.tables import failure_lines
from simcodesign.studies.validation.case import Case
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.run import measured
from simcodesign.studies.validation.verdict import Verdict

CASES = load_cases()
every = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len({*names})


def test_some_are_quick() -> None:
    assert any(case.quick for case in CASES)
    assert not any(case.quick and case.full for case in CASES)


@every
def test_a_case_can_be_judged_by_its_reader(case: Case) -> None:
    assert case.claim.endswith(".")
    assert re.search(r"\w", case.source)
    assert len(case.tolerance.reason.split()) >= 3
    # A value that cannot be read off the source is none, but then the case must say what is missing.
    assert case.missing or all(math.isfinite(value) for value in (*case.expected.values(), *case.own.values()))
    assert all(str(line) for line in case.derivation)
    numeric = [isinstance(label, int | float) for label in case.expected]
    assert not (all(numeric) and len(numeric) >= 3) or case.axis, "numbers for labels need an axis"


#: Cases whose derivations rightly show none of their values, by the beginning of their names.
ILLUSTRATED = {
    "locality/found/": "the values are coefficients of the formulas that the lines show for one size",
    "locality/miss-ratio/steps": "the values are sizes; the lines show that distances there pass the size of the cache",
}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.derivation and not case.missing], ids=lambda case: case.name
)
def test_a_derivation_leads_to_what_is_claimed(case: Case) -> None:
    """To an expected value, to one of the own equations, or, in the unit of the axis, to the end of the axis."""
    if case.name.startswith(tuple(ILLUSTRATED)):
        pytest.skip("shows formulas, not values")
    room = replace(
        case.tolerance.two_sided, relative=max(case.tolerance.relative, 1e-12)
    )  # for the last digit of doubles
    values = list(case.expected.values())
    leads = any(room.holds(line.value, value) for line in case.derivation for value in values)
    leads = leads or any(room.holds(line.value, value) for line in case.derivation for value in case.own.values())
    ends = [line.value for line in case.derivation if line.unit and line.unit == case.axis]
    assert leads or any(end == max(case.expected) for end in ends), [str(line) for line in case.derivation]


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.reading == "source" and not case.missing], ids=lambda case: case.name
)
def test_what_tests_no_reading_says_so(case: Case) -> None:
    assert "no reading is tested" in case.claim


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=lambda case: case.name)
def test_quick_cases(case: Case) -> None:
    outcome = measured(case)
    assert outcome.verdict is not Verdict.DIFFERS, "\n".join(failure_lines(outcome))
