"""The tidy table and its files."""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.studies.sweep.points import PointResult
from simcodesign.studies.sweep.table import check_table_file, table_of, write_table
from tests import examples

ROWS = [
    PointResult(1, "a" * 32, {"kind": "mesh", "P": 2.0}, {"t": 0.1, "u": 3.0}),
    PointResult(0, "b" * 32, {"kind": "torus", "P": 4.0}, {"t": 1 / 3}),
    PointResult(2, "c" * 32, {"kind": "mesh", "P": 300.0}, {}, 'too many, "ranks"\nof all'),
]


def test_a_table_has_axes_then_results_then_errors() -> None:
    table = table_of(ROWS)
    assert table.columns.tolist() == ["point", "kind", "P", "t", "u", "error"]
    assert table["point"].tolist() == [0, 1, 2]
    assert table["kind"].tolist() == ["torus", "mesh", "mesh"]
    assert table["t"].tolist()[:2] == [1 / 3, 0.1]
    assert np.isnan(table["u"].to_numpy()[[0, 2]]).all()


def test_no_rows_are_an_empty_table() -> None:
    assert table_of([]).columns.tolist() == ["point", "error"]


def test_a_mixed_axis_is_text() -> None:
    rows = [PointResult(0, "", {"shape": "[4, 4]"}, {}), PointResult(1, "", {"shape": 16.0}, {})]
    assert table_of(rows)["shape"].tolist() == ["[4, 4]", "16.0"]


@settings(deadline=None, max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=9))
def test_numbers_in_csv_read_back_exactly(tmp_path: Path, values: list[float]) -> None:
    path = tmp_path / "a.csv"
    write_table(table_of(PointResult(at, "", {"x": value}, {"y": -value}) for at, value in enumerate(values)), path)
    with path.open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [float(row["x"]) for row in read] == values
    assert [float(row["y"]) for row in read] == [-value for value in values]


def test_texts_in_csv_read_back(tmp_path: Path) -> None:
    write_table(table_of(ROWS), tmp_path / "a.csv")
    read = pd.read_csv(tmp_path / "a.csv", keep_default_na=False)
    assert read["error"].tolist() == ["", "", ROWS[2].reason]
    assert (tmp_path / "a.csv").read_bytes().startswith(b"point,kind,P,t,u,error\n0,torus,4.0,")


def test_parquet_reads_back(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = table_of(ROWS)
    write_table(table, tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), table, check_dtype=False)


def test_parquet_without_pyarrow_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"pip install 'simcodesign\[parquet\]'"):
        check_table_file(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["a.txt", "a", "a.csv.gz", "none/a.csv"])
def test_files_that_cannot_be_written_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="allowed: "):
        check_table_file(tmp_path / name)
    with pytest.raises(InputError):
        write_table(table_of(ROWS), tmp_path / name)


def test_nan_is_an_empty_cell(tmp_path: Path) -> None:
    write_table(table_of([PointResult(0, "", {}, {"t": math.nan, "u": 1.0})]), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "point,t,u,error\n0,,1.0,\n"
