"""The text that benchmarks print, as launchers and batch systems leave it.

A text is in UTF-8 or UTF-16 and may be packed by gzip; ``launchers`` removes what others put before its lines. A log
may hold the outputs of several benchmarks: each reader gets the lines from where its benchmark begins to where another
begins. A last line that was cut short, because the job was stopped, is left out (``cut_line``).
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from simcodesign.core.errors import InputError, Place, shorten
from simcodesign.core.files.input_files import DATA_BYTES, check_size, encoding_of, open_bytes
from simcodesign.core.files.readers import FileStart
from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.readers.benchmarks.output.launchers import Line, by_rank, without_colours

#: How the output of each benchmark begins, by the name of its format: what a line without blanks around matches.
BEGINS: dict[str, re.Pattern[str]] = {}
_GZIP = b"\x1f\x8b"
_START_CHARACTERS = 1 << 14


@lru_cache(maxsize=8)  # every reader asks for the same one
def unpacked_start(start: FileStart) -> FileStart:
    """Return the start of a file, unpacked and without ranks; the suffix ``.gz`` is dropped."""
    content, suffix = start.content, start.suffix
    if content.startswith(_GZIP):
        try:
            content, suffix = zlib.decompressobj(31).decompress(content, _START_CHARACTERS), ""
        except zlib.error:
            return start
    lines = without_colours(FileStart(suffix, content).text).split("\n")
    return FileStart(suffix, "\n".join(text for _, text in by_rank(lines, _begins)).encode())


def numbered_lines(path: Path, name: str = "") -> Iterator[Line]:
    """Yield the lines that hold anything, without blanks around: the lines of one rank after another's.

    ``name``: of a format in ``BEGINS``; then only the lines of that benchmark.
    """
    for line, text in _lines_of(path, name):
        if stripped := text.strip():
            yield line, stripped


def text_of(path: Path, name: str = "") -> str:
    """Return all of a text, packed by gzip or not, without ranks; lines of other benchmarks are empty.

    Raises InputError for what is neither UTF-8 nor UTF-16.
    """
    kept: list[str] = []
    for line, text in sorted(_lines_of(path, name)):
        kept += [""] * (line - 1 - len(kept)) + [text]
    return "\n".join(kept)


def benchmarks_in(path: Path) -> list[str]:
    """Return the formats in ``BEGINS`` whose outputs begin in a file, in their order."""
    return [name for name in dict.fromkeys(_owners(by_rank(_text(path).split("\n"), _begins))) if name]


def cut_line(lines: Sequence[str]) -> int:
    """Return the number of the last line if it was cut short, otherwise 0.

    It was if no line end follows it, and it is a row of numbers with fewer words than the row above, or whose last
    number has fewer digits behind the point: benchmarks print the same number of them in every row. A number without a
    point may be cut unnoticed.

    >>> cut_line(["1024      2.31", "2048      3."])
    2
    """
    rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()][-2:]
    if len(rows) < 2 or not lines[-1].strip():
        return 0
    above, last = (words for _, words in rows)
    if not all(sum(map(_is_number, words)) > len(words) / 2 for words in (above, last)):
        return 0
    digits = [len(words[-1].partition(".")[2]) for words in (above, last)]
    return rows[-1][0] if len(last) < len(above) or (len(last) == len(above) and digits[1] < digits[0]) else 0


#: Words of letters that rows of numbers hold: results of checks, and numbers that are none.
_IN_ROWS = re.compile(r"pass(?:ed)?|fail(?:ed)?|n/a|-?nan|[+-]?inf(?:inity)?", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{2}|^\[")


def is_prose(text: str) -> bool:
    """Return whether a line that begins with a number is a message of a library, not a row of numbers.

    >>> is_prose("1 more process has sent help message"), is_prose("1024   2.31   Pass")
    (True, False)
    """
    return any(_WORD.search(word) and not _IN_ROWS.fullmatch(word) for word in text.split())


def notes_on(path: Path) -> list[str]:
    """Return a note if the last line was left out because it was cut short."""
    cut = cut_line(_text(path).split("\n"))
    return [f"line {cut} is cut short: it is left out."] if cut else []


def prose_note(line: int, text: str) -> str:
    """Return the note on a message that was left out."""
    return f"line {line} is not a row of numbers: {shorten(text)} is left out."


def _is_number(word: str) -> bool:
    return NUMBER.fullmatch(word) is not None


def _lines_of(path: Path, name: str) -> list[Line]:
    """Return the lines of one benchmark.

    From where its output begins to where another's does, all of them if none does.
    """
    whole = _text(path).split("\n")
    cut = cut_line(whole)
    lines = [line for line in by_rank(whole, _begins) if line[0] != cut]
    if not name:
        return lines
    owners = _owners(lines)
    first = next(filter(None, owners), name)  # what is above the first output is part of it
    return [line for line, owner in zip(lines, owners, strict=True) if (owner or first) == name]


def _owners(lines: Sequence[Line]) -> list[str]:
    """Return the benchmark that each line is of, empty above the first."""
    owners, owner = [], ""
    for _, text in lines:
        stripped = text.strip()
        if stripped and not (owner and BEGINS[owner].match(stripped)):
            owner = next((name for name, pattern in BEGINS.items() if pattern.match(stripped)), owner)
        owners.append(owner)
    return owners


def _text(path: Path) -> str:
    with open_bytes(path) as file:
        packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        try:
            content = gzip.GzipFile(fileobj=file).read(DATA_BYTES + 1) if packed else file.read()
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"damaged gzip: {error}", Place(str(path))) from None
    check_size(len(content), DATA_BYTES, Place(str(path)), "what the file unpacks to")
    try:
        text = content.decode(encoding_of(content[:4])).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        what = f"the file is not text in {'UTF-8' if error.encoding == 'utf-8' else 'UTF-16'}"
        raise InputError(what, Place(str(path), line), allowed="UTF-8 or UTF-16") from None
    return without_colours(io.StringIO(text, newline=None).read())


def _begins(text: str) -> bool:
    return any(pattern.match(text) for pattern in BEGINS.values())
