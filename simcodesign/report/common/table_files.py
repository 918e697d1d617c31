"""Write printed tables as files: CSV, JSON lines, Parquet, LaTeX, by the suffix.

CSV and Parquet have all tables in one, a row for each row, with the column ``table`` for the title. A line of JSON has
the columns of its own table alone. LaTeX has an environment ``tabular`` for each table. Numbers are those printed, with
their units in the titles and heads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column
from rich.text import Text

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.report.common.fitted_table import FittedTable
from simcodesign.report.fits.names import latex_text
from simcodesign.studies.sweep.table import write_table

SUFFIXES = (".csv", ".jsonl", ".parquet", ".tex")
#: The column of titles.
TABLE = "table"
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[+-]?\d+)?")
_NOTHING = ("", "-", "–")


def write_tables(renderables: Iterable[RenderableType], path: Path) -> None:
    """Write all tables among the parts of a report. InputError for another suffix, and for a report without tables."""
    tables = [*_tables(renderables)]
    if not tables:
        raise InputError("there is no table to write", Place(str(path)), allowed="a report with tables")
    suffix = path.suffix.lower()
    if suffix == ".tex":
        text = "\n".join(map(_latex, tables))
    elif suffix == ".jsonl":
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for table in tables for row in _rows(table))
    elif suffix in (".csv", ".parquet"):
        write_table(_frame(tables), path)
        return
    else:
        raise InputError("unknown format of a table", Place(str(path)), value=path.suffix, allowed=", ".join(SUFFIXES))
    with replacing_text(path) as file:
        file.write(text)


def _frame(tables: Sequence[FittedTable]) -> pd.DataFrame:
    """Return all tables as one: columns of the same head are one column, numbers or else texts."""
    rows = [row for table in tables for row in _rows(table)]
    names = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in names})


def _column(cells: Sequence[float | str | None]) -> pd.Series:
    if any(isinstance(cell, str) for cell in cells):
        return pd.Series([None if cell is None else str(cell) for cell in cells], dtype="str")
    return pd.Series(cells, dtype="float64")


def _tables(renderables: Iterable[RenderableType]) -> Iterator[FittedTable]:
    for one in renderables:
        if isinstance(one, Padding):
            yield from _tables([one.renderable])
        elif isinstance(one, Group):
            yield from _tables(one.renderables)
        elif (widest := getattr(one, "widest", None)) is not None:  # of several tables the terminal gets what fits
            yield from _tables([widest])
        elif isinstance(one, FittedTable):
            yield one


def _rows(table: FittedTable) -> Iterator[Mapping[str, float | str | None]]:
    """Yield the rows of a table by the heads of its columns; a column is of numbers if all of its cells are."""
    columns: dict[str, Sequence[float | str | None]] = {}
    for column in table.columns:
        head = _head(column)
        columns[f"{head} ({len(columns) + 1})" if head in columns else head] = _cells(column)
    for number in range(table.row_count):
        row = {name: cells[number] for name, cells in columns.items()}
        if any(cell is not None for cell in row.values()):  # an empty row is a line between others
            yield {TABLE: _plain(table.title), **row}


def _cells(column: Column) -> Sequence[float | str | None]:
    """Numbers, fractions for percentages, or texts."""
    texts = [_plain(cell) for cell in column.cells]
    given = [text for text in texts if text not in _NOTHING]
    percent = "%" if all(text.endswith("%") and "e" not in text for text in given) else ""
    if column.justify == "right" and all(_NUMBER.fullmatch(text.removesuffix(percent)) for text in given):
        power = "e-2" if percent else ""
        return [
            None if text in _NOTHING else float(text.removesuffix(percent).replace(",", "") + power) for text in texts
        ]
    return [text or None for text in texts]


def _head(column: Column) -> str:
    return _plain(column.header).replace(". ", ".")


def _plain(content: object) -> str:
    """Return a text in one line, without what cannot be printed."""
    text = content.plain if isinstance(content, Text) else str(content or "")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _latex(table: FittedTable) -> str:
    """Return a table as LaTeX, its title as a comment above."""
    sides = "".join("r" if column.justify == "right" else "l" for column in table.columns)
    heads = " & ".join(latex_text(_head(column)) for column in table.columns)
    cells = [[latex_text(_plain(cell)) for cell in column.cells] for column in table.columns]
    rows = [" & ".join(row) for row in zip(*cells, strict=True) if any(row)]
    body = "".join(f"{row} \\\\\n" for row in rows)
    title = f"% {_plain(table.title)}\n" if table.title else ""
    return f"{title}\\begin{{tabular}}{{{sides}}}\n\\hline\n{heads} \\\\\n\\hline\n{body}\\hline\n\\end{{tabular}}\n"
