"""Whatever is done to files and options, every command works or is refused with a message (see ``tests/fuzz``)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.fuzz.cases import LINES, Case, Outcome, fault, limits, run
from tests.fuzz.seeds import SHIPPED, files, shipped

#: ``python -m tests.fuzz`` tries others.
FEW, MANY, CHUNKS = 20, 4_000, 4
CHUNK = MANY // CHUNKS


def fuzz(first: int, last: int) -> None:
    """Run cases in a process of their own, which may take little memory and may die."""
    call = [sys.executable, "-m", "tests.fuzz", f"{first}:{last}"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, errors="replace")
    last_one = (done.stderr.splitlines() or ["none"])[-1]
    assert done.returncode == 0, f"{done.stdout}\nexit status {done.returncode}; the last case was {last_one}"


def test_few_cases() -> None:
    fuzz(0, FEW)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, MANY, CHUNK))
def test_many_cases(first: int) -> None:
    fuzz(first, first + CHUNK)


@pytest.mark.thorough
def test_what_is_not_damaged_works(tmp_path: Path) -> None:
    """Else damage would find nothing behind the first error."""
    with limits():
        inputs = files(tmp_path / "made")
        for number, words in enumerate(LINES):
            given = dict(inputs)
            for name, folder in SHIPPED.items():
                given[name] = shipped(folder)[{"workloads": "jacobi.yaml", "topologies": "torus-cluster.yaml"}[folder]]
            (tmp_path / str(number)).mkdir()
            one = Case(number, words, given, ())
            outcome = run(one, tmp_path / str(number))
            assert (outcome.status, fault(one, outcome)) == (0, ""), (words, outcome.err)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(None, "", "Traceback"), "no exit status"),
        (Outcome(3, "", ""), "undocumented"),
        (Outcome(1, "", "Traceback (most recent call last)"), "a traceback"),
        (Outcome(2, "", "oh"), "exit status 2 without a message"),
        (Outcome(2, "", "error: " + "x" * 9000), "a message of 9007"),
        (Outcome(0, '{"a": [NaN]}', ""), "NaN in JSON"),
        (Outcome(0, '{"a": -Infinity}', ""), "-Infinity in JSON"),
        (Outcome(0, "time  nan s", ""), "nan in the answer"),
        (Outcome(0, "time  -inf", ""), "-inf in the answer"),
        (Outcome(0, "information of Nancy, 12 s", ""), ""),
        (Outcome(1, "inf", ""), ""),
        (Outcome(2, "", "note: x\nerror: y\n"), ""),
    ],
)
def test_what_is_a_fault(outcome: Outcome, words: str) -> None:
    result = fault(Case(0, ["list"], {}, ()), outcome)
    assert result.startswith(words) if words else not result
