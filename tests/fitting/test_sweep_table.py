"""Tables of sweeps as measurements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simcodesign.core.errors import InputError
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.formats import read_measurements
from simcodesign.fitting.weights import block_of

HEAD = "point,P,network.topology.kind,seed,forecast_makespan_s,simulated_makespan_s,simulated_disk_s,ratio,formula_x_s,error\n"
ROWS = [
    (0, 2.0, "mesh", 1, 0.5, 1.0),
    (1, 2.0, "mesh", 2, 0.5, 1.5),
    (2, 4.0, "mesh", 1, 0.25, 0.75),
    (3, 4.0, "mesh", 2, 0.25, None),
    (4, 2.0, "torus", 1, 0.5, 2.0),
    (5, 2.0, "torus", 2, 0.5, 2.5),
    (6, 4.0, "torus", 1, 0.25, 0.5),
    (7, 4.0, "torus", 2, 0.25, 0.25),
]


def text() -> str:
    rows = [
        ",".join("" if cell is None else str(cell) for cell in row)
        + f",,{row[4] / (row[5] or 1)},0.125,{'' if row[5] else 'x'}"
        for row in ROWS
    ]
    return HEAD + "\n".join(rows) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.csv"
    path.write_text(text(), encoding="utf-8")
    return path


def check(measurements: Measurements) -> None:
    assert measurements.parameters == ("P",)
    assert {*measurements.metrics} == {
        "forecast_makespan_s",
        "simulated_makespan_s",
        "ratio",
    }  # no time at disks
    mesh = measurements.select(["network.topology.kind=mesh"], ["simulated_makespan_s"])
    assert mesh.points.tolist() == [[2.0], [4.0]]
    assert np.array_equal(mesh.values, [[[1.0, 1.5], [0.75, np.nan]]], equal_nan=True)
    torus = measurements.select(["network.topology.kind=torus"], ["forecast_makespan_s"])
    assert torus.values.tolist() == [[[0.5, 0.5], [0.25, 0.25]]]


def test_csv(file: Path) -> None:
    check(read_measurements(file))
    check(read_measurements(file, "sweep"))


def test_columns_of_formulas_are_neither_axes_nor_measurements(file: Path) -> None:
    table = pd.read_csv(file)
    table.insert(len(table.columns) - 1, "formula_mine_s", 1.0)
    table.insert(len(table.columns) - 1, "formula_mine_error", 0.5)
    table.insert(len(table.columns) - 1, "formula_s", 2.0)
    table.to_csv(file, index=False)
    check(read_measurements(file))


def test_parquet(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pd.read_csv(file).to_parquet(tmp_path / "sweep.parquet")
    check(read_measurements(tmp_path / "sweep.parquet"))


def test_missing_results_weigh_nothing(file: Path) -> None:
    """A point that failed is left out: the one result that its other seed has counts half."""
    mesh = read_measurements(file).select(["network.topology.kind=mesh"], ["simulated_makespan_s"])
    block = block_of(mesh.means, mesh.counts, "absolute", True)
    assert (block.root[0] ** 2 / block.root[0, 0] ** 2).tolist() == pytest.approx([1.0, 0.5])


def test_a_failed_point_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "sweep.csv"
    path.write_text("point,P,simulated_makespan_s,error\n0,2,1.0,\n1,4,,no room\n2,8,3,\n", encoding="utf-8")
    measurements = read_measurements(path)
    assert measurements.points.tolist() == [[2.0], [4.0], [8.0]]
    assert measurements.counts.tolist() == [[1, 0, 1]]


@pytest.mark.parametrize(
    ("old", "new", "place", "word"),
    [
        ("0.75", "0,75", "sweep.csv:4", "wrong length"),
        ("0.75", "fast", "sweep.csv:4: column simulated_makespan_s", "not a number"),
        ("0.75", "inf", "sweep.csv:4: column simulated_makespan_s", "not a number"),
        ("4.0,mesh,1", "many,mesh,1", "sweep.csv:4: column P", "not a number"),
        ("4.0,mesh,1", ",mesh,1", "sweep.csv:4: column P", "not a number"),
        ("4.0,mesh,1", "-4.0,mesh,1", "sweep.csv:4: column P", "-4"),
        ("2,4.0,mesh,1", "2,4.0,mesh,2", "", "twice"),
        ("seed", "P", "sweep.csv:1", "two columns with the same name"),
        ("seed", "metric", "sweep.csv", "metric"),
    ],
)
def test_damaged(tmp_path: Path, old: str, new: str, place: str, word: str) -> None:
    path = tmp_path / "sweep.csv"
    path.write_text(text().replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_measurements(path)
    assert word in str(raised.value)
    assert place in str(raised.value)


@pytest.mark.parametrize("content", [HEAD, HEAD + "0,2,mesh,1,,,,,,failed\n"])
def test_without_results(tmp_path: Path, content: str) -> None:
    path = tmp_path / "sweep.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="no r"):
        read_measurements(path)


def test_another_table_is_no_sweep(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("point,value\n2,1\n4,2\n", encoding="utf-8")
    assert read_measurements(path).parameters == ("point",)
    with pytest.raises(InputError, match="columns of a sweep"):
        read_measurements(path, "sweep")
