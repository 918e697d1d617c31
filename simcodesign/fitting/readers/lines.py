"""What the readers of text share: lines with their numbers, numbers, and errors that say where."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from simcodesign.core.errors import InputError, Place

# As in the files, not as in Python: neither underscores nor digits of other scripts.
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def number(text: str, place: Place, what: str = "not a number") -> float:
    """A finite number. Raises InputError for anything else, ``nan`` and ``inf`` included."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise InputError(what, place, value=text, allowed="finite decimal numbers such as 16 or 1.5e-3")
    return value


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """The file as text; InputError where it cannot be read or is not UTF-8 (with line and byte)."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield file
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or error}", Place(str(path))) from None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that hold anything, numbered from 1, without blanks around."""
    with opened(path) as file:
        for line_number, line in enumerate(file, 1):
            if stripped := line.strip():
                yield line_number, stripped


def not_utf8(path: Path) -> InputError:
    """The error of a file that is not UTF-8; the file is read again to find the line and byte."""
    offset = 0
    with path.open("rb") as file:
        for line_number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                place = Place(str(path), line_number, f"byte {offset + error.start}")
                return InputError("the file is not text in UTF-8", place, value=line[error.start : error.start + 1])
            offset += len(line)
    return InputError("the file is not text in UTF-8", Place(str(path)))


def whole_text(path: Path) -> str:
    """All of a file. Raises InputError as ``opened``."""
    with opened(path) as file:
        return file.read()
