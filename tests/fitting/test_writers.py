"""What is written reads back the same, and a file that stood there before is replaced whole or not at all."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.files.formula_cells import escaped, unescaped
from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.formats import read_measurements
from simcodesign.fitting.readers.writers import write_csv, write_extrap_json
from simcodesign.studies.sweep.table import write_table
from tests import examples

Series = dict[tuple[str, str], dict[tuple[float, ...], list[float]]]

NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=8) | st.text(
    "=+-@\t\r'1.a", max_size=4
)
PARAMETERS = st.lists(st.sampled_from(["p", "n", "x y", "größe", "a,b", "n_i"]), min_size=1, max_size=4, unique=True)
COORDINATES = st.sampled_from([1.0, 2.0, 0.1, 1e-3, 16.0, 1e6, 1 / 3]) | st.floats(1e-300, 1e300)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def as_series(measured: Measurements) -> Series:
    """What was measured, whatever the order of series and points: the values that are there, in order."""
    return {
        pair: {
            tuple(point): [float(value) for value in measured.values[row, at] if not math.isnan(value)]
            for at, point in enumerate(measured.points.tolist())
        }
        for row, pair in enumerate(zip(measured.regions, measured.metrics, strict=True))
    }


@st.composite
def measurements(draw: st.DrawFn) -> Measurements:
    parameters = draw(PARAMETERS)
    one = st.tuples(*[COORDINATES] * len(parameters))
    points = draw(st.lists(one, min_size=1, max_size=4, unique=True))
    pairs = draw(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=4, unique=True))
    repetitions = draw(st.integers(1, 3))
    entries = st.lists(FINITE | st.just(math.nan), min_size=repetitions, max_size=repetitions)
    values = np.array([[draw(entries) for _ in points] for _ in pairs])
    values[:, 0, 0] = [draw(FINITE) for _ in pairs]
    regions, metrics = zip(*pairs, strict=True)
    return Measurements(tuple(parameters), np.array(points), regions, metrics, values)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


def test_no_cell_is_a_formula(folder: Path) -> None:
    """Whatever a spreadsheet program would run; a number is none."""
    texts = ("=1+1", "+cmd", "-cmd", "@SUM(A1)", "\t=1", "\r=1", "'=1", "-1.5", "'-1.5", "'quoted'", "a=b")
    measured = Measurements(("p",), np.array([[1.0]]), texts, texts, np.ones((len(texts), 1, 1)))
    write_csv(measured, folder / "a.csv")
    with (folder / "a.csv").open(newline="") as file:
        cells = [row[1] for row in csv.reader(file)][1:]
    assert [cell for cell in cells if cell[0] in "=+-@\t\r"] == ["-1.5"]
    assert read_measurements(folder / "a.csv").regions == texts
    on_one_line = [text for text in texts if "\r" not in text]
    write_table(pd.DataFrame({"=a": on_one_line, "value": [-1.5] * len(on_one_line)}), folder / "b.csv")
    written = pd.read_csv(folder / "b.csv", dtype=str)
    assert written.columns.tolist() == ["'=a", "value"]
    assert set(written["value"]) == {"-1.5"}
    assert all(cell[0] not in "=+-@\t\r" for cell in written["'=a"] if cell != "-1.5")


@given(st.text("=+-@\t\r' 1.e5a", max_size=6) | st.text(max_size=5))
def test_every_text_comes_back_out_of_its_cell(text: str) -> None:
    cell = escaped(text)
    assert unescaped(cell) == text
    assert cell[:1] not in tuple("=+-@\t\r") or NUMBER.fullmatch(cell)


@settings(max_examples=examples(60))
@given(measured=measurements())
def test_a_table_reads_back_the_same(folder: Path, measured: Measurements) -> None:
    write_csv(measured, folder / "a.csv")
    result = read_measurements(folder / "a.csv")
    assert result.parameters == measured.parameters
    assert as_series(result) == as_series(measured)


@given(measured=measurements())
def test_json_reads_back_the_same(folder: Path, measured: Measurements) -> None:
    write_extrap_json(measured, folder / "a.json")
    result = read_measurements(folder / "a.json", partial=True)
    assert result.parameters == measured.parameters
    # A point that no series has does not come back.
    there = {point for points in as_series(measured).values() for point, values in points.items() if values}
    kept = {
        pair: {point: values for point, values in points.items() if point in there}
        for pair, points in as_series(measured).items()
    }
    assert as_series(result) == kept


SMALL = Measurements(
    ("p",), [[2.0], [4.5]], ("a", "b"), ("t", "t"), [[[1.0, 2.0], [3.0, math.nan]], [[4.0, 5.0], [6.0, 7.0]]]
)


def test_the_table_is_the_one_that_is_described(tmp_path: Path) -> None:
    write_csv(SMALL, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[:4] == [
        ["p", "region", "metric", "value", "repetition"],
        ["2", "a", "t", "1.0", "1"],
        ["2", "a", "t", "2.0", "2"],
        ["4.5", "a", "t", "3.0", "1"],
    ]


def test_the_json_is_that_of_extrap(tmp_path: Path) -> None:
    write_extrap_json(SMALL, tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["parameters"] == ["p"]
    assert content["measurements"]["a"] == {"t": [{"point": [2], "values": [1, 2]}, {"point": [4.5], "values": [3]}]}


def test_a_parameter_called_as_a_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="called as another column"):
        write_csv(Measurements(("Value",), [[1.0]], ("a",), ("t",), [[[1.0]]]), tmp_path / "a.csv")


def test_what_cannot_be_written_leaves_all_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("before")
    broken = Measurements(("p",), [[1.0]], ("\ud800",), ("t",), [[[1.0]]])
    with pytest.raises(InputError, match="cannot be written: a name is no valid text"):
        write_csv(broken, path)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_that_there_is_not_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write_extrap_json(SMALL, tmp_path / "none" / "a.json")
