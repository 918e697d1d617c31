"""Buffers as mpi4py takes them: an array, or a list of it with a count, or counts and places, and a type."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.mpi.objects.datatypes import KNOWN_DTYPES, Datatype, of_dtype
from simcodesign.mpi.objects.layouts import Layout
from simcodesign.mpi.objects.memory import bytes_at, memory_of
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError, UnfitBufferError
from simcodesign.mpi.values.markers import BottomType

Flat = NDArray[Any]


class Scattered:
    """Items of a derived datatype in memory, with gaps or in another order than they are sent.

    ``layout``: of one item, ``dtype``: of its basic elements.
    """

    def __init__(self, memory: NDArray[np.uint8], layout: Layout, dtype: np.dtype[Any], at: int, count: int) -> None:
        self._memory, self._layout, self._dtype, self._at, self._count = memory, layout, dtype, at, count

    @property
    def flags(self) -> Any:
        """NumPy's flags of the memory."""
        return self._memory.flags

    @property
    def nbytes(self) -> int:
        """Bytes of all items, without gaps."""
        return self._count * self._layout.size

    def copy(self) -> Flat:
        """Return the basic elements of all items, in the order of sending."""
        data = self._layout.gather(self._memory, self._at, self._count)
        return data.view(self._dtype) if len(data) % self._dtype.itemsize == 0 else data

    def put(self, data: NDArray[np.uint8]) -> None:
        """Put bytes, in the order of sending, where the items have them."""
        self._layout.scatter(self._memory, self._at, data)


class Buffer:
    """Items of a datatype in memory; with counts and places of each rank's part if given.

    ``flat``: the basic elements, of memory itself for items without gaps; otherwise a copy.
    """

    counts: list[int] | None = None
    displs: list[int] | None = None
    _count: int | None = None
    _at = 0
    _is_absolute = False  # places are addresses

    def __init__(self, given: Any) -> None:
        self._is_whole = isinstance(given, np.ndarray)  # all of an array, the usual case
        if self._is_whole:
            self._memory = memory_of(given)
            self._datatype = of_dtype(given.dtype)
            return
        memory, count, displs, datatype = _split(given)
        self._is_absolute = isinstance(memory, BottomType)
        self._memory = memory_of(memory)
        self._datatype = of_dtype(self._memory.dtype) if datatype is None else datatype
        self._datatype.check_committed()
        if _is_many(count):
            self.counts = [index(one) for one in count]
        elif count is not None:
            self._count = index(count)
        if _is_many(displs):
            self.displs = [index(one) for one in displs]
        elif displs is not None:
            self._at = index(displs)

    @property
    def items(self) -> Flat | Scattered:
        """All items."""
        if self._is_whole:
            return self._memory
        return self._items(self._at, self._whole() if self._count is None else self._count)

    @property
    def flat(self) -> Flat:
        """The basic elements of all items."""
        items = self.items
        return items.copy() if isinstance(items, Scattered) else items

    @property
    def size_bytes(self) -> int:
        """Bytes of all items, without gaps."""
        return int(self.items.nbytes)

    def parts(self, ranks: int) -> list[Flat | Scattered]:
        """Return the part of each rank: equal ones, or of ``count`` items, or of the counts.

        Raises MpiError for another number of counts than of ranks, and for items outside of the memory.
        """
        if self.counts is None:
            whole = self._whole() if self._count is None else self._count * ranks
            if whole % ranks:
                allowed = f"a multiple of the {ranks} parts, or counts"
                raise MpiError(
                    "the elements of a buffer cannot be divided equally among the ranks",
                    place_of_call(),
                    value=whole,
                    allowed=allowed,
                )
            each = whole // ranks
            counts = [each] * ranks
            displs = [self._at + each * rank for rank in range(ranks)] if self.displs is None else self.displs
        else:
            counts = self.counts
            displs = [0, *accumulate(counts)][: len(counts)] if self.displs is None else self.displs
        if not len(counts) == len(displs) == ranks:
            value = len(counts) if len(counts) != ranks else len(displs)
            raise MpiError(
                "a buffer needs one count and one place for each rank",
                place_of_call(),
                value=value,
                allowed=f"{ranks}, the number of ranks",
            )
        return [self._items(at, count) for at, count in zip(displs, counts, strict=True)]

    def take(self, data: Flat) -> None:
        """Copy data to the beginning. Raises MpiError if there is not enough room (MPI's truncation error)."""
        fill(self.items, data)

    def _whole(self) -> int:
        """How many items the memory has. Raises MpiError for a part of one, as mpi4py does."""
        size, extent = self._memory.nbytes - self._at * self._datatype.extent, self._datatype.extent
        if size <= 0:
            return 0
        if extent <= 0 or size % extent:
            raise MpiError(
                "the bytes of a buffer are not a whole number of elements",
                place_of_call(),
                value=size,
                allowed=f"a multiple of {extent}",
            )
        return size // extent

    def _items(self, at: int, count: int) -> Flat | Scattered:
        datatype, layout = self._datatype, self._datatype.layout
        first = at * layout.extent
        low, high = layout.bounds_of(count)
        if self._is_absolute and count > 0:
            return items_at_address(first, datatype, count)
        if count < 0 or (count and not 0 <= first + low <= first + high <= self._memory.nbytes):
            value, allowed = f"{count} elements from {at} on", f"within {self._memory.nbytes} B"
            raise MpiError("a part of a buffer lies outside its memory", place_of_call(), value=value, allowed=allowed)
        if not count or not layout.size:
            return self._memory[:0]
        if not layout.is_dense:
            return Scattered(self._memory.view(np.uint8), layout, datatype.dtype, at, count)
        each = self._memory.dtype.itemsize
        if datatype.dtype == self._memory.dtype:
            return self._memory[first // each : first // each + count * layout.extent // each]
        return self._memory.view(np.uint8)[first : first + count * layout.extent].view(datatype.dtype)


def items_of(given: Any) -> Flat | Scattered:
    """Return all items of a buffer."""
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.flags.c_contiguous and given.dtype in KNOWN_DTYPES:
        return given  # the usual case, of which a Buffer has the same items
    return Buffer(given).items


def items_from(memory: NDArray[np.uint8], at_byte: int, datatype: Datatype, count: int) -> Flat | Scattered:
    """Return ``count`` items whose first one begins at a byte of memory, which has all of them."""
    layout, (low, high) = datatype.layout, datatype.layout.bounds_of(count) if count else (0, 0)
    own = memory[at_byte + low : at_byte + high]
    if not len(own) or layout.is_dense:
        return own.view(datatype.dtype)
    return Scattered(own, replace(layout, offsets=layout.offsets - low), datatype.dtype, 0, count)


def items_at_address(address: int, datatype: Datatype, count: int) -> Flat | Scattered:
    """Return ``count`` items whose first one begins at an address, as from MPI.BOTTOM on."""
    if not count or not datatype.layout.size:
        return np.zeros(0, datatype.dtype)
    low, high = datatype.layout.bounds_of(count)
    return items_from(bytes_at(address + low, address + high), -low, datatype, count)


def fill(room: Flat | Scattered, data: Flat | bytes) -> None:
    """Copy ``data``, elements or the bytes of an object, to the beginning of ``room``.

    It is copied byte by byte if the types differ.
    """
    if isinstance(data, bytes):
        data = Buffer(data).flat
    if data.nbytes > room.nbytes:
        what = "a message is longer than its buffer (MPI_ERR_TRUNCATE)"
        raise MpiError(what, place_of_call(), value=f"{data.nbytes} B", allowed=f"up to {room.nbytes} B")
    if data.nbytes and not room.flags.writeable:
        raise UnfitBufferError(
            "the buffer to receive into is read-only", place_of_call(), allowed="a buffer that can be written to"
        )
    if isinstance(room, Scattered):
        room.put(data.view(np.uint8))
    elif data.dtype == room.dtype:
        room[: len(data)] = data
    else:
        room.view(np.uint8)[: data.nbytes] = data.view(np.uint8)


def by_stride(given: Any, ranks: int) -> Any:
    """Return a buffer whose one place, of a ``v`` operation, is the distance from each rank's part to the next."""
    memory, count, displs, datatype = _split(given)
    if displs is None or _is_many(displs):
        return given
    return [memory, count, [int(displs) * rank for rank in range(ranks)], datatype]


def _split(given: Any) -> tuple[Any, Any, Any, Datatype | None]:
    """Return memory, count or counts, place or places, and datatype; None for what is not given."""
    if not isinstance(given, list | tuple):
        return given, None, None, None
    memory, *rest = given
    datatype = None
    if rest and rest[-1] is None and (len(rest) == 3 or (len(rest) == 2 and _is_pair(rest[0]))):
        rest.pop()
    if rest and isinstance(rest[-1], Datatype | str):
        last = rest.pop()
        datatype = Datatype.fromcode(last) if isinstance(last, str) else last
    if len(rest) == 1 and _is_pair(rest[0]):
        rest = list(rest[0])
    if len(rest) > 2:
        allowed = "up to 4: buffer, counts, places, datatype"
        raise MpiError(
            "a list that describes a buffer has too many items", place_of_call(), value=len(given), allowed=allowed
        )
    count, displs = [*rest, None, None][:2]
    return memory, count, displs, datatype


def _is_pair(value: Any) -> bool:
    """Return whether these are counts and places, as mpi4py has them in a tuple; or nested in a list."""
    if not isinstance(value, list | tuple):
        return False
    return len(value) == 2 and (isinstance(value, tuple) or _is_many(value[0]) or None in value)


def _is_many(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and np.ndim(value) > 0
