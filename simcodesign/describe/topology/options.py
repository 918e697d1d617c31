"""Options of a topology: how each is read from a machine file, and the checks of whole numbers that they share."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.yaml.tree import Entry

MAX_HOSTS = 10**9  # link numbers of every kind then fit in 64 bits

#: Reads the value of an option; the folder is that of the machine file, in which other files are looked for.
Reader = Callable[[Entry, Path], Any]


@dataclass(frozen=True)
class Option:
    """A property of one kind of topology, besides its number of hosts.

    ``name``: the keyword of ``build_topology``; ``about``: what it is, for documentation; ``read``: from a machine
    file, where it stands under ``file_key`` (the name, unless given); ``dimension``: of its values (``core.units``).
    """

    name: str
    about: str
    read: Reader
    file_key: str = ""
    dimension: str = ""

    @property
    def key(self) -> str:
        """The key under ``network.topology`` in a machine file."""
        return self.file_key or self.name


def whole(low: int = 1) -> Reader:
    """Reads a whole number, ``low`` or more."""
    return lambda entry, folder: entry.whole(low=low)


def wholes(low: int = 1) -> Reader:
    """Reads a sequence of whole numbers, each ``low`` or more."""
    return lambda entry, folder: [item.whole(low=low) for item in entry.sequence()]


def flags(entry: Entry, folder: Path) -> list[bool]:
    """Reads a sequence of ``true`` and ``false``."""
    return [item.flag() for item in entry.sequence()]


def checked_whole(number: object, what: str, most: int, place: Place | None = None, least: int = 1) -> int:
    """The number, if it is whole and within the limits; InputError otherwise."""
    try:
        value = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        value = least - 1
    if isinstance(number, bool) or not least <= value <= most:
        raise InputError(what, place, value=number, allowed=f"a whole number from {least} to {most}")
    return value
