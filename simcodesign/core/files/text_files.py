"""Text from files: lines and rows of CSV with their numbers, decimal numbers, and errors that name file and line."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.formula_cells import unescaped
from simcodesign.core.files.input_files import open_text

#: As in the files, not as in Python: neither underscores nor digits of other scripts.
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
DELIMITERS = ",;\t"
#: How a table says that a number is missing.
MISSING = ("", "nan", "NaN", "NAN")


def number(text: str, place: Place, what: str = "not a number") -> float:
    """A finite number. Raises InputError for anything else, ``nan`` and ``inf`` included."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise InputError(what, place, value=text, allowed="finite decimal numbers such as 16 or 1.5e-3")
    return value


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that hold anything, numbered from 1, without blanks around. InputError as ``open_text``."""
    with open_text(path) as file:
        for line_number, line in enumerate(file, 1):
            if stripped := line.strip():
                yield line_number, stripped


def delimiter_of(header: str) -> str:
    """Comma, semicolon or tab, whichever stands most often in the first line of a table."""
    return max(DELIMITERS, key=header.count)


class CsvRows:
    """The rows of a CSV file that hold anything, header first, each with the number of its last line (from 1).

    The first line that holds anything shows the delimiter. With ``commented``, lines that begin with # are collected
    in ``comments``, each with its place, and a row with them is not disturbed. Iterating raises InputError, naming the
    line at which a row begins, for what is not CSV.
    """

    def __init__(self, file: Iterable[str], name: str, *, commented: bool = False) -> None:
        self.comments: list[tuple[str, Place]] = []
        self._name = name
        lines = self._without_comments(file) if commented else iter(file)
        head: list[str] = []
        for line in lines:
            head.append(line)
            if line.strip():
                break
        self.delimiter = delimiter_of(head[-1] if head else "")
        self._lines = chain(head, lines)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(self._lines, delimiter=self.delimiter, strict=True)
        begin = 1
        try:
            for cells in reader:
                begin = reader.line_num + 1
                if cells and (len(cells) > 1 or cells[0].strip()):
                    yield reader.line_num, [unescaped(cell) for cell in cells]
        except csv.Error as error:
            raise InputError(f"not CSV: {error}", Place(self._name, begin)) from None

    def _without_comments(self, file: Iterable[str]) -> Iterator[str]:
        """The lines, an empty one for each that is a comment or blank, so that all keep their numbers."""
        for line_number, line in enumerate(file, 1):
            is_comment = line.startswith("#")
            if is_comment:
                self.comments.append((line, Place(self._name, line_number)))
            yield "\n" if is_comment or not line.strip() else line


def check_width(cells: Sequence[str], titles: Sequence[str], place: Place, delimiter: str = ",") -> None:
    """Raise InputError at ``place`` unless a row has a cell for each column."""
    if len(cells) != len(titles):
        allowed = f"{len(titles)}: {delimiter.join(titles)}"
        raise InputError("a row of wrong length", place, value=f"{len(cells)} entries", allowed=allowed)
