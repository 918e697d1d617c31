"""The tidy table of a sweep: one row per point, its axes first, then its results; as CSV and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing, replacing_text
from simcodesign.core.files.formula_cells import escaped_frame
from simcodesign.studies.sweep.points import PointResult

#: Columns of the number of a point, and of the reason why it has no results.
NUMBER, ERROR = "point", "error"
SUFFIXES = (".csv", ".parquet")
#: Behind the name of a table: its description.
META_ENDING = ".meta.json"


def table_of(rows: Iterable[PointResult]) -> pd.DataFrame:
    """``point``, the axes, all results (NaN where a point has none), ``error``: sorted by number.

    Equal rows give equal tables, in whatever order they come.
    """
    ordered = sorted(rows, key=lambda row: row.number)
    axes = list(dict.fromkeys(name for row in ordered for name in row.axes))
    results = list(dict.fromkeys(name for row in ordered for name in row.results))
    columns: dict[str, object] = {NUMBER: pd.Series([row.number for row in ordered], dtype="int64")}
    for name in axes:
        columns[name] = column_of([row.axes.get(name, float("nan")) for row in ordered])
    for name in results:
        columns[name] = pd.Series([row.results.get(name, float("nan")) for row in ordered], dtype="float64")
    columns[ERROR] = pd.Series([row.reason for row in ordered], dtype="str")
    return pd.DataFrame(columns)


def column_of(values: Sequence[float | str]) -> pd.Series:
    """Numbers, or texts if any value is one."""
    if any(isinstance(value, str) for value in values):
        return pd.Series([value if isinstance(value, str) else repr(value) for value in values], dtype="str")
    return pd.Series(values, dtype="float64")


def check_table_file(path: str | Path) -> None:
    """InputError for a file that ``write_table`` would not write, before any work is done."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError("unknown format of a table", Place(str(path)), value=path.suffix, allowed=", ".join(SUFFIXES))
    if path.suffix.lower() == ".parquet":
        _load_pyarrow()
    if path.is_dir() or not path.parent.is_dir():
        raise InputError("cannot be written", Place(str(path)), allowed="a file in an existing folder")


def write_table(table: pd.DataFrame, path: str | Path, meta: Mapping[str, object] | None = None) -> None:
    """Write the table whole or not at all: CSV (numbers that read back exactly) or Parquet, by the suffix.

    Write next to it, in ``FILE.meta.json``, what all of its rows have in common (``meta``: of the sweep), unless that
    is nothing.

    InputError for another suffix, if it cannot be written, and for Parquet without PyArrow.
    """
    path = Path(path)
    check_table_file(path)
    with replacing(path) as file:
        if path.suffix.lower() == ".csv":
            escaped_frame(table).to_csv(file, index=False, lineterminator="\n")
        else:
            table.to_parquet(file, index=False, engine="pyarrow")
    if meta:
        shown = {name: value for name, value in meta.items() if not name.endswith("content")}
        with replacing_text(meta_file(path)) as text:
            text.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")


def meta_file(path: Path) -> Path:
    """Path of the description of a table."""
    return path.with_name(f"{path.name}{META_ENDING}")


def _load_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401  optional dependency
    except ImportError:
        what = "PyArrow is not installed"
        raise InputError(what, allowed="pip install 'simcodesign[parquet]', or a .csv file") from None


def read_s(table: pd.DataFrame, reading: str) -> NDArray[np.float64] | None:
    """Return the makespan by a reading at each row, or the response time of an open stream.

    None if it was not asked.
    """
    for name in ("response_s", "makespan_s"):
        if (column := f"{reading}_{name}") in table.columns:
            return table[column].to_numpy(dtype=np.float64)
    return None
