"""The harness: which cases are found and chosen, how they run, and what the command says of them."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.report.validation.tables import failure_lines
from simcodesign.studies.validation.case import Case, Readings, Tolerance
from simcodesign.studies.validation.outcome import CaseOutcome, counts, source_checks, status_of
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.run import measured, run
from simcodesign.studies.validation.select import matcher, selected, text_of
from simcodesign.studies.validation.verdict import Verdict
from tests import ROOT

HEAD = """\
import os, signal, sys, time, warnings
from simcodesign.studies.validation.case import Case, Readings, Tolerance
from .shared import HALF

def case(name, measure, reading="both", expected=None, **rest):
    return Case(name, f"It is about {name}.", "a book, Table 4", "s", expected or {"x": 2.0}, HALF, reading, measure, **rest)

def says(**values):
    return lambda: Readings(values, values)
"""
SHARED = """\
from simcodesign.studies.validation.case import Tolerance
HALF = Tolerance("made up", absolute=0.5)
"""
GOOD = (
    HEAD
    + """
def chatty():
    print("to standard output")
    warnings.warn("beware")
    warnings.warn("beware")
    return Readings({"x": 2.0}, {"x": 2.25})

CASES = [
    case("toys/slow", says(x=2.0), full=True, printed=True, inputs={"rate": "chosen"}),
    case("toys/right", says(x=2.0), quick=True, printed=True),
    case("toys/chatty", chatty),
    case("toys/source", None, "source", own={"x": 2.0}, printed=True),
]
"""
)
BAD = (
    HEAD
    + """
def raises():
    raise ValueError("nothing <here>")

CASES = [
    case("other/wrong", says(x=3.0)),
    case("other/raises", raises),
    case("other/nothing", says()),
    case("other/nan", says(x=float("nan"))),
    case("other/lost", None, needs={"rate": None}),
    case("other/inconsistent", says(x=9.0), own={"x": 9.0}, quick=True, printed=True, inputs={"rate": "published"}),
]
"""
)


def folder_of(path: Path, **modules: str) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in ({"shared": SHARED} | modules).items():
        (path / f"{name}.py").write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("cases"), good=GOOD, bad=BAD, __main__="raise SystemExit(3)")


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> tuple[CaseOutcome, ...]:
    return run(load_cases(folder), folder=folder)


def toy(**changes: Any) -> Case:
    case = Case("toys/one", "One is one.", "a book", "s", {"a": 1.0}, Tolerance("made up"), "forecast", Readings)
    return replace(case, **changes)


# --- Finding and choosing ------------------------------------------------------------------------------------


def test_cases_are_found_by_module_and_in_their_order(folder: Path) -> None:
    names = [case.name.partition("/")[2] for case in load_cases(folder)]
    assert names == ["wrong", "raises", "nothing", "nan", "lost", "inconsistent", "slow", "right", "chatty", "source"]


@pytest.mark.parametrize(
    ("modules", "what"),
    [
        ({"a": GOOD, "b": GOOD}, "two cases of one name, in a and b, got 'toys/slow'"),
        ({"a": "CASES = [1]"}, "a.CASES holds what is no case, got 1"),
        ({"a": "CASES = 1"}, "a.CASES, got 1"),
        ({"a": "import no_such_module"}, "cases of a: ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_bad_modules_are_refused(tmp_path: Path, modules: dict[str, str], what: str) -> None:
    with pytest.raises(InputError) as caught:
        load_cases(folder_of(tmp_path, **modules))
    assert what in str(caught.value)


def test_a_folder_without_modules_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "cases.py").write_text("CASES = 1", encoding="utf-8")
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"no cases .*modules that define CASES"):
            load_cases(folder)


def test_folders_may_be_packages_and_need_not_be(tmp_path: Path) -> None:
    folder_of(
        tmp_path, __init__="HOW_MANY = 2", a="from . import HOW_MANY\nassert HOW_MANY == 2\n", _unlisted="CASES = 1"
    )
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "more.py").write_text(GOOD.replace("from .shared", "from ..shared"), encoding="utf-8")
    assert [case.name for case in load_cases(tmp_path)] == ["toys/slow", "toys/right", "toys/chatty", "toys/source"]


def test_full_and_quick_cases(folder: Path) -> None:
    def names(**options: bool) -> list[str]:
        return [case.name for case in selected(load_cases(folder), "toys", **options)]

    assert names() == ["toys/right", "toys/chatty", "toys/source"]
    assert names(full=True) == ["toys/slow", "toys/right", "toys/chatty", "toys/source"]
    assert names(quick=True) == ["toys/right"]


def test_nothing_selected_says_what_would_be(folder: Path) -> None:
    with pytest.raises(InputError, match=r"none of 10 cases is selected, got 'slow' \(allowed: 1 match, but only with"):
        selected(load_cases(folder), "slow")


#: An expression as a tree: a word, ("not", tree), or ("and" or "or", tree, tree).
Tree = Any
words = st.sampled_from(["seismic", "table 4", "cg", "a/b-c.d", "P=16", "Links", "10%"])
trees: st.SearchStrategy[Tree] = st.recursive(
    words,
    lambda inner: st.tuples(st.just("not"), inner) | st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    max_leaves=12,
)


def written(tree: Tree) -> str:
    match tree:
        case (operator, left, right):
            return f"({written(left)}) {operator} ({written(right)})"
        case ("not", inner):
            return f"not ({written(inner)})"
        case _:
            return str(tree)


def holds(tree: Tree, text: str) -> bool:
    match tree:
        case ("and", left, right):
            return holds(left, text) and holds(right, text)
        case ("or", left, right):
            return holds(left, text) or holds(right, text)
        case ("not", inner):
            return not holds(inner, text)
        case _:
            return str(tree).lower() in text.lower()


@given(trees, st.lists(words))
def test_expressions(tree: Tree, parts: list[str]) -> None:
    text = "\n".join(parts)
    assert matcher(written(tree))(text) == holds(tree, text)


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("abcd"), st.sampled_from(["and", "or"])), min_size=1, max_size=8),
    st.sets(st.sampled_from("abcd")),
)
def test_and_binds_before_or(terms: list[tuple[bool, str, str]], present: set[str]) -> None:
    """Without brackets, Python's own reading of the same expression."""
    expression = " ".join(f"{'not ' * negated}{word} {operator}" for negated, word, operator in terms).rsplit(" ", 1)[0]
    names = {word: word in present for word in "abcd"}
    assert matcher(expression)(" ".join(present)) == eval(expression, {"__builtins__": {}}, names)


@pytest.mark.parametrize(
    ("expression", "text", "expected"),
    [
        ("Table 4", "a book,\n table   4", True),
        ("'and'", "this and that", True),
        ("'and'", "this or that", False),
        ('"(a"', "f(a)", True),
        ("P(0)", "p", None),
        ("not not a", "a", True),
        ("notable", "notable", True),
        ("__import__", "a", False),
        ("µs", "12 µs", True),
        ("", "a", None),
        ("()", "a", None),
        ("a and", "a", None),
        ("or a", "a", None),
        ("(a", "a", None),
        ("a)", "a", None),
        ("a (b)", "a", None),
        ("'a", "a", None),
        ("not", "a", None),
        ("(" * 200 + "a" + ")" * 200, "a", None),
        ("not " * 200 + "a", "a", None),
        ("a" * 2000, "a", None),
    ],
)
def test_what_an_expression_may_be(expression: str, text: str, expected: bool | None) -> None:
    if expected is None:
        with pytest.raises(InputError, match=r"^-k: "):
            matcher(expression)
    else:
        assert matcher(expression)(text) is expected


def test_name_claim_and_source_are_looked_at() -> None:
    assert text_of(toy()) == "toys/one\nOne is one.\na book"


# --- Running -------------------------------------------------------------------------------------------------

VERDICTS = {
    "other/wrong": "differs",
    "other/raises": "differs",
    "other/nothing": "differs",
    "other/nan": "differs",
    "other/lost": "not recoverable",
    "other/inconsistent": "source inconsistent",
    "toys/slow": "reproduced under a chosen reading",
    "toys/right": "published number reproduced",
    "toys/chatty": "own consistency check",
    "toys/source": "published number reproduced",
}


def test_verdicts_in_the_order_of_the_cases(outcomes: tuple[CaseOutcome, ...]) -> None:
    assert {outcome.name: str(outcome.verdict) for outcome in outcomes} == VERDICTS
    assert [outcome.name for outcome in outcomes] == list(VERDICTS)


def test_only_what_is_reproduced_counts_as_that(outcomes: tuple[CaseOutcome, ...]) -> None:
    assert {str(verdict): count for verdict, count in counts(outcomes).items()} == {
        "published number reproduced": 2,
        "reproduced under a chosen reading": 1,
        "own consistency check": 1,
        "source inconsistent": 1,
        "not recoverable": 1,
        "not reproduced": 0,
        "differs": 4,
    }
    assert status_of(outcomes) == 1
    assert status_of([outcome for outcome in outcomes if outcome.verdict is not Verdict.DIFFERS]) == 0


def test_checks_of_the_source_alone_are_counted(outcomes: tuple[CaseOutcome, ...]) -> None:
    assert [outcome.name for outcome in outcomes if outcome.of_source] == ["toys/source"]
    assert source_checks(outcomes) == 1
    off = toy(reading="source", measure=None, own={"a": 2.0}, printed=True, inputs={"rate": "published"})
    off = measured(off)
    assert (off.of_source, str(off.verdict), source_checks([off])) == (True, "source inconsistent", 0)


def test_what_is_not_so_here_is_no_failure_while_there_is_a_reason() -> None:
    """But a reason for nothing is one, and so is a value that is none."""
    one = Readings({"a": 1.0})
    off = measured(toy(expected={"a": 7.0}, measure=lambda: one, because="it was another machine"))
    assert (str(off.verdict), off.in_short) == ("not reproduced", "not reproduced by -85.7 %: it was another machine")
    assert status_of([off]) == 0
    assert off.points[0].verdict is Verdict.NOT_REPRODUCED
    assert list(failure_lines(off))[1] == "  because it was another machine"
    right = measured(toy(measure=lambda: one, because="it was another machine"))
    assert (right.verdict, status_of([right])) == (Verdict.DIFFERS, 1)
    assert right.error == "reproduced, although the case gives a reason why not: it was another machine"
    assert measured(toy(measure=lambda: Readings({"a": math.nan}), because="x")).verdict is Verdict.DIFFERS
    assert measured(toy(measure=lambda: Readings(), because="x")).verdict is Verdict.DIFFERS


def test_a_verdict_in_short(outcomes: tuple[CaseOutcome, ...]) -> None:
    """What is missing, and that nothing of this system was tested, is said with the verdict."""
    short = {outcome.name: outcome.in_short for outcome in outcomes}
    assert short == VERDICTS | {
        "other/lost": "not recoverable: the source lacks rate",
        "toys/slow": "reproduced under a chosen reading: rate (chosen)",
        "toys/source": "published number reproduced (no reading tested)",
    }
    ours = measured(toy(own={"a": 2.0}, measure=lambda: Readings({"a": 2.0}), printed=True, inputs={"P": "assumed"}))
    assert ours.in_short == "not recoverable: the contradiction depends on P (assumed)"
    assert [outcome.to_dict()["in_short"] for outcome in outcomes] == list(short.values())


@pytest.mark.thorough
def test_parallel_is_serial(folder: Path, outcomes: tuple[CaseOutcome, ...]) -> None:
    calls: list[str] = []
    parallel = run(load_cases(folder), jobs=3, folder=folder, on_progress=lambda outcome: calls.append(outcome.name))
    assert sorted(calls) == sorted(VERDICTS)
    assert repr(without_time(parallel)) == repr(without_time(outcomes))  # nan is not equal to itself


def without_time(outcomes: tuple[CaseOutcome, ...]) -> list[CaseOutcome]:
    return [replace(outcome, seconds=0.0) for outcome in outcomes]


def test_an_error_says_what_and_where(outcomes: tuple[CaseOutcome, ...]) -> None:
    error = {outcome.name: outcome.error for outcome in outcomes}
    line = 1 + BAD.splitlines().index('    raise ValueError("nothing <here>")')
    assert error["other/raises"] == f"ValueError: nothing <here> (bad.py:{line})"
    assert error["other/wrong"] == ""


def test_warnings_are_notes_said_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (case,) = selected(load_cases(folder), "chatty")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = measured(case)
    assert outcome.notes == ("UserWarning: beware",)
    assert capsys.readouterr() == ("", "to standard output\n")


def test_a_value_that_nobody_expects_is_an_error() -> None:
    outcome = measured(toy(measure=lambda: Readings({"a": 1.0, "b": 1.0})))
    assert (outcome.verdict, outcome.error.partition(" (")[0]) == (
        Verdict.DIFFERS,
        "ValueError: forecast of what is not expected: ['b']",
    )


def test_the_worst_point_stands_for_a_case() -> None:
    expected: dict[Any, float] = {1: 1.0, 2: 2.0, 3: 0.0, 4: 4.0}
    case = toy(expected=expected, measure=lambda: Readings(expected | {2: 2.2, 4: 4.1}))
    outcome = measured(replace(case, tolerance=Tolerance("made up", absolute=0.15)))
    assert (outcome.worst.label, outcome.deviation(outcome.worst)) == (2, pytest.approx(0.1))
    outcome = measured(replace(case, tolerance=Tolerance("made up", absolute=0.5)))
    assert outcome.worst.label == 2


@pytest.mark.parametrize(
    ("sense", "named", "worst"),
    [
        ("equal", (1.1, 2.8, 1.0), 2),
        ("at_least", (1.1, 2.8, 3.0), 3),
        ("at_most", (0.9, 0.1, 1.0), 3),
        ("at_least", (2.0, 0.6, 0.8), 2),
    ],
)
def test_the_point_nearest_to_breaking_a_bound_stands_for_a_case(
    sense: str, named: tuple[float, ...], worst: int
) -> None:
    expected: dict[Any, float] = {1: 1.0, 2: 1.0, 3: 2.9 if sense == "at_least" and worst == 3 else 1.0}
    tolerance = Tolerance("made up", absolute=0.5, sense=sense)
    values = dict(zip(expected, named, strict=True))
    outcome = measured(toy(expected=expected, tolerance=tolerance, measure=lambda: Readings(values)))
    assert outcome.worst.label == worst


def test_the_reading_nearest_to_breaking_a_bound_is_shown() -> None:
    case = toy(reading="both", tolerance=Tolerance("made up", sense="at_least"))
    outcome = measured(replace(case, measure=lambda: Readings({"a": 9.0}, {"a": 1.25})))
    assert outcome.deviation(outcome.points[0]) == 0.25


DYING = (
    HEAD
    + """
def dies():
    os.kill(os.getpid(), signal.SIGKILL)

CASES = [case(f"toys/{k}", dies if k % 3 == 1 else says(x=2.0)) for k in range(6)]
"""
)


@pytest.mark.thorough
def test_a_process_that_dies_takes_only_its_case(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, dying=DYING)
    outcomes = run(load_cases(folder), jobs=2, folder=folder)
    assert [(outcome.verdict == "own consistency check", outcome.error) for outcome in outcomes] == [
        (True, ""),
        (False, "its process was ended by signal 9"),
        (True, ""),
    ] * 2


# --- The command ---------------------------------------------------------------------------------------------


def invoke(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(cli.app, ["validate", "--cases", str(folder), *arguments], env={"COLUMNS": "120"})


def test_the_table_and_the_status(folder: Path) -> None:
    result = invoke(folder, "-j", "1", "--full")
    assert result.exit_code == 1
    assert (
        "10 cases; published number reproduced: 2 (1 of them compare the source with itself), reproduced under a chosen "
        in result.stdout
    )
    assert "  x: expected 2 s, forecast 3 s, simulation 3 s (+50 %)" in result.stdout
    assert "other/raises differs (within 0.5: made up)\n  ValueError: nothing <here>" in result.stdout
    rows = [line for line in result.stdout.splitlines() if "/" in line and "differs (" not in line]
    assert [row.split("/")[1].split()[0] for row in rows] == [name.split("/")[1] for name in VERDICTS]


def test_nothing_differs(folder: Path) -> None:
    assert invoke(folder, "-j", "1", "-k", "toys or lost or inconsistent").exit_code == 0


def test_json_is_strict(folder: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    result = invoke(folder, "-j", "1", "--json")
    answer = json.loads(result.stdout, parse_constant=refuse)
    assert result.exit_code == 1
    assert [(case["name"], case["verdict"]) for case in answer["cases"]] == [
        item for item in VERDICTS.items() if item[0] != "toys/slow"
    ]
    assert answer["counts"] == {
        "published number reproduced": 2,
        "reproduced under a chosen reading": 0,
        "own consistency check": 1,
        "source inconsistent": 1,
        "not recoverable": 1,
        "not reproduced": 0,
        "differs": 4,
    }
    nan = next(case for case in answer["cases"] if case["name"] == "other/nan")
    assert nan["points"] == [
        {"label": "x", "expected": 2.0, "own": None, "forecast": None, "simulation": None, "verdict": "differs"}
    ]


def test_the_list(folder: Path) -> None:
    result = invoke(folder, "--list")
    assert result.exit_code == 0
    for part in ("toys/slow", "both (--full)", "It is about other/lost.", "a book, Table 4"):
        assert part in result.stdout
    listed = json.loads(invoke(folder, "--list", "--json", "--quick").stdout)["cases"]
    assert [case["name"] for case in listed] == ["other/inconsistent", "toys/right"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("-k", "nothing of the kind"),
        ("-k", "a and"),
        ("--quick", "--full"),
        ("-j", "0"),
        ("--write", "no/where.html"),
        ("--write", "page.pdf"),
        ("--cases", "nowhere"),
    ],
)
def test_bad_options(folder: Path, arguments: tuple[str, ...]) -> None:
    result = invoke(folder, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")


def test_the_package_of_cases_is_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "validation", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, "validate" in done.stdout) == (0, True)


SLEEPING = (
    HEAD
    + """
def sleeps():
    with open(os.environ["PIDS"], "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(600)

CASES = [case(f"toys/{k}", sleeps) for k in range(3)]
"""
)


MASKED = """
import multiprocessing, signal, sys
from simcodesign.core.processes import process_pool

def blocked(connection):
    connection.send(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    for _ in range(2):
        ours, theirs = context.Pipe()
        with process_pool.uninterrupted():
            process = context.Process(target=blocked, args=(theirs,))
            process.start()
        print(ours.recv())
        process.join()
"""


def test_no_process_hears_an_interrupt(tmp_path: Path) -> None:
    """Not even the first, before which the resource tracker of Python is started, which lets signals in again."""
    script = tmp_path / "masked.py"
    script.write_text(MASKED)
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == "True\nTrue\n"


@pytest.mark.thorough
def test_an_interrupt_leaves_no_process(tmp_path: Path) -> None:
    folder, pids = folder_of(tmp_path / "cases", sleeping=SLEEPING), tmp_path / "pids"
    process = subprocess.Popen(
        [sys.executable, "-m", "simcodesign", "validate", "--cases", str(folder), "-j", "2"],
        cwd=ROOT,
        env={**os.environ, "PIDS": str(pids)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        wait_until(lambda: pids.is_file() and len(pids.read_text().split()) == 2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("not in a minute")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
