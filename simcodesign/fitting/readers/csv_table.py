"""Tidy tables of measurements in CSV; columns as in ``tidy_table``, the dialect as in ``text_files.CsvRows``.

pandas parses tables that it reads as ``CsvRows`` does, which is fast. Every other table, and every error, is left to
``CsvRows``, which handles comments, decimal commas and lines.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.formula_cells import unescaped
from simcodesign.core.files.input_files import encoding_of, open_bytes, open_text
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.table_titles import VALUE, VALUES, split_title
from simcodesign.core.files.text_files import MISSING, CsvRows, check_width, number, titles_in
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.rows import CHUNK_ROWS, Rows
from simcodesign.fitting.readers.tidy_table import ALLOWED_COLUMNS, REPETITION, Columns, add_frame, columns_of

# Up to pandas 3.0 numbers are exact only on request; later ones always are, and warn of the request.
EXACT: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)


class NumericNamesError(Exception):
    """Names that look like numbers, and have been read as such."""


class OtherDialectError(Exception):
    """A table that pandas would read otherwise than ``CsvRows``."""


def read_csv(path: Path, partial: bool = False, value: str | None = None) -> Measurements:
    """Read the measurements of a tidy CSV table, as in the module; ``value`` names the column of values.

    Raises InputError naming line and column. The table is read in parts, at about 20 bytes of memory a row.
    """
    header = csv_header(path, value)
    if not header.is_plain:
        return _of_any_dialect(path, header.columns, partial)
    try:
        try:
            return _by_pandas(path, header, "category", partial)
        except NumericNamesError:
            return _by_pandas(path, header, "object", partial)
    except (OtherDialectError, ValueError, OverflowError, pd.errors.ParserWarning):  # InputError among them
        return _of_any_dialect(path, header.columns, partial)


@dataclass(frozen=True)
class Header:
    """The columns of a table, its separator, the lines above its titles, and whether pandas may read it."""

    columns: Columns
    delimiter: str
    lines_above: int
    is_plain: bool


def csv_header(path: Path, value: str | None = None) -> Header:
    """Return the columns of a CSV table, and how it is to be read."""
    with open_bytes(path) as file:
        is_utf8 = encoding_of(file.read(4)) == "utf-8-sig"
    with open_text(path) as text:
        rows = CsvRows(text, str(path))
        for line, titles in rows:
            columns = columns_of(titles, Place(str(path), line), value)
            return Header(columns, rows.delimiter, line - 1, is_utf8 and rows.has_plain_titles)
    raise InputError("the file is empty", Place(str(path)), allowed=f"a table with columns {ALLOWED_COLUMNS}")


def _by_pandas(path: Path, header: Header, names: str, partial: bool) -> Measurements:
    """``read_csv`` by pandas; ``names`` is how pandas keeps names: as category or object."""
    rows = Rows(str(path), partial)
    with closing(csv_frames(path, header, names)) as frames:
        for frame in frames:
            if add_frame(rows, header.columns, frame, lambda row, column: Place(str(path)), unescaped):
                raise OtherDialectError  # an empty value, or a row cut short
    return rows.measurements(header.columns.parameters)


def _of_any_dialect(path: Path, columns: Columns, partial: bool) -> Measurements:
    """``read_csv`` by ``CsvRows``, a part of the table after the other."""
    rows = Rows(str(path), partial)
    lines: list[int] = []

    def locate(row: int, column: str) -> Place:
        return Place(str(path), lines[row], f"column {column}" if column else "")

    with open_text(path) as file:
        table = CsvRows(file, str(path))
        cells = iter(table)
        next(cells)
        while part := list(islice(cells, CHUNK_ROWS)):
            lines += [line for line, _ in part]
            add_frame(rows, columns, _frame(part, columns, table.delimiter, path), locate)
    return rows.measurements(columns.parameters, lambda row: locate(row, columns.named.get(REPETITION, "")))


def _frame(part: Sequence[tuple[int, list[str]]], columns: Columns, delimiter: str, path: Path) -> pd.DataFrame:
    """Rows as a frame: values as numbers, all else as text. Raises InputError for a row of a wrong length."""
    value = columns.named[VALUE]
    at = columns.names.index(value)
    numbers = []
    for line, cells in part:
        check_width(cells, columns.names, Place(str(path), line), delimiter)
        text = cells[at].strip()
        numbers.append(math.nan if text in MISSING else number(text, Place(str(path), line, f"column {value}")))
    columns_of_text = zip(*(cells for _, cells in part), strict=True)
    frame = pd.DataFrame(dict(zip(columns.names, map(list, columns_of_text), strict=True)), dtype=object)
    return frame.assign(**{value: np.array(numbers)})


def csv_frames(path: Path, header: Header, names: str) -> Generator[pd.DataFrame, None, None]:
    """Yield the table in parts: the values as numbers, all else as categories, which are cheap to tell apart.

    Raises NumericNamesError if pandas made numbers of categories that are names, 0 of 00, and OtherDialectError for
    a row that may be a comment.
    """
    columns = header.columns
    value = columns.named[VALUE]
    kinds = {name: "category" if name in columns.parameters else names for name in columns.names} | {value: "float64"}
    texts = [name for name in columns.names if kinds[name] == "category" and name not in columns.parameters]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
        with (
            open_bytes(path) as file,
            pd.read_csv(
                file,
                sep=header.delimiter,
                header=0,
                skiprows=header.lines_above,
                names=list(columns.names),
                dtype=kinds,
                index_col=False,
                keep_default_na=False,
                na_values={value: list(MISSING)},
                encoding="utf-8-sig",
                chunksize=CHUNK_ROWS,
                **EXACT,
            ) as frames,
        ):
            for frame in frames:
                if any(pd.api.types.is_numeric_dtype(frame[name].cat.categories.dtype) for name in texts):
                    raise NumericNamesError
                first = frame[columns.names[0]]
                entries = first.cat.categories if isinstance(first.dtype, pd.CategoricalDtype) else first.unique()
                if any(isinstance(entry, str) and entry.startswith("#") for entry in entries):
                    raise OtherDialectError
                yield frame


def sniff(start: FileStart) -> Match:
    """Return a column of values among the titles."""
    names = {split_title(title)[0].lower() for title in titles_in(start.lines)}
    return Match.POSSIBLE if names & {*VALUES} else Match.NONE


READERS.add_reader(MeasurementReader("csv", read_csv, (".csv", ".tsv"), sniff, read_column=read_csv))
