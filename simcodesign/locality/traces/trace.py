"""Address traces: chunks of start addresses, each with its kind and the instruction that issued it.

Conventions of the whole package. A *key* is ``address >> log2(line_bytes)``. An access across two lines counts as one
access to each, if the trace has sizes (``Trace.by_line``); without sizes only start addresses count. A modify is one
access. *Stack distance*: distinct other keys accessed
strictly between two uses of a key (0 = touched twice in succession); *reuse distance*: accesses strictly between two
uses. The first touch of a key is cold (-1) and is counted apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place

#: Kinds of an access. A fetch appears only in traces that are read with their instructions.
LOAD, STORE, MODIFY, FETCH = 0, 1, 2, 3
#: Accesses in a chunk by default.
CHUNK = 1 << 20
#: Accesses to lines made of a chunk at a time.
MOST_TOUCHED = 4 * CHUNK
#: Largest address.
MOST_ADDRESS = 2**64 - 1
#: Largest size of an access in bytes. Larger ones in a text are taken as this.
MOST_SIZE = 2**16

Addresses = NDArray[np.uint64]
Kinds = NDArray[np.uint8]
Sizes = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Accesses:
    """A chunk of n consecutive accesses: start addresses in bytes, and the other columns of the trace.

    ``group`` is the address of the instruction that issued the access (0 before the first one that the trace names);
    ``size`` is in bytes.
    """

    address: Addresses  # (n,)
    kind: Kinds | None = None  # (n,), LOAD, STORE, MODIFY or FETCH
    group: Addresses | None = None  # (n,)
    size: Sizes | None = None  # (n,)

    def __len__(self) -> int:
        return len(self.address)

    def __getitem__(self, part: slice) -> Accesses:
        """Return the accesses of a slice, as views."""
        address, kind, group, size = (
            None if column is None else column[part] for column in (self.address, self.kind, self.group, self.size)
        )
        return Accesses(address, kind, group, size)  # type: ignore[arg-type] # each as it was

    def by_line(self, shift: int) -> Iterator[Accesses]:
        """Yield the accesses by lines of 2^shift bytes: one that touches several lines is one access to each of them.

        The further ones begin at the beginning of their line. The results have no sizes.
        """
        if self.size is None:
            yield self
            return
        bits = np.uint64(shift)
        first = self.address >> bits
        end = self.address + np.maximum(self.size, 1).astype(np.uint64) - np.uint64(1)
        further = (np.maximum(end, self.address) >> bits) - first  # beyond the last address nothing is touched
        if not further.any():
            yield Accesses(self.address, self.kind, self.group)
            return
        touched = further.astype(np.int64) + 1
        if touched.sum() > MOST_TOUCHED and len(self) > 1:
            for part in (slice(None, len(self) // 2), slice(len(self) // 2, None)):
                yield from self[part].by_line(shift)
            return
        source = np.repeat(np.arange(len(self)), touched)
        place = np.arange(len(source)) - np.repeat(np.cumsum(touched) - touched, touched)
        begins = (first[source] + place.astype(np.uint64)) << bits
        address = np.where(place == 0, self.address[source], begins)
        kind = None if self.kind is None else self.kind[source]
        yield Accesses(address, kind, None if self.group is None else self.group[source])

    def split(self, most: int) -> Iterator[Accesses]:
        """Yield these accesses in pieces of at most ``most``."""
        return (self[start : start + most] for start in range(0, len(self), most))


class Repeated(NamedTuple):
    """A trace in parts, one after another: ``before``, ``period``, ``rest``.

    Between the last two the period comes ``more`` times, with the same stack distances each time; the rest has the
    distances of its first turns.
    """

    before: Iterable[Accesses]
    period: Iterable[Accesses]
    rest: Iterable[Accesses]
    more: int


class Trace(ABC):
    """A stream of accesses that can be read again and again from its start, in chunks that fit in memory."""

    name: str

    @abstractmethod
    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        """All accesses in order, at most ``most`` (1 or more) at a time and never none.

        Either every chunk has kinds or none has; the same holds for groups and sizes. Raises ``InputError`` for a trace
        that is corrupt, cut off or empty, at the place of the first error: do not use any of it then.
        """

    def by_line(self, line_bytes: int, most: int = CHUNK) -> Iterator[Accesses]:
        """``chunks``, in which an access across lines is one access to each of them. They may be longer for that."""
        shift = line_shift(line_bytes)
        return (part for chunk in self.chunks(most) for part in chunk.by_line(shift))

    def repeated(self, line_bytes: int) -> Repeated | None:
        """Return these accesses in parts, if stack distances are known to repeat, so that most need not be counted."""
        return None


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
                raise InputError(
                    "the number of entries differs from the number of addresses",
                    Place(name, path=path),
                    value=len(column),
                    allowed=allowed,
                )

    def __len__(self) -> int:
        return len(self._all)

    def chunks(self, most: int = CHUNK) -> Iterator[Accesses]:
        """Yield views of the arrays; copies of what is read-only or has gaps."""
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
    """Return a trace as it is; an array or a sequence of integers as an ``ArrayTrace``.

    Files: ``readers.open_trace``.
    """
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
    size = [chunk.size for chunk in chunks if chunk.size is not None]
    return Accesses(
        np.concatenate([chunk.address for chunk in chunks]),
        np.concatenate(kind) if kind else None,
        np.concatenate(group) if group else None,
        np.concatenate(size) if size else None,
    )


def line_shift(line_bytes: int) -> int:
    """log2 of the line size, by which an address is shifted to give its key; InputError unless a power of two."""
    whole = isinstance(line_bytes, int | np.integer) and not isinstance(line_bytes, bool)
    if not whole or line_bytes < 1 or int(line_bytes).bit_count() != 1 or line_bytes >= 2**63:
        raise InputError("the size of a line must be a power of two", value=line_bytes, allowed="1, 2, 4, ... bytes")
    return int(line_bytes).bit_length() - 1


def at_least(what: str, value: Any, least: int) -> int:
    """Return the value as an int. InputError unless a whole number of ``least`` or more."""
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{what} must be a whole number", value=value, allowed=f"{least} or more")
    return number


def at_least_one(most: int) -> int:
    """Return the largest size of a chunk, checked."""
    return at_least("accesses of the chunks of a trace", most, 1)


def empty_trace(name: str) -> InputError:
    """Return the error for a trace in which there is nothing."""
    return InputError("the trace is empty: it holds no access", Place(name), allowed="one access or more")


def addresses(values: Any, place: Place) -> Addresses:
    """Return the values as uint64 (n,), not copied if they are; InputError for anything but addresses."""
    array = integers(values, place)
    if (at := first_negative(array)) is not None:
        allowed = f"0 to {MOST_ADDRESS}"
        raise InputError(f"entry {at} is negative", place, value=int(array[at]), allowed=allowed)
    # As a view if possible: signed integers that are not negative have the same bits.
    as_native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return as_native.view(np.uint64) if as_native.dtype == np.int64 else as_native.astype(np.uint64, copy=False)


def kinds(values: Any, place: Place) -> Kinds:
    """Return the values as uint8 (n,); InputError for anything but kinds of accesses."""
    array = integers(values, place)
    wrong = (array < LOAD) | (array > FETCH)
    if np.any(wrong):
        at = int(np.argmax(wrong))
        allowed = f"{LOAD} load, {STORE} store, {MODIFY} modify, {FETCH} instruction fetch"
        raise InputError(f"entry {at} is not a kind of access", place, value=int(array[at]), allowed=allowed)
    return array.astype(np.uint8, copy=False)


def sizes(values: Any, place: Place) -> Sizes:
    """Return the values as uint32 (n,); InputError for anything but sizes of accesses."""
    array = integers(values, place)
    wrong = (array < 0) | (array > MOST_SIZE)
    if np.any(wrong):
        at = int(np.argmax(wrong))
        raise InputError(
            f"entry {at} is not a size in range", place, value=int(array[at]), allowed=f"0 to {MOST_SIZE} bytes"
        )
    return array.astype(np.uint32, copy=False)


def integers(values: Any, place: Place) -> NDArray[Any]:
    """Return the values as a one-dimensional array of integers, and nothing else."""
    try:
        array = np.asarray(values)
        if not isinstance(values, np.ndarray) and all(isinstance(value, int) for value in values):
            # NumPy makes floats of small and huge integers together, and of no integers.
            array = np.asarray(values, np.int64 if min(values, default=0) < 0 else np.uint64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"not an array of addresses: {error}", place, allowed=f"0 to {MOST_ADDRESS}") from None
    if array.ndim != 1:
        raise InputError(
            "an array of a trace must have one dimension", place, value=array.shape, allowed="one dimension"
        )
    if array.dtype.kind not in "iu":
        raise InputError(
            "an array of a trace must contain integers",
            place,
            value=str(array.dtype),
            allowed="addresses up to 2^64 - 1",
        )
    return array


def first_negative(array: NDArray[Any]) -> int | None:
    """Index of the first negative entry."""
    return int(np.argmax(array < 0)) if array.dtype.kind == "i" and array.size and array.min() < 0 else None
