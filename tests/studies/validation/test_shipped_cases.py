"""The shipped cases: every quick one is run, and what can be said of the others without running them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from simcodesign.report.validation.tables import failure_lines
from simcodesign.studies.validation.case import Case
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.run import measured
from simcodesign.studies.validation.verdict import Verdict
from validation.later import Later

CASES = load_cases()
#: Quick cases are run in so many portions, which the processes of the tests share; they take every 16th case, so that
#: each has some of every module. A quarter of them is run by ``make test``.
PORTIONS, ORDINARY = 16, 2


def names_of(cases: list[Case], is_right: Callable[[Case], bool]) -> list[str]:
    """The names of the cases of which it is not so."""
    return [case.name for case in cases if not is_right(case)]


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len({*names})


def test_published_numbers_that_are_contradicted_state_their_inputs() -> None:
    """Without, the case could only be "not recoverable" for no reason."""
    cases = [case for case in CASES if not case.missing and not isinstance(case.own, Later)]
    contradicted = [
        case
        for case in cases
        if any(not case.tolerance.holds(case.own[label], case.expected[label]) for label in case.own)
    ]
    assert len(contradicted) > 20
    assert names_of(contradicted, lambda case: case.printed and bool(case.inputs)) == []


#: Claims of papers that a number of ours contradicts, or a measured time that a model misses.
NO_FAULT_OF_THE_SOURCE = (
    "cg/mean-degree",
    "cg/order/",
    "seismic/section-3.3/communication-grows-phase-2",
    "seismic/table-1/phase-1",
    "seismic/table-3/communication-phase-1",
    "seismic/table-3/against-table-2",
    "calibration/table-1/",
    "aspen/rack/",
    "requirements/table-4/",
    "requirements/table-5/",
    "requirements/table-7/kripke",
    "hardware-counters/kernel-count/",
    "hardware-counters/volume/",
    "hardware-counters/errors/average",
)


@pytest.mark.parametrize("beginning", NO_FAULT_OF_THE_SOURCE)
def test_a_source_is_not_blamed_for_our_number(beginning: str) -> None:
    """Cases that cannot become "source inconsistent", whatever the readings give."""
    cases = [case for case in CASES if case.name.startswith(beginning)]
    assert cases
    for case in cases:
        holds = all(case.tolerance.holds(case.own[label], case.expected[label]) for label in case.own)
        assert holds or not case.can_contradict, case.name


def test_some_are_quick() -> None:
    assert any(case.quick for case in CASES)
    assert not any(case.quick and case.full for case in CASES)


@pytest.mark.thorough
def test_a_case_can_be_judged_by_its_reader() -> None:
    cases = list(CASES)
    assert names_of(cases, lambda case: case.claim.endswith(".")) == []
    assert names_of(cases, lambda case: re.search(r"\w", case.source) is not None) == []
    assert names_of(cases, lambda case: len(case.tolerance.reason.split()) >= 3) == []
    assert names_of(cases, has_values_or_says_what_is_missing) == []
    assert names_of(cases, lambda case: all(str(line) for line in case.derivation)) == []
    assert names_of(cases, has_axis_for_numbers) == []


def has_values_or_says_what_is_missing(case: Case) -> bool:
    """A value that cannot be read off the source is none, but then the case must say what is missing."""
    return bool(case.missing) or all(math.isfinite(value) for value in (*case.expected.values(), *case.own.values()))


def has_axis_for_numbers(case: Case) -> bool:
    """Numbers for labels need an axis."""
    numeric = [isinstance(label, int | float) for label in case.expected]
    return not (all(numeric) and len(numeric) >= 3) or bool(case.axis)


#: Cases whose derivations rightly show none of their values, by the beginning of their names.
ILLUSTRATED = {
    "seismic/table-1/phase-1": "the values are measured; the lines show what the equations give, which misses them",
    "seismic/table-3/communication-phase-1": "the value is measured; the line shows equation 3, which gives none",
    "locality/found/": "the values are coefficients of the formulas that the lines show for one size",
    "locality/miss-ratio/steps": "the values are sizes; the lines show that distances there pass the size of the cache",
}


@pytest.mark.thorough
def test_a_derivation_leads_to_what_is_claimed() -> None:
    cases = [case for case in CASES if case.derivation and not case.missing]
    assert len(cases) > 100
    assert names_of([case for case in cases if not case.name.startswith(tuple(ILLUSTRATED))], leads_to_claim) == []


def leads_to_claim(case: Case) -> bool:
    """To an expected value, to one of the own equations, or, in the unit of the axis, to the end of the axis."""
    # The least is for the last digit of doubles.
    tolerance = replace(case.tolerance.two_sided, relative=max(case.tolerance.relative, 1e-12))
    values = [*case.expected.values(), *case.own.values()]
    leads = any(tolerance.holds(line.value, value) for line in case.derivation for value in values)
    ends = [line.value for line in case.derivation if line.unit and line.unit == case.axis]
    return leads or any(end == max(case.expected) for end in ends)


def test_what_tests_no_reading_says_so() -> None:
    cases = [case for case in CASES if case.reading == "source" and not case.missing]
    assert len(cases) > 10
    assert names_of(cases, lambda case: "no reading is tested" in case.claim) == []


@pytest.mark.parametrize(
    "portion",
    [pytest.param(n, marks=() if n < ORDINARY else pytest.mark.thorough) for n in range(PORTIONS)],
)
def test_quick_cases(portion: int) -> None:
    """All but those whose numbers ``tests/system/documentation/test_classics_table.py`` compares with the page."""
    cases = [case for case in CASES if case.quick][portion::PORTIONS]
    cases = [case for case in cases if portion < ORDINARY or not case.name.startswith("classics/")]
    outcomes = [measured(case) for case in cases]
    assert outcomes
    differing = [outcome for outcome in outcomes if outcome.verdict is Verdict.DIFFERS]
    assert not differing, "\n".join(line for outcome in differing for line in failure_lines(outcome))
