"""The tables of docs/papers.md and its files in docs/tables: every case of a paper is in one row, and every count is right.

No case is run for that. A case that does not differ has the verdict that it has where the readings meet what they are to
meet, and that depends on the source alone. That quick cases do not differ is tested in ``tests/studies/validation``.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcodesign.cli import app
from simcodesign.comparison.attribution import relative_error
from simcodesign.studies.replication.output_analysis import interval
from simcodesign.studies.validation.case import Case, Readings
from simcodesign.studies.validation.registry import load_cases
from simcodesign.studies.validation.run import measured
from simcodesign.studies.validation.select import selected
from simcodesign.studies.validation.verdict import Verdict, points_of, verdict_of
from tests import ROOT
from tests.system.documentation import csv_rows
from validation.papers.seismic.disk_activity import NOISE, SEEDS, peak
from validation.papers.seismic.tables import PARTS, seconds
from validation.published.tables import number

TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
CASES = load_cases()
ROWS = csv_rows("papers")
IDS = re.compile(r"`([a-z0-9./-]+)`")
#: Columns of the table in short between the number of cases and that of full ones.
COLUMNS = (
    Verdict.REPRODUCED,
    Verdict.CHOSEN,
    Verdict.CONSISTENT,
    Verdict.INCONSISTENT,
    Verdict.NOT_RECOVERABLE,
    Verdict.NOT_REPRODUCED,
    Verdict.DIFFERS,
)


def tables(text: str, header: str) -> list[list[str]]:
    """Cells of the rows of all tables whose header begins like that."""
    rows: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(header):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|-"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def in_short() -> dict[str, list[str]]:
    """Title and further cells, by the word that selects the cases of a paper."""
    return {row[1].strip("`"): row for row in tables(TEXT, "| paper |")}


PAPERS = in_short()
#: Those of the first paper count accesses one by one.
WORDS = [pytest.param(word, marks=pytest.mark.thorough if word == "Calotoiu" else ()) for word in PAPERS]
SECTIONS = {
    word: next(part for part in TEXT.split("\n## ") if part.startswith(row[0][1:].partition("]")[0]))
    for word, row in PAPERS.items()
}


@cache
def cases_of(word: str) -> tuple[Case, ...]:
    """What ``validate --full -k WORD`` runs."""
    return selected(CASES, word, full=True)


@cache
def verdicts_of(word: str) -> dict[str, Verdict]:
    """Return the verdicts on the cases of a paper, by name."""
    return {case.name: verdict_where_readings_hold(case) for case in cases_of(word)}


def verdict_where_readings_hold(case: Case) -> Verdict:
    """The verdict on readings that meet what they are to meet: what is expected, or where its own equations lead."""
    if case.because:
        return Verdict.NOT_REPRODUCED
    own = {label: case.own.get(label, value) for label, value in case.expected.items()}
    met = {
        label: value if case.tolerance.holds(own[label], value) else own[label]
        for label, value in case.expected.items()
    }
    return verdict_of(points_of(case, Readings(forecast=met, simulation=met)))


def test_there_are_five_papers_with_a_section_each() -> None:
    assert len(SECTIONS) == 5
    sections = [part.partition("\n")[0] for part in TEXT.split("\n## ")[1:]]
    assert [row[0][1:].partition("]")[0] for row in PAPERS.values()] == sections[2:]


def test_every_case_of_the_papers_names_one_of_them() -> None:
    """All but those that compare readings with each other."""
    names = Counter(case.name for word in PAPERS for case in cases_of(word))
    assert max(names.values()) == 1
    loaded = {case.name for case in CASES}
    assert {*names} <= loaded
    apart = "requirements-simulated/no-effects/"
    groups = {name.partition("/")[0] for name in names} - {
        "calibration",
        "classics",
        "collectives",
        "locality",
        "point-to-point",
    }
    assert {name for name in loaded if name.partition("/")[0] in groups and not name.startswith(apart)} == {
        name for name in names if name.partition("/")[0] in groups
    }
    assert sum(name.startswith(apart) for name in loaded) == 5


@pytest.mark.thorough
@pytest.mark.parametrize("word", WORDS)
def test_counts_in_short(word: str) -> None:
    cases = cases_of(word)
    verdicts = Counter(verdicts_of(word).values())
    counts = [len(cases), *(verdicts[verdict] for verdict in COLUMNS), sum(case.full for case in cases)]
    assert [int(cell) for cell in PAPERS[word][2:]] == counts


@pytest.mark.parametrize("word", WORDS)
def test_every_case_stands_in_one_row(word: str) -> None:
    stands = Counter[str]()
    assert {row["paper"] for row in ROWS} == {*PAPERS}
    for row in (row for row in ROWS if row["paper"] == word):
        meant = {one: cases_with(word, one, row["verdict"]) for one in row["cases"].split(", ")}
        assert all(meant.values()), row
        every = [name for some in meant.values() for name in some]
        assert len(every) == len({*every}) == int(row["number"]), (row, len(every))
        stands.update(every)
    assert {name for name, count in stands.items() if count > 1} == set()
    assert verdicts_of(word).keys() - stands.keys() == set()


def cases_with(word: str, beginning: str, verdict: str) -> list[str]:
    """Of those that ``-k 'WORD and BEGINNING'`` selects, the ones of this verdict; all names must begin so."""
    names = [case.name for case in selected(cases_of(word), beginning, full=True)]
    assert all(name.startswith(beginning) for name in names), beginning
    return [name for name in names if verdicts_of(word)[name] == verdict]


@pytest.mark.parametrize("word", WORDS)
def test_contradictions_are_those_of_the_cases(word: str) -> None:
    by_name = {case.name: case for case in cases_of(word)}
    rows = [[*row.values()] for row in csv_rows("contradictions") if row["paper"] == word]
    inconsistent = {name for name, verdict in verdicts_of(word).items() if verdict is Verdict.INCONSISTENT}
    assert {row[1] for row in rows} <= inconsistent
    assert bool(rows) == bool(inconsistent)
    for _, name, label, printed, own, _ in rows:
        case = by_name[name]
        (key,) = [key for key in case.expected if str(key) == label]
        assert not case.tolerance.holds(case.own[key], case.expected[key]), name
        assert case.expected[key] == pytest.approx(float(printed), rel=1e-9), name
        assert f"{case.own[key]:.{digits(own)}g}" == f"{float(own):.{digits(own)}g}", (name, case.own[key])


def digits(text: str) -> int:
    """Significant digits of a printed number; at least one."""
    return max(len(text.lower().partition("e")[0].replace(".", "").lstrip("0")), 1)


def test_times_of_the_test_set() -> None:
    rows = [row.values() for row in csv_rows("seismic-times")]
    assert len(rows) == 3
    columns = {"stacking": "phase2", "depth-migration": "phase4"}
    short = {component: part for part, component in PARTS.items()} | {"disk": "io"}
    for what, shown_s, forecast_s, deviation in rows:
        component, _, phase = what.partition(" of ")
        measured_s = number("seismic-table-3", columns[phase], component=short[component])
        computed_s = seconds("forecast", "test", 16, columns[phase], component)
        assert (float(shown_s), f"{computed_s:.3g}") == (measured_s, forecast_s)
        assert f"{100 * relative_error(computed_s, measured_s):.0f} %".replace("-", "\N{MINUS SIGN}") == deviation


@pytest.mark.thorough
def test_processors_at_the_disk() -> None:
    """Means and intervals of the table of Figure 3, over the seeds of the cases."""
    for phase, _, *cells in (row.values() for row in csv_rows("disk-activity")):
        for noise, cell in zip(NOISE, cells, strict=True):
            found = interval([peak(int(phase), noise, seed) for seed in SEEDS])
            shown = f"{found.mean:.3g}" + ("" if found.same else f" ({found.low:.3g} to {found.high:.3g})")
            assert shown == cell, (phase, noise)


def test_what_is_said_to_be_here_is_here() -> None:
    for name in re.findall(r"packages? `([\w/]+)`", TEXT):
        assert (ROOT / "simcodesign" / name / "__init__.py").exists(), name
    for words, folder in (("workloads?", "workloads"), ("machines?", "topologies")):
        for names in re.findall(rf"\b{words} ((?:`[\w-]+`(?:, )?)+)", TEXT):
            for name in IDS.findall(names):
                assert (ROOT / folder / f"{name}.yaml").exists(), name


def test_links_lead_to_pages_and_their_headings() -> None:
    for target, anchor in re.findall(r"\]\(([\w-]*\.md)?(?:#([\w-]+))?\)", TEXT):
        page = ROOT / "docs" / target if target else ROOT / "docs" / "papers.md"
        headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, (target, anchor)


@pytest.mark.thorough
@pytest.mark.parametrize("command", re.findall(r"^\$ simcodesign (.+)$", TEXT, re.MULTILINE))
def test_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = [] if "--list" in command else ["-j", "1"]
    result = CliRunner().invoke(app, [*shlex.split(command), *options])
    assert result.exit_code == 0, result.output
    assert "aspen/rack/" in result.output or "aspen/sensor/" in result.output


@pytest.mark.thorough
@pytest.mark.parametrize(
    "expression", ["APMT and hardware-counters", "Spafford and (sensor or fft or atoms)", "Calotoiu and table-7"]
)
def test_verdicts_are_those_of_runs(expression: str) -> None:
    for case in selected(CASES, expression, full=True):
        assert measured(case).verdict is verdict_where_readings_hold(case), case.name
