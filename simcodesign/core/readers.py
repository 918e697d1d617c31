"""Readers of files: one record for each format, registered under its name by the module that reads it.

A registry holds the readers of one kind of content (measurements, hardware counters, address traces). It imports the
modules of its package when it is first asked, so that a new format is one new module there; a package of somebody
else registers a reader with the same call.

    READERS.register(Reader("meas", read_meas, suffixes=(".meas",)))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Generic, TypeVar

from simcodesign.core.errors import InputError, Place, nearest

#: A reader decides by this many bytes at most.
START_BYTES = 1 << 16


class Match(IntEnum):
    """How well the first bytes of a file fit a format: a suffix counts for more than POSSIBLE, less than CERTAIN."""

    NONE = 0
    POSSIBLE = 1
    CERTAIN = 2


@dataclass(frozen=True)
class FileStart:
    """What is known of a file before it is read: its suffix (small letters, with the dot) and its first bytes."""

    suffix: str
    content: bytes = b""
    is_folder: bool = False

    @cached_property
    def text(self) -> str:
        """The first bytes as text, without byte order mark and leading blanks."""
        return self.content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").lstrip()

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text that hold anything, without blanks around."""
        return [line for line in map(str.strip, self.text.splitlines()) if line]


def no_match(start: FileStart) -> Match:
    """The ``sniff`` of a format that only its suffix or name shows."""
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


class Registry(Generic[ReaderT]):
    """The readers of one kind of content. ``package``: the modules in it register themselves when they are imported."""

    def __init__(self, content: str, package: str) -> None:
        self.content = content
        self._package = package
        self._readers: dict[str, ReaderT] = {}
        self._is_loaded = False

    def register(self, reader: ReaderT) -> ReaderT:
        """Add a reader. Raises ValueError for a name that another one has."""
        if reader.name in self._readers:
            raise ValueError(f"there is a reader of {self.content} named {reader.name!r} already")
        self._readers[reader.name] = reader
        return reader

    def remove(self, name: str) -> None:
        """Take a reader out again. Raises KeyError where there is none of this name."""
        del self.readers[name]

    @property
    def readers(self) -> dict[str, ReaderT]:
        """All readers by name, in the order of registration."""
        if not self._is_loaded:
            self._is_loaded = True
            package = import_module(self._package)
            for module in iter_modules(package.__path__):
                import_module(f"{self._package}.{module.name}")
        return self._readers

    @property
    def names(self) -> str:
        """The names of all formats, as messages list them."""
        return ", ".join(self.readers)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """All suffixes that a reader claims."""
        return tuple(suffix for reader in self.readers.values() for suffix in reader.suffixes)

    def named(self, name: str, path: Path) -> ReaderT:
        """The reader of a format. Raises InputError, with ``path`` as its place, for an unknown name."""
        if name not in self.readers:
            raise InputError(
                f"no such format of {self.content}", Place(str(path)), value=name, allowed=nearest(name, self.readers)
            )
        return self.readers[name]

    def of_suffix(self, suffix: str) -> ReaderT | None:
        """The reader that claims a suffix, if any."""
        return next((reader for reader in self.readers.values() if suffix in reader.suffixes), None)

    def recognised(self, start: FileStart) -> ReaderT | None:
        """The reader of a file by its first bytes, else its suffix, else what its first bytes leave possible."""
        matches = {name: reader.sniff(start) for name, reader in self.readers.items()}
        certain, possible = (
            next((self.readers[name] for name, match in matches.items() if match == wanted), None)
            for wanted in (Match.CERTAIN, Match.POSSIBLE)
        )
        return certain or self.of_suffix(start.suffix) or possible
