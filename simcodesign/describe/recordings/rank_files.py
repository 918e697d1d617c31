"""Traces in a file for each rank: the files of all ranks by the name of one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import STREAM_BYTES, is_file, open_text

#: The last number in the name of a file, but for one that is part of its suffix (``.mp4``).
_NUMBER = re.compile(r"(?P<before>.*?)(?P<number>\d+)(?P<after>\D*)", re.DOTALL)


def files_of_ranks(path: Path) -> list[Path]:
    """Return the files of ranks 0, 1, 2 ...: those named as ``path`` with another number in place of its last one.

    All have as many digits, or none has leading zeros. Raises InputError for a name without a number.
    """
    form = _NUMBER.fullmatch(path.name)
    if form is None:
        raise InputError(
            "the name of a trace of one rank has no number", Place(str(path)), allowed="for example trace-0.txt"
        )
    width = len(form["number"])
    forms = [f"{{:0{width}d}}", "{}"] if width > 1 else ["{}"]
    for text in forms:
        files = list(_numbered(path, form["before"], text, form["after"]))
        if path in files:
            return files
    missing = path.with_name(f"{form['before']}{forms[0].format(0)}{form['after']}")
    raise InputError("the trace of rank 0, or of a rank between, is missing", Place(str(path)), allowed=str(missing))


def _numbered(path: Path, before: str, text: str, after: str) -> Iterator[Path]:
    rank = 0
    while is_file(file := path.with_name(f"{before}{text.format(rank)}{after}")):
        yield file
        rank += 1


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a trace with their numbers from 1. Raises InputError as ``open_text``."""
    with open_text(path, STREAM_BYTES) as file:
        yield from enumerate(file, 1)
