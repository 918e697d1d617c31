"""The text that benchmarks print, as launchers and batch systems leave it.

A text is in UTF-8 or UTF-16 and may be packed by gzip. Its lines may begin with the rank that printed them: ``0: ``
(srun -l), ``[0] `` (mpiexec -prepend-rank) or ``[1,0]<stdout>:`` (mpirun --tag-output; ``[prterun-host-42@1,0]<stdout>:
`` in Open MPI 5). The lines of each rank are then read one rank after the other, because the outputs of ranks
interleave. A log may hold the outputs of several benchmarks: each reader gets the lines from where its benchmark begins
to where another begins.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import DATA_BYTES, check_size, encoding_of, open_bytes
from simcodesign.core.files.readers import FileStart

#: How the output of each benchmark begins, by the name of its format: what a line without blanks around matches.
BEGINS: dict[str, re.Pattern[str]] = {}
Line = tuple[int, str]
"""The number of a line in its file, from 1, and its text."""

_GZIP = b"\x1f\x8b"
_START_CHARACTERS = 1 << 14
_STREAM = re.compile(
    r"(?:\w{3} \w{3} +\d+ [\d:.]+ \d{4} ?)?((?:\[[^\]\s]+\])*)<std(?:out|err|diag|in)>: ?"
)  # mpirun --tag-output, --timestamp-output
#: Prefixes that benchmarks and MPI libraries also print: see ``_rank_prefix``.
_RANKS = (re.compile(r" *(\d+): ?"), re.compile(r"\[(\d+)\] ?"))


@lru_cache(maxsize=8)  # every reader asks for the same one
def unpacked_start(start: FileStart) -> FileStart:
    """Return the start of a file, unpacked and without ranks; the suffix ``.gz`` is dropped."""
    content, suffix = start.content, start.suffix
    if content.startswith(_GZIP):
        try:
            content, suffix = zlib.decompressobj(31).decompress(content, _START_CHARACTERS), ""
        except zlib.error:
            return start
    lines = FileStart(suffix, content).text.split("\n")
    if not any(prefix.match(line) for prefix in (_STREAM, *_RANKS) for line in lines):
        return FileStart(suffix, content)
    return FileStart(suffix, "\n".join(text for _, text in _by_rank(lines)).encode())


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
    return [name for name in dict.fromkeys(_owners(_by_rank(_text(path).split("\n")))) if name]


def _lines_of(path: Path, name: str) -> list[Line]:
    """Return the lines of one benchmark.

    From where its output begins to where another's does, all of them if none does.
    """
    lines = _by_rank(_text(path).split("\n"))
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
    return io.StringIO(text, newline=None).read()


def _by_rank(lines: Sequence[str]) -> list[Line]:
    """Return numbered lines without the ranks that begin them, lines of the first rank first."""
    prefix = _rank_prefix(lines)
    ranks: dict[str, list[Line]] = {}
    for number, line in enumerate(lines, 1):
        found = _STREAM.match(line) or (prefix.match(line) if prefix else None)
        rank = found[1] if found else ""
        ranks.setdefault(rank, []).append((number, line[found.end() :] if found else line))
    return [line for part in ranks.values() for line in part]


def _rank_prefix(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of ranks that begin lines: a benchmark follows it, or at least half of the lines have it."""
    some = [line for line in lines if line.strip()]
    for prefix in _RANKS:
        behind = [line[found.end() :].strip() for line in some if (found := prefix.match(line))]
        is_half = bool(some) and 2 * len(behind) >= len(some)
        if is_half or any(pattern.match(text) for text in behind for pattern in BEGINS.values()):
            return prefix
    return None
