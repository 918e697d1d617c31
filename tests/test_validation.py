"""The shipped cases: every quick one is run, and what can be said of the others without running them."""

from __future__ import annotations

import math
import re

import pytest

from simcodesign.report.verdicts import failure_lines
from simcodesign.validate.case import Case
from simcodesign.validate.registry import load_cases
from simcodesign.validate.run import measured
from simcodesign.validate.verdict import Verdict

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


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=lambda case: case.name)
def test_quick_cases(case: Case) -> None:
    outcome = measured(case)
    assert outcome.verdict is not Verdict.DIFFERS, "\n".join(failure_lines(outcome))
