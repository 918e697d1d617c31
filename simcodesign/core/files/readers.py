"""Readers of files: one record for each format, registered under its name by the module that reads it.

A registry holds the readers of one kind of content (measurements, hardware counters, address traces). A new format is
one new module in its folder, or in another package that names the reader as an entry point (see ``registry``)::

    READERS.add_reader(Reader("meas", read_meas, suffixes=(".meas",)))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.input_files import encoding_of
from simcodesign.core.registry import Registry

#: A reader decides by this many bytes at most.
START_BYTES = 1 << 16


class Match(IntEnum):
    """How well the first bytes of a file fit a format: a suffix counts for more than POSSIBLE, less than CERTAIN."""

    NONE = 0
    POSSIBLE = 1
    CERTAIN = 2


@dataclass(frozen=True)
class FileStart:
    """Facts about a file before it is read: its suffix (small letters, with the dot) and its first bytes."""

    suffix: str
    content: bytes = b""
    is_folder: bool = False

    @cached_property
    def text(self) -> str:
        """The first bytes as text, without byte order mark and leading blanks."""
        return self.content.decode(encoding_of(self.content[:4]), "replace").lstrip()

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text that hold anything, without blanks around."""
        return [line for line in map(str.strip, self.text.splitlines()) if line]


def no_match(start: FileStart) -> Match:
    """Return the ``sniff`` of a format that only its suffix or name shows."""
    return Match.NONE


ReadT = TypeVar("ReadT", bound=Callable[..., object])


@dataclass(frozen=True)
class Reader(Generic[ReadT]):
    """One format: its name (as ``format=`` and ``--format`` give it), what reads it, and how a file shows it."""

    name: str
    read: ReadT
    suffixes: tuple[str, ...] = ()
    sniff: Callable[[FileStart], Match] = no_match


ReaderT = TypeVar("ReaderT", bound=Reader)  # type: ignore[type-arg]


class ReaderRegistry(Registry[str, ReaderT]):
    """The readers of one kind of ``content``, by name; ``module`` and ``group`` as in ``Registry``."""

    def __init__(self, content: str, module: str, group: str) -> None:
        super().__init__(f"format of {content}", module, group)
        self.content = content

    def add_reader(self, reader: ReaderT) -> None:
        """Register a reader under its name. Raises InputError for a name that another one has."""
        self.add(reader.name, reader)

    @property
    def names(self) -> str:
        """The names of all formats, as messages list them."""
        return ", ".join(self)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """All suffixes that a reader claims."""
        return tuple(suffix for reader in self.values() for suffix in reader.suffixes)

    def named(self, name: str, path: Path) -> ReaderT:
        """Return the reader of a format. Raises InputError, with ``path`` as its place, for an unknown name."""
        if name not in self:
            raise InputError(
                f"no such format of {self.content}", Place(str(path)), value=name, allowed=nearest(name, self)
            )
        return self[name]

    def of_suffix(self, suffix: str) -> ReaderT | None:
        """Return the reader that claims a suffix, if any."""
        return next((reader for reader in self.values() if suffix in reader.suffixes), None)

    def recognised(self, start: FileStart) -> ReaderT | None:
        """Return the reader by the first bytes, otherwise by the suffix, otherwise by what the first bytes allow."""
        matches = {name: reader.sniff(start) for name, reader in self.items()}
        certain, possible = (
            next((self[name] for name, match in matches.items() if match == wanted), None)
            for wanted in (Match.CERTAIN, Match.POSSIBLE)
        )
        return certain or self.of_suffix(start.suffix) or possible
