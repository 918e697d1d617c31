"""Traces in a file for each rank: the files of all ranks by the name of one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import LINE_CHARACTERS, STREAM_BYTES, is_file, open_text

#: Number of characters read in one piece.
_PIECE_CHARACTERS = 1 << 18
#: The last number in the name of a file.
_NUMBER = re.compile(r"(?P<before>.*?)(?P<number>\d+)(?P<after>\D*)", re.DOTALL)


def files_of_ranks(path: Path) -> list[Path]:
    """Return the files of ranks 0, 1, 2 ...: those named as ``path`` with another number instead of its last one.

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
    """Yield the lines of a trace, without their ends, with their numbers from 1. Raises InputError as ``open_text``.

    A piece of the text is read and split as a whole, which takes a third of the time of reading lines.
    """
    number, rest = 0, ""
    with open_text(path, STREAM_BYTES) as file:
        while piece := file.read(_PIECE_CHARACTERS):
            *lines, rest = (rest + piece).split("\n")
            yield from enumerate(lines, number + 1)
            number += len(lines)
            if len(rest) > LINE_CHARACTERS:
                allowed = f"up to {LINE_CHARACTERS} characters"
                raise InputError("a line is too long", Place(str(path), number + 1), allowed=allowed)
    if rest:
        yield number + 1, rest
