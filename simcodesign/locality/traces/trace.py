"""What an address trace is: chunks of start addresses, each with its kind and the instruction that issued it.

Conventions of the whole package. A *key* is ``address >> log2(line_bytes)``. An access counts by its start address
(one that straddles two lines counts once), and a modify is one access. *Stack distance*: distinct other keys accessed
strictly between two uses of a key (0 = touched again at once); *reuse distance*: accesses strictly between two uses.
The first touch of a key is cold (-1) and is counted apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place

#: Kinds of an access. A fetch appears only in traces that are read with their instructions.
LOAD, STORE, MODIFY, FETCH = 0, 1, 2, 3
#: Accesses in a chunk by default.
CHUNK = 1 << 20
#: Largest address.
MOST_ADDRESS = 2**64 - 1

Addresses = NDArray[np.uint64]
Kinds = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Accesses:
    """A chunk of n consecutive accesses: start addresses in bytes, and what else the trace knows of them.

    ``group`` is the address of the instruction that issued the access (0 before the first one that the trace names).
    """

    address: Addresses  # (n,)
    kind: Kinds | None = None  # (n,), LOAD, STORE, MODIFY or FETCH
    group: Addresses | None = None  # (n,)

    def __len__(self) -> int:
        return len(self.address)

    def __getitem__(self, part: slice) -> Accesses:
        """The accesses of a slice, as views."""
        kind = None if self.kind is None else self.kind[part]
        return Accesses(self.address[part], kind, None if self.group is None else self.group[part])

    def split(self, most: int) -> Iterator[Accesses]:
        """The same accesses in pieces of at most ``most``."""
        return (self[start : start + most] for start in range(0, len(self), most))


class Trace(ABC):
    """A stream of accesses that can be read again and again from its start, in chunks that fit in memory."""

    name: str

    @abstractmethod
    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        """All accesses in order, at most ``most`` (1 or more) at a time and never none.

        Either every chunk has kinds or none has; the same holds for groups. Raises ``InputError`` for a trace that
        is corrupt, cut off or empty, at the place where that shows: use nothing of it then.
        """


class ArrayTrace(Trace):
    """A trace held in arrays: addresses, and optionally kinds and groups of the same length.

    Arrays hold unsigned, or signed but not negative, integers. They are not copied where the type fits. Raises
    ``InputError`` for other contents, unequal lengths and an empty trace.
    """

    def __init__(self, address: Any, kind: Any = None, group: Any = None, name: str = "array") -> None:
        self.name = name
        self._all = Accesses(
            addresses(address, Place(name, path="address")),
            None if kind is None else kinds(kind, Place(name, path="kind")),
            None if group is None else addresses(group, Place(name, path="group")),
        )
        if not len(self._all):
            raise empty_trace(name)
        for path, column in (("kind", self._all.kind), ("group", self._all.group)):
            if column is not None and len(column) != len(self._all):
                allowed = f"{len(self._all)}, one for each address"
                raise InputError("wrong number of entries", Place(name, path=path), value=len(column), allowed=allowed)

    def __len__(self) -> int:
        return len(self._all)

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        """Views of the arrays; copies of what is read-only or has gaps, for which Numba would compile again."""
        return (
            Accesses(
                _usable(part.address),
                None if part.kind is None else _usable(part.kind),
                None if part.group is None else _usable(part.group),
            )
            for part in self._all.split(at_least_one(most))
        )


def _usable(column: NDArray[Any]) -> NDArray[Any]:
    return np.require(column, requirements=["C", "W"])


def as_trace(source: Trace | Any) -> Trace:
    """A trace as it is; an array or a sequence of integers as an ``ArrayTrace``. Files: ``readers.open_trace``."""
    if isinstance(source, Trace):
        return source
    if isinstance(source, str | Path):
        raise InputError("a file has to be opened first", value=str(source), allowed="open_trace(path), or an array")
    return ArrayTrace(source)


def read_all(trace: Trace | Any) -> Accesses:
    """All accesses of a trace as one, in memory."""
    source = as_trace(trace)
    chunks = list(source.chunks())
    if not chunks:
        raise empty_trace(source.name)
    kind = [chunk.kind for chunk in chunks if chunk.kind is not None]
    group = [chunk.group for chunk in chunks if chunk.group is not None]
    return Accesses(
        np.concatenate([chunk.address for chunk in chunks]),
        np.concatenate(kind) if kind else None,
        np.concatenate(group) if group else None,
    )


def line_shift(line_bytes: int) -> int:
    """log2 of the line size, by which an address is shifted to give its key; InputError unless a power of two."""
    whole = isinstance(line_bytes, int | np.integer) and not isinstance(line_bytes, bool)
    if not whole or line_bytes < 1 or int(line_bytes).bit_count() != 1 or line_bytes >= 2**63:
        raise InputError("line size is not a power of two", value=line_bytes, allowed="1, 2, 4, ... bytes")
    return int(line_bytes).bit_length() - 1


def at_least(what: str, value: Any, least: int) -> int:
    """The value as an int. InputError unless a whole number of ``least`` or more."""
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(what, value=value, allowed=f"a whole number of {least} or more")
    return number


def at_least_one(most: int) -> int:
    """The largest size of a chunk, checked."""
    return at_least("accesses of the chunks of a trace", most, 1)


def empty_trace(name: str) -> InputError:
    """The error for a trace in which there is nothing."""
    return InputError("the trace is empty: it holds no access", Place(name), allowed="one access or more")


def addresses(values: Any, place: Place) -> Addresses:
    """The values as uint64 (n,), not copied where that is what they are; InputError for anything but addresses."""
    array = integers(values, place)
    if (at := first_negative(array)) is not None:
        allowed = f"0 to {MOST_ADDRESS}"
        raise InputError(f"entry {at} is negative", place, value=int(array[at]), allowed=allowed)
    # As a view where it can be: signed integers that are not negative have the same bits.
    as_native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return as_native.view(np.uint64) if as_native.dtype == np.int64 else as_native.astype(np.uint64, copy=False)


def kinds(values: Any, place: Place) -> Kinds:
    """The values as uint8 (n,); InputError for anything but kinds of accesses."""
    array = integers(values, place)
    wrong = (array < LOAD) | (array > FETCH)
    if np.any(wrong):
        at = int(np.argmax(wrong))
        allowed = f"{LOAD} load, {STORE} store, {MODIFY} modify, {FETCH} instruction fetch"
        raise InputError(f"entry {at} is no kind of access", place, value=int(array[at]), allowed=allowed)
    return array.astype(np.uint8, copy=False)


def integers(values: Any, place: Place) -> NDArray[Any]:
    """The values as a one-dimensional array of integers, and nothing else."""
    try:
        array = np.asarray(values)
        if not isinstance(values, np.ndarray) and all(isinstance(value, int) for value in values):
            # NumPy makes floats of small and huge integers together, and of no integers.
            array = np.asarray(values, np.int64 if min(values, default=0) < 0 else np.uint64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"not an array of addresses: {error}", place, allowed=f"0 to {MOST_ADDRESS}") from None
    if array.ndim != 1:
        raise InputError("array has the wrong shape", place, value=array.shape, allowed="one dimension")
    if array.dtype.kind not in "iu":
        raise InputError("array is not of integers", place, value=str(array.dtype), allowed="addresses up to 2^64 - 1")
    return array


def first_negative(array: NDArray[Any]) -> int | None:
    """Where the first negative entry stands."""
    return int(np.argmax(array < 0)) if array.dtype.kind == "i" and array.size and array.min() < 0 else None
