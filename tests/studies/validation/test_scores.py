"""Scores of predictions, held against errors by hand, and the rows of the benchmark."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path

import pytest

from simcodesign import cli
from simcodesign.core.errors import InputError
from simcodesign.studies.validation.scores import (
    CALIBRATION,
    EVIDENCE,
    ROLES,
    MeasuredRow,
    read_predictions,
    role_of,
    rows_text,
    scores,
)
from validation.measured import fugaku_runs
from validation.measured.benchmark import rows

ROWS = [
    MeasuredRow("m/op/1", "m/op", {"bytes": 1}, 1.0, EVIDENCE),
    MeasuredRow("m/op/2", "m/op", {"bytes": 2}, 2.0, EVIDENCE),
    MeasuredRow("m/op/3", "m/op", {"bytes": 3}, 4.0, EVIDENCE),
    MeasuredRow("m/op/4", "m/op", {"bytes": 4}, 4.0, EVIDENCE),
    MeasuredRow("n/op/1", "n/op", {"ranks": 1}, 5.0, CALIBRATION),
]


def test_a_score_by_hand() -> None:
    """Ratios 2, 1/2 and 1.25: errors 1, 0.5 and 0.25, whose quartiles are 0.375 and 0.75."""
    found = {(one.group, one.role): one for one in scores(ROWS, {"m/op/1": 2.0, "m/op/2": 1.0, "m/op/3": 5.0})}
    one = found["m/op", EVIDENCE]
    assert (one.rows, one.predicted, one.missing, one.worst_row) == (4, 3, 1, "m/op/1")
    errors = (one.lower_quartile_error, one.median_error, one.upper_quartile_error, one.worst_error)
    assert errors == pytest.approx((0.375, 0.5, 0.75, 1.0))
    assert one.mean_ratio == pytest.approx(1.25 ** (1 / 3))
    assert found["n/op", CALIBRATION].missing == 1
    assert {*found} == {("all", EVIDENCE), ("all", CALIBRATION), ("m/op", EVIDENCE), ("n/op", CALIBRATION)}


def test_the_roles_are_the_stated_rule() -> None:
    """By the words of docs/benchmark.md, without the function."""
    for row in rows():
        digest = hashlib.sha256(f"formulas against machines 1:{row.id}".encode()).hexdigest()
        place = int(digest[:16], 16) / 2**64
        by_hash = "calibration" if place < 0.2 else "development" if place < 0.5 else "evidence"
        assert row.role in (by_hash, CALIBRATION)
        assert role_of(row.id) == by_hash
        assert role_of(row.id, calibrates=True) == CALIBRATION


def test_ids_are_different_and_every_role_has_rows() -> None:
    assert len({row.id for row in rows()}) == len(rows()) == 876
    assert {row.role for row in rows()} == {*ROLES}
    assert all(row.seconds > 0 and row.id.startswith(f"{row.group}/") for row in rows())


def test_rows_of_constants_are_for_calibration() -> None:
    roles = {row.id: row.role for row in rows()}
    used = [one for one in fugaku_runs.rows() if one.is_calibration]
    assert len(used) > 40
    for one in used:
        assert roles[f"fugaku/{one.operation}/{one.algorithm}/{one.shape}/{one.size_bytes}"] == CALIBRATION
    others = ["a100/all-reduce/8/1048576", "a100/all-reduce/8/1073741824", "taurus/send/2", "miriel/both-ways/2"]
    others += ["opal/lulesh/main/27", "miriel/ping-pong/4"]
    assert {roles[row_id] for row_id in others} == {CALIBRATION}


def test_seconds_are_those_of_the_tables() -> None:
    """Typed from the published tables, in their units: us, ms and s."""
    seconds = {row.id: row.seconds for row in rows()}
    assert seconds["fugaku/broadcast/binary-tree/2x2x2/4"] == pytest.approx(7.4245e-6)
    assert seconds["optimized3.36/all-to-all/36/65536"] == pytest.approx(713.32e-6)
    assert seconds["gb200/all-reduce/1440/17179869184"] == pytest.approx(84625e-6)
    assert seconds["miriel/ping-pong/5"] == pytest.approx(16.17e-6)
    assert seconds["miriel/send/4"] == pytest.approx(5.74e-3)
    assert seconds["dahu/linpack/2018-10/500000"] == 3394.2
    assert seconds["opal/lulesh/main/27"] == 47.24
    assert seconds["selene/gpt-step/sc21/1.7B-32-t1-p1-b16"] == 3.528


def test_evidence_is_written_without_its_times() -> None:
    for row in csv.DictReader(io.StringIO(rows_text(ROWS))):
        assert (row["measured_s"] == "") == (row["role"] == EVIDENCE)
        assert row["seconds"] == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("id,time\n", "columns seconds, got 0"),
        ("id,seconds\nm/op/9,1\n", "p.csv:2: column id: no measured row has this id, got 'm/op/9'"),
        ("id,seconds\nm/op/1,1\nm/op/1,2\n", "p.csv:3: column id: an id that occurs twice"),
        ("id,seconds\nm/op/1,0\n", "p.csv:2: column seconds: a predicted time, got '0'"),
        ("id,seconds\nm/op/1,fast\n", "p.csv:2: column seconds: not a number"),
        ("id,seconds\nm/op/1,1,2\n", "a row of wrong length"),
    ],
)
def test_bad_predictions_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read_predictions(path, ROWS)


def test_empty_seconds_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("# of a tool\nid,by,seconds\nm/op/1,me,\nm/op/2,me,3\n")
    assert read_predictions(path, ROWS) == {"m/op/2": 3.0}


def test_the_written_rows_can_be_filled_and_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the measured time of each row with a time is an error of 1 in calibration and development."""
    path = tmp_path / "rows.csv"
    assert cli.main(["score", "--write", f"rows:{path}"]) == 0
    with path.open() as file:
        given = list(csv.DictReader(file))
    lines = [f"{row['id']},{2 * float(row['measured_s'])!r}" for row in given if row["measured_s"]]
    path.write_text("\n".join(["id,seconds", *lines]))
    capsys.readouterr()
    assert cli.main(["score", str(path), "--json"]) == 0
    for one in json.loads(capsys.readouterr().out)["scores"]:
        is_evidence = one["role"] == EVIDENCE
        assert one["missing"] == (one["rows"] if is_evidence else 0)
        assert one["median_error"] is None if is_evidence else one["median_error"] == pytest.approx(1)
