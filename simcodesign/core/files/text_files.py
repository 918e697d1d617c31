"""Text from files: lines and rows of CSV with their numbers, decimal numbers, and errors that name file and line."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.decimal_signs import POINT, WORDS, check_sign, local_hint, plain, sign_of_row
from simcodesign.core.files.formula_cells import unescaped
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.table_titles import VALUES, split_title

#: As in the files, not as in Python: neither underscores nor digits of other scripts.
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
DELIMITERS = ",;\t"
#: Cells of a table that mark a missing number.
MISSING = ("", "nan", "NaN", "NAN", "NA", "N/A", "#N/A", "null", "NULL")
_WHOLE = re.compile(r"\s*[+-]?[0-9]+")
_QUOTED = re.compile(r'"[^"]*"')
_SEPARATOR = re.compile(rf'"?sep=([{DELIMITERS}])"?', re.IGNORECASE)


def number(text: str, place: Place, what: str = "not a number") -> float:
    """Return a finite number. Raises InputError for anything else, ``nan`` and ``inf`` included."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        hint = local_hint(text)
        allowed = "finite decimal numbers such as 16 or 1.5e-3"
        raise InputError(what, place, value=text, allowed=f"{allowed}; here {hint}" if hint else allowed)
    return value


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that hold anything, numbered from 1, without blanks around.

    InputError as ``open_text``.
    """
    with open_text(path) as file:
        for line_number, line in enumerate(file, 1):
            if stripped := line.strip():
                yield line_number, stripped


def delimiter_of(header: str) -> str:
    """Return the separator that occurs most often outside quotes in the first line of a table.

    Comma, semicolon or tab.
    """
    outside = _QUOTED.sub("", header)
    return max(DELIMITERS, key=outside.count)


def titles_in(lines: Sequence[str]) -> list[str]:
    """Return the titles of a table from its first lines, without quotes and blanks; empty if there are none."""
    rows = CsvRows((f"{line}\n" for line in lines), "")
    try:
        return next(([title.strip() for title in titles] for _, titles in rows), [])
    except InputError:
        return []


class CsvRows:
    """The rows of a CSV table, header first, each with the number of its last line (from 1).

    All commands read this dialect. The titles show the separator (comma, semicolon or tab), unless the first line is a
    spreadsheet's ``sep=;``. Lines that begin with # are collected in ``comments``, each with its place. Blank lines,
    rows of empty cells, empty cells at the end of a row beyond the titles, and a first column without a title that
    numbers the rows are left out. Numbers come with a decimal point (see ``decimal_signs``) and an exponent of E.
    Iterating raises InputError, naming the line at which a row begins, for text that is not CSV, and for numbers with
    two different decimal signs.
    """

    def __init__(self, file: Iterable[str], name: str) -> None:
        self.comments: list[tuple[str, Place]] = []
        self._name = name
        #: Whether the table begins as any reader of CSV would have it, once its titles have been read.
        self.has_plain_titles = True
        self._line = 0
        self._in_row = False
        self._lines = self._without_comments(iter(file))
        head: list[str] = []
        separator = ""
        for line in self._lines:
            if not separator and (hint := _SEPARATOR.fullmatch(line.strip())):
                separator, self._in_row = hint[1], False
                continue
            head.append(line)
            break
        self.delimiter = separator or delimiter_of(head[-1] if head else "")
        self._first_line = self._line
        self._lines = chain(head, self._lines)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        rows = self._rows()
        line, titles = next(rows, (0, []))
        if not titles:
            return
        self.has_plain_titles = all(title.strip() and "\n" not in title for title in titles) and not any(
            '"' in text for text, _ in self.comments
        )
        width = len(titles)
        while len(titles) > 1 and not titles[-1].strip():
            titles.pop()
        is_numbered = len(titles) > 1 and not titles[0].strip()
        yield line, titles[is_numbered:]
        fitted = self._fitted(rows, titles, width)
        yield from self._with_points(fitted, titles[is_numbered:])

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield all rows with an entry, as the file has them."""
        reader = csv.reader(self._lines, delimiter=self.delimiter, strict=True)
        begin = self._first_line
        try:
            while True:
                self._in_row = False
                cells = next(reader, None)
                if cells is None:
                    return
                begin = self._line + 1
                if not any(cell.strip() for cell in cells):
                    continue
                if cells[0].startswith("#") and not any(cell.strip() for cell in cells[1:]):
                    self.comments.append((cells[0], Place(self._name, self._line)))
                else:
                    yield self._line, [unescaped(cell) for cell in cells]
        except csv.Error as error:
            raise InputError(f"not CSV: {error}", Place(self._name, begin)) from None

    def _without_comments(self, file: Iterator[str]) -> Iterator[str]:
        """Yield the lines that are neither comments nor blank, counting all of them."""
        for line in file:
            self._line += 1
            if not self._in_row and line.startswith("#"):
                text = line.strip().rstrip(f"{DELIMITERS} ")
                self.comments.append((text, Place(self._name, self._line)))
            elif self._in_row or line.strip():
                self._in_row = True
                yield line

    def _fitted(
        self, rows: Iterator[tuple[int, list[str]]], titles: Sequence[str], width: int
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows without empty cells beyond the titles, and without the numbers of a column without a title.

        Rows may have cells up to the ``width`` of the line of titles, or all of them as many more as the first.
        """
        is_numbered = len(titles) > 1 and not titles[0].strip()
        first = 0
        for place, (line, cells) in enumerate(rows):
            if place == 0 and self._ends_with_separators(cells, titles, width):
                width = len(cells)
            while len(titles) < len(cells) <= width and not cells[-1].strip():
                cells.pop()
            if is_numbered:
                number_of_row = cells.pop(0).strip()
                first = 1 if place == 0 and number_of_row == "1" else first
                if number_of_row != str(first + place):
                    what = "an entry of a column without a title"
                    allowed = "a title, or the numbers of the rows, from 0 or 1"
                    raise InputError(what, Place(self._name, line, "column 1"), value=number_of_row, allowed=allowed)
            yield line, cells

    def _ends_with_separators(self, cells: Sequence[str], titles: Sequence[str], width: int) -> bool:
        """Return whether the first row continues beyond the titles with empty cells alone.

        It does not if a decimal comma may have made two cells of a number, ``0,75``, and the last column may be empty.
        """
        if len(cells) <= width or any(cell.strip() for cell in cells[len(titles) :]):
            return False
        pairs = pairwise(cells[: len(titles)])
        may_be_split = self.delimiter == "," and any(_WHOLE.fullmatch(one) and two.isdigit() for one, two in pairs)
        return not may_be_split or split_title(titles[-1])[0].lower() in VALUES

    def _with_points(
        self, rows: Iterator[tuple[int, list[str]]], titles: Sequence[str]
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows with numbers as Python reads them; rows before the first that shows a sign wait for it."""
        is_words = [title.strip().lower() in WORDS for title in titles]
        waiting: list[tuple[int, list[str]]] = []
        sign, shown_by = (POINT, "") if self.delimiter == "," else ("", "")
        for line, cells in rows:
            waiting.append((line, cells))
            if not sign:
                sign, shown_by = sign_of_row(cells, is_words)
                shown_by = shown_by and f"line {line}: {shown_by}"
            if sign:
                yield from ((at, self._plain(row, at, titles, is_words, sign, shown_by)) for at, row in waiting)
                waiting = []
        yield from ((at, self._plain(row, at, titles, is_words, POINT, "")) for at, row in waiting)

    def _plain(
        self, cells: list[str], line: int, titles: Sequence[str], is_words: Sequence[bool], sign: str, shown_by: str
    ) -> list[str]:
        made = []
        for place, cell in enumerate(cells):
            if place < len(titles) and not is_words[place]:
                text = cell.strip()
                check_sign(text, sign, Place(self._name, line, f"column {titles[place].strip()}"), shown_by)
                made.append(plain(text, sign) if text else cell)
            else:
                made.append(cell)
        return made


def check_width(cells: Sequence[str], titles: Sequence[str], place: Place, delimiter: str = ",") -> None:
    """Raise InputError at ``place`` unless a row has a cell for each column."""
    if len(cells) != len(titles):
        allowed = f"{len(titles)}: {delimiter.join(titles)}"
        raise InputError("a row of wrong length", place, value=f"{len(cells)} entries", allowed=allowed)
