"""The error on evidence: pages show what ``validation.measured.evidence`` computes, and its files are computed again."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from statistics import median

import pytest

from tests import ROOT
from validation.measured import evidence as module
from validation.measured.benchmark import rows
from validation.measured.evidence import COLUMNS, NORMAL_FORM, OWN, Group, cell_of, evidence, group_errors
from validation.measured.scores import TEXTBOOK
from validation.measured.small_runs import anchor_of, smaller

TABLES = ROOT / "docs" / "tables"
LINES = module.read_lines(TABLES / module.ROWS_FILE)
ERRORS = group_errors(LINES)
FUGAKU = (ROOT / "docs" / "fugaku.md").read_text(encoding="utf-8")
#: Systems whose readings take seconds, and of Fugaku the small shapes.
QUICK = ("a100", "gb200", "miriel", "taurus", "graphene", "optimized3.36", "opal")


def is_quick(line: dict[str, str]) -> bool:
    return line["system"] in QUICK or line["at"] == "2x2x2"


def check(lines: Sequence[dict[str, str]], columns: Sequence[str]) -> None:
    by_id = {row.id: row for row in evidence()}
    for line in lines:
        for column in columns:
            shown, computed = line[f"{column.replace(' ', '_')}_s"], cell_of(by_id[line["id"]], column)
            assert bool(shown) == bool(computed), (line["id"], column)
            if shown:
                assert float(shown) == pytest.approx(float(computed), rel=2e-5), (line["id"], column)


def test_the_file_has_every_row_of_evidence_and_its_measured_time() -> None:
    assert [line["id"] for line in LINES] == [row.id for row in evidence()]
    for line, row in zip(LINES, evidence(), strict=True):
        assert Group(line["system"], line["operation"], line["at"]) == Group.of(row)
        assert float(line["measured_s"]) == pytest.approx(row.seconds, rel=1e-8)


def test_cheap_columns_are_computed_again() -> None:
    check([line for line in LINES if not line["operation"].startswith("gpt")], [TEXTBOOK, NORMAL_FORM])


def test_quick_rows_are_computed_again() -> None:
    lines = [line for line in LINES if is_quick(line)]
    assert len(lines) > 100
    check(lines, COLUMNS)


@pytest.mark.thorough
def test_all_rows_are_computed_again() -> None:
    check([line for line in LINES if not is_quick(line)], COLUMNS)


def test_the_first_table_of_the_page_of_fugaku_has_the_groups() -> None:
    assert module.FUGAKU_FILE in FUGAKU.split("```{csv-table}")[1].partition("```")[0]


def test_files_of_groups_and_of_calibration() -> None:
    for name, lines in (
        (module.GROUPS_FILE, module.groups_lines(ERRORS)),
        (module.MACHINES_FILE, module.machines_lines(ERRORS)),
        (module.FUGAKU_FILE, module.fugaku_lines(ERRORS)),
        (module.CALIBRATION_FILE, module.calibration_lines()),
    ):
        with (TABLES / name).open(encoding="utf-8", newline="") as file:
            assert [*csv.reader(file)] == lines


def test_the_sentence_about_the_goal() -> None:
    known = [columns["simulation"] for group, columns in ERRORS.items() if group.system == "fugaku"]
    named = [group for group in ERRORS if group.system == "fugaku" and not group.operation.endswith(OWN)]
    reached = sum(ERRORS[group]["simulation"].median <= 0.1 for group in named)  # type: ignore[union-attr]
    assert len(known) == 12
    assert f"{reached} of {len(named)} groups" in FUGAKU

    def over_rows(column: str, own: bool) -> str:
        errors = [
            abs(float(line[f"{column}_s"]) / float(line["measured_s"]) - 1)
            for line in LINES
            if line["system"] == "fugaku" and line[f"{column}_s"] and line["operation"].endswith(OWN) == own
        ]
        return f"{100 * median(errors):.1f} %"

    shown = re.findall(r"(\d+\.\d %)", FUGAKU.split("The goal is")[1].split("\n\n")[0])
    assert shown == [over_rows(name, False) for name in ("simulation", "forecast", "textbook")] + [
        over_rows("simulation", True)
    ]


def test_predictions_from_small_runs_see_no_evidence_and_fewer_ranks() -> None:
    for row in evidence():
        for other in smaller(row):
            assert other.role != "evidence"
            assert other.group == row.group
            assert int(other.values["ranks"]) < int(row.values["ranks"])
            assert other.values.get("algorithm") == row.values.get("algorithm")
            assert other.values.get("region") == row.values.get("region")
        anchor = anchor_of(row)
        if anchor is not None and "bytes" in row.values:
            assert 1 / 8 <= int(anchor.values["bytes"]) / int(row.values["bytes"]) <= 8


def test_rows_that_chose_constants_are_never_evidence() -> None:
    chose = [row for row in rows() if row.calibrates]
    assert len(chose) > 100
    assert {row.role for row in chose} == {"calibration"}
