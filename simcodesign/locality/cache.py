"""The shape of a cache: its size, its lines and how they are grouped into sets.

A line of memory is known by its key = address >> log2(line bytes). It may lie in any way of one set, the set
key % sets; the number of sets need not be a power of two. A fully associative cache is one set.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, Place

#: Lines that a cache may have: its simulation takes 16 to 60 bytes of memory for each.
MOST_LINES = 1 << 28


@dataclass(frozen=True)
class CacheGeometry:
    """A cache of ``size_bytes`` in lines of ``line_bytes``, of which ``ways`` form a set; None: one set of all.

    InputError unless these are whole numbers above zero, the line a power of two, the size a whole number of lines
    (at most 2**28), and the lines a whole number of sets.
    """

    size_bytes: int
    line_bytes: int = 64
    ways: int | None = None

    def __post_init__(self) -> None:
        for name in ("size_bytes", "line_bytes", "ways"):
            if name != "ways" or self.ways is not None:
                object.__setattr__(self, name, _whole(name, getattr(self, name)))
        if self.line_bytes & (self.line_bytes - 1):
            what = "line_bytes of a cache must be a power of two"
            raise InputError(what, value=self.line_bytes, allowed="1, 2, 4, ...")
        if self.size_bytes % self.line_bytes:
            allowed = f"a whole number of lines of {self.line_bytes} bytes"
            raise InputError(
                "a cache must hold whole lines: its size_bytes do not fit", value=self.size_bytes, allowed=allowed
            )
        if self.lines > MOST_LINES:
            raise InputError("a cache has too many lines", value=self.lines, allowed=f"at most {MOST_LINES}")
        if self.ways is not None and self.lines % self.ways:
            most = self.ways > self.lines
            allowed = f"at most its {self.lines} lines" if most else f"a divisor of its {self.lines} lines"
            raise InputError(
                "the lines of a cache cannot be divided into sets of this many ways", value=self.ways, allowed=allowed
            )

    @property
    def lines(self) -> int:
        """Lines that the cache holds."""
        return self.size_bytes // self.line_bytes

    @property
    def ways_per_set(self) -> int:
        """Lines of a set: ``ways``, or all lines of a fully associative cache."""
        return self.lines if self.ways is None else self.ways

    @property
    def sets(self) -> int:
        """Sets of the cache; 1 when it is fully associative."""
        return self.lines // self.ways_per_set

    @property
    def fully_associative(self) -> bool:
        """Whether a line may lie anywhere."""
        return self.sets == 1


def _whole(name: str, value: Any) -> int:
    """Return the value as an int. InputError unless it is a whole number above zero."""
    try:
        number = index(value)
    except TypeError:
        number = int(value) if isinstance(value, float) and value.is_integer() else 0
    if number < 1 or isinstance(value, bool):
        raise InputError(f"{name} of a cache must be a whole number", value=value, allowed="1 or more")
    return number


def line_size(value: object, place: Place | None = None) -> int:
    """Return the size of a line in bytes. InputError unless a power of two."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or int(value) < 1 or int(value).bit_count() > 1:  # type: ignore[call-overload]
        what = "line_bytes of a profile must be a power of two"
        raise InputError(what, place, value=value, allowed="1, 2, 4, ...")
    return int(value)  # type: ignore[call-overload, no-any-return]
