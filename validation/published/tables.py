"""The published numbers: one table per file of ``published/``, with the digits that were printed.

The comment lines at the head of each file say from where its numbers are, in which units, and which of them are
published, reconstructed or contradictory.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from simcodesign.core.errors import InputError

#: In the claim of every case that compares the source with itself.
SOURCE_ALONE = "This compares numbers of the source with each other; no reading is tested."
FOLDER = Path(__file__).resolve().parent


def names() -> tuple[str, ...]:
    """The names of all tables."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.csv")))


def table(name: str) -> pd.DataFrame:
    """The table of a name, with a number wherever there is one, and nan where a cell is empty.

    InputError for an unknown name.
    """
    frame = _texts(name)
    return frame.apply(_numbers)


def text(name: str, column: str, **where: object) -> str:
    """A cell as it is printed, in the one row in which every column of ``where`` holds the value given; empty where
    nothing is published. InputError when no row, or more than one, is such, or when there is no such column."""
    columns, rows = _rows(name)
    unknown = {column, *where} - {*columns}
    if unknown:
        raise InputError(f"{name}: columns", value=", ".join(sorted(unknown)), allowed=", ".join(columns))
    wanted = {key: str(value) for key, value in where.items()}.items()
    found = [row for row in rows if wanted <= row.items()]
    if len(found) != 1:
        raise InputError(f"{name}: rows in which {where}", value=len(found), allowed="one")
    return found[0][column]


def value(name: str, column: str, **where: object) -> float | None:
    """A cell as a number, None if it is empty."""
    printed = text(name, column, **where)
    return float(printed) if printed else None


def number(name: str, column: str, **where: object) -> float:
    """A cell that must hold a number. InputError if it is empty."""
    cell = value(name, column, **where)
    if cell is None:
        raise InputError(f"{name}: nothing is published in {column} of {where}")
    return cell


def half_digit(printed: str) -> float:
    """Half a unit of the last digit of a printed number: how far the number that was rounded may be from it.

    A whole number counts as printed to its last digit, zeros included.
    """
    mantissa, _, exponent = printed.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)


def half_unit(name: str, column: str, **where: object) -> float:
    """Half a unit of the last digit of a cell."""
    return half_digit(text(name, column, **where))


@cache
def _texts(name: str) -> pd.DataFrame:
    path = FOLDER / f"{name}.csv"
    if name not in names():
        raise InputError("no such table of published numbers", value=name, allowed=", ".join(names()))
    return pd.read_csv(path, comment="#", dtype=str, keep_default_na=False)


@cache
def _rows(name: str) -> tuple[list[str], list[dict[str, str]]]:
    """Columns, and each row as a dictionary: thousands of cells are looked up one at a time."""
    frame = _texts(name)
    return [*frame.columns], frame.to_dict("records")  # type: ignore[return-value]


def _numbers(column: pd.Series) -> pd.Series:
    """A column of numbers where every cell that is not empty is one."""
    numbers = pd.to_numeric(column, errors="coerce")
    return numbers if bool((numbers.notna() | (column == "")).all()) else column
