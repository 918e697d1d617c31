"""The text of an Aspen file with its includes inserted, and the file and line that each line comes from.

Size and nesting are bounded here and in ``scan``, before anything is parsed: 50 MB of nested braces are an error after
their first few hundred bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from simcodesign.aspen.scan import MAX_NESTING, MAX_TOKENS, check_tokens
from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import check_confined, first_bytes, is_file, real_path

MAX_BYTES = 500_000  # of a file with all that it includes
MAX_INCLUDES = 1000

_INCLUDE = re.compile(r"[ \t]*include[ \t]+(\S+)[ \t]*(//.*)?")


@dataclass(frozen=True)
class Source:
    """The whole text; ``lines[i]`` is the file and line number of its line ``i``, counted from 0."""

    path: Path
    text: str
    lines: tuple[tuple[str, int], ...]

    def place(self, line: int, column: int) -> Place:
        """Return the file and line of a line (from 1) and column (from 1) of the text."""
        file, number = self.lines[min(line, len(self.lines)) - 1]
        return Place(file, number, f"column {column}")

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files of which the source consists, each once."""
        return tuple(dict.fromkeys(file for file, _ in self.lines))


def read_source(path: Path) -> Source:
    """Read a file with its includes, whose paths are relative to its folder, otherwise to the including file's folder.

    Raises InputError for what cannot be read, is too long or nested too deeply, and for files that include
    each other.
    """
    reader = _Reader(path.parent)
    reader.read(path, None, ())
    return reader.source(path)


def source_of(text: str, path: Path) -> Source:
    """Return the source for text as if it were in a file of that path."""
    reader = _Reader(path.parent)
    reader.put(text, path, ())
    return reader.source(path)


class _Reader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.text: list[str] = []
        self.lines: list[tuple[str, int]] = []
        self.bytes_left = MAX_BYTES
        self.includes = self.tokens = 0

    def read(self, path: Path, place: Place | None, within: tuple[Path, ...]) -> None:
        self.put(self._load(path, place), path, within)

    def source(self, path: Path) -> Source:
        return Source(path, "\n".join(self.text), tuple(self.lines))

    def put(self, text: str, path: Path, within: tuple[Path, ...]) -> None:
        self.tokens += check_tokens(text, path)
        if self.tokens > MAX_TOKENS:
            allowed = f"up to {MAX_TOKENS} with all includes"
            raise InputError(
                "the model has too many words, numbers and signs", Place(str(path)), value=self.tokens, allowed=allowed
            )
        if "\x00" in text:
            raise InputError("this is not a text file", Place(str(path)), allowed="an Aspen model")
        for number, line in enumerate(text.split("\n"), start=1):
            include = _INCLUDE.fullmatch(line.rstrip("\r"))
            if include:
                here = Place(str(path), number)
                self._include(include.group(1), path, here, (*within, real_path(path)))
            else:
                self.text.append(line)
                self.lines.append((str(path), number))

    def _include(self, name: str, path: Path, place: Place, within: tuple[Path, ...]) -> None:
        self.includes += 1
        if self.includes > MAX_INCLUDES:
            raise InputError("the model has too many includes", place, allowed=f"up to {MAX_INCLUDES}")
        target = find_beside(name, (self.folder, path.parent), place)
        if real_path(target) in within:
            chain = " -> ".join(part.name for part in (*within, target))
            raise InputError(f"files include each other: {chain}", place)
        if len(within) > MAX_NESTING:
            raise InputError("includes are nested too deeply", place, allowed=f"up to {MAX_NESTING} levels")
        self.read(target, place, within)

    def _load(self, path: Path, place: Place | None) -> str:
        content = first_bytes(path, self.bytes_left + 1, place)
        try:
            text = content.decode("utf-8", errors="strict" if len(content) <= self.bytes_left else "ignore")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise InputError("the model is not UTF-8 text", Place(str(path), line), allowed="UTF-8") from error
        if len(content) > self.bytes_left:
            check_tokens(text, path)  # raises a more precise error if the nesting is the reason
            size = path.stat().st_size
            allowed = f"{MAX_BYTES} bytes with all includes"
            raise InputError("the model is too long", Place(str(path)), value=size, allowed=allowed)
        self.bytes_left -= len(content)
        return text


def find_beside(name: str, folders: tuple[Path, ...], place: Place) -> Path:
    """Return the file of that name in the first folder that has it."""
    for folder in folders:
        if is_file(folder / name):
            return check_confined(folder / name, place)
    tried = ", ".join(dict.fromkeys(str(folder / name) for folder in folders))
    raise InputError("no such file", place, value=name, allowed=f"looked for {tried}")
