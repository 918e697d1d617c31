"""Tidy tables of measurements in CSV (comma, semicolon or tab); columns as ``tidy_table`` says.

pandas parses the table. It says little of where something is wrong: the file is then read again, row by row.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.formula_cells import unescaped
from simcodesign.core.files.input_files import not_utf8, open_bytes, open_text
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import DELIMITERS, MISSING, CsvRows, check_width, number
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.rows import CHUNK_ROWS, Rows
from simcodesign.fitting.readers.tidy_table import ALLOWED_COLUMNS, REPETITION, VALUE, Columns, add_frame, columns_of

# Up to pandas 3.0 numbers are exact only on request; later ones always are, and warn of the request.
EXACT: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)


class NumericNamesError(Exception):
    """Names that look like numbers, and have been read as such."""


def read_csv(path: Path, partial: bool = False) -> Measurements:
    """The measurements in a tidy CSV table, as the module says.

    Raises InputError naming line and column. The table is read in parts, at about 20 bytes of memory a row.
    """
    columns, delimiter = csv_header(path)
    try:
        return csv_measurements(path, columns, delimiter, "category", partial)
    except NumericNamesError:
        return csv_measurements(path, columns, delimiter, "object", partial)


def csv_measurements(path: Path, columns: Columns, delimiter: str, names: str, partial: bool) -> Measurements:
    """``read_csv`` where the columns are known; ``names`` is how pandas keeps names: as category or object."""
    rows = Rows(str(path), partial)

    def locate(row: int, column: str) -> Place:
        return Place(str(path), line_of_row(path, row), f"column {column}" if column else "")

    gaps = False
    try:
        with closing(csv_frames(path, columns, delimiter, names)) as frames:
            for frame in frames:
                gaps |= add_frame(rows, columns, frame, locate, unescaped)
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except InputError:
        raise
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        # pandas says little of where: find it in the plain file.
        check_rows(path, columns)
        raise InputError(f"the table cannot be read: {error}", Place(str(path))) from None
    if gaps:  # an empty value, or a row cut short
        check_rows(path, columns)
    return rows.measurements(columns.parameters, lambda row: locate(row, columns.named[REPETITION]))


def csv_header(path: Path) -> tuple[Columns, str]:
    """The columns of a CSV table, and what separates them."""
    with open_text(path) as file:
        rows = CsvRows(file, str(path))
        for line, titles in rows:
            return columns_of(titles, Place(str(path), line)), rows.delimiter
    raise InputError("the file is empty", Place(str(path)), allowed=f"a table with columns {ALLOWED_COLUMNS}")


def csv_frames(path: Path, columns: Columns, delimiter: str, names: str) -> Generator[pd.DataFrame, None, None]:
    """The table in parts: the values as numbers, all else as categories, which are cheap to tell apart.

    Raises NumericNamesError where pandas made numbers of categories that are names, 0 of 00.
    """
    value = columns.named[VALUE]
    kinds = {name: "category" if name in columns.parameters else names for name in columns.names} | {value: "float64"}
    texts = [name for name in columns.names if kinds[name] == "category" and name not in columns.parameters]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
        with (
            open_bytes(path) as file,
            pd.read_csv(
                file,
                sep=delimiter,
                header=0,
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
                yield frame


def line_of_row(path: Path, row: int) -> int | None:
    """The line of a row (from 0) below the header."""
    with open_text(path) as file:
        for index, (line, _) in enumerate(CsvRows(file, str(path)), -1):
            if index == row:
                return line
    return None


def check_rows(path: Path, columns: Columns) -> None:
    """Raise InputError at the first row of a wrong length, or with a value that is not a number."""
    value = columns.names.index(columns.named[VALUE])
    with open_text(path) as file:
        csv_rows = CsvRows(file, str(path))
        rows = iter(csv_rows)
        next(rows)
        for line, cells in rows:
            check_width(cells, columns.names, Place(str(path), line), csv_rows.delimiter)
            if cells[value] not in MISSING:
                number(cells[value].strip(), Place(str(path), line, f"column {columns.names[value]}"))


def sniff(start: FileStart) -> Match:
    """A column of values in the first line that is no comment."""
    header = next((line for line in start.lines if not line.startswith("#")), "")
    titles = (title.strip().strip('"').lower() for delimiter in DELIMITERS for title in header.split(delimiter))
    return Match.POSSIBLE if VALUE in titles else Match.NONE


READERS.add_reader(MeasurementReader("csv", read_csv, (".csv", ".tsv"), sniff))
