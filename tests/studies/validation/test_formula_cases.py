"""Cases about formulas of a workload: they hold, fail for the reason that is given, or differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcodesign.core.errors import InputError
from simcodesign.studies.validation.case import Case
from simcodesign.studies.validation.outcome import CaseLadder, CaseOutcome
from simcodesign.studies.validation.run import measured
from simcodesign.studies.validation.verdict import Verdict
from validation.classics.formula_cases import FormulaRuns, formula_case

WORKLOAD = """
simcodesign: 1
name: doubling
about: Broadcasts of m bytes
source: made up
parameters: {m: {default: 1000, unit: B}}
program:
  - {phase: first, do: [{broadcast: {bytes: m, algorithm: binomial}}]}
  - {phase: second, do: [{broadcast: {bytes: 2*m, algorithm: binomial}}]}
formulas:
  right: {phases: {first: log2(P)*(t_s + m*t_w), second: log2(P)*(t_s + 2*m*t_w)}}
  half: {phases: {first: log2(P)*(t_s + m*t_w)/2, second: log2(P)*(t_s + 2*m*t_w)/2}}
  large: {total: t_s, valid: P >= 1024}
"""
POINTS = {p: {"P": p} for p in (2, 4, 16)}


@pytest.fixture
def workload(tmp_path: Path) -> str:
    path = tmp_path / "doubling.yaml"
    path.write_text(WORKLOAD)
    return str(path)


def case_of(runs: FormulaRuns, fails: str = "", largest: str = "") -> Case:
    return formula_case("made-up", "A claim.", runs, source="made up", axis="P", fails=fails, largest=largest)


def outcome_of(runs: FormulaRuns, fails: str = "", largest: str = "") -> CaseOutcome:
    return measured(case_of(runs, fails, largest))


@pytest.mark.parametrize("phase", [None, "first", "second"])
def test_a_formula_that_holds(workload: str, phase: str | None) -> None:
    outcome = outcome_of(FormulaRuns(workload, "right", "crossbar-16", POINTS, phase))
    assert outcome.verdict is Verdict.CONSISTENT
    (ladder,) = outcome.ladders
    assert ladder.start == "right"
    assert ladder.start_s == pytest.approx(outcome.points[-1].expected, rel=1e-15)


def test_a_formula_that_fails(workload: str) -> None:
    runs = FormulaRuns(workload, "half", "crossbar-16", POINTS)
    assert outcome_of(runs).verdict is Verdict.DIFFERS
    outcome = outcome_of(runs, "half of it is left out", "left out of the formula")
    assert outcome.verdict is Verdict.NOT_REPRODUCED
    assert len(outcome.ladders) == len(POINTS)
    assert all(steps_add_up(ladder) for ladder in outcome.ladders)


def steps_add_up(ladder: CaseLadder) -> bool:
    last_s = ladder.start_s + sum(step.change_s for step in ladder.steps)
    return last_s == pytest.approx(ladder.steps[-1].simulated_s)


def test_a_reason_that_is_none(workload: str) -> None:
    wrong_step = outcome_of(FormulaRuns(workload, "half", "crossbar-16", POINTS), "of the links", "links")
    assert wrong_step.verdict is Verdict.DIFFERS
    assert "left out of the formula" in wrong_step.error
    holds = outcome_of(FormulaRuns(workload, "right", "crossbar-16", POINTS), "of the links", "links")
    assert holds.verdict is Verdict.DIFFERS


def test_bad_cases(workload: str) -> None:
    with pytest.raises(InputError, match="both"):
        case_of(FormulaRuns(workload, "right", "crossbar-16", POINTS), fails="of the links")
    with pytest.raises(InputError, match="right"):
        case_of(FormulaRuns(workload, "rigth", "crossbar-16", POINTS)).expected[2]
    with pytest.raises(InputError, match="says nothing"):
        case_of(FormulaRuns(workload, "large", "crossbar-16", POINTS)).expected[2]
