"""Buffers as mpi4py takes them: an array, or a list of it with a count, or counts and places, and a type."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.mpi.names import Simulated
from simcodesign.mpi.scheduler import place_of_call

Flat = NDArray[Any]


class Datatype(Simulated):
    """A basic type of MPI, or a pair of a value and a place: the type of NumPy whose bytes it has."""

    def __init__(self, name: str, code: str) -> None:
        self.name, self.dtype = f"MPI_{name}", np.dtype(code, align="," in code)
        self.extent = self.dtype.itemsize
        self.size = sum(self.dtype[one].itemsize for one in self.dtype.names or ()) or self.extent

    def Get_size(self) -> int:
        """Return the bytes of one."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        """Return the lower bound and the extent, in bytes."""
        return 0, self.extent

    def Get_name(self) -> str:
        """Return MPI's name."""
        return self.name

    def __repr__(self) -> str:
        return self.name


_CODES = {
    "CHAR": "S1",
    "BYTE": "u1",
    "C_BOOL": "?",
    "BOOL": "?",
    "SIGNED_CHAR": "i1",
    "UNSIGNED_CHAR": "u1",
    "SHORT": "i2",
    "INT": "i4",
    "LONG": "i8",
    "LONG_LONG": "i8",
    "UNSIGNED_SHORT": "u2",
    "UNSIGNED": "u4",
    "UNSIGNED_LONG": "u8",
    "UNSIGNED_LONG_LONG": "u8",
    "FLOAT": "f4",
    "DOUBLE": "f8",
    "REAL4": "f4",
    "REAL8": "f8",
    "DOUBLE_PRECISION": "f8",
    "REAL": "f4",
    "INTEGER": "i4",
    "COMPLEX": "c8",
    "DOUBLE_COMPLEX": "c16",
    "C_FLOAT_COMPLEX": "c8",
    "C_DOUBLE_COMPLEX": "c16",
    "COMPLEX8": "c8",
    "COMPLEX16": "c16",
    "C_COMPLEX": "c8",
    "AINT": "i8",
    "OFFSET": "i8",
    "COUNT": "i8",
    **{f"INT{bits}_T": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}_T": f"u{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"INTEGER{size}": f"i{size}" for size in (1, 2, 4, 8)},
    # Pairs for MINLOC and MAXLOC, as C lays them out.
    "SHORT_INT": "i2,i4",
    "INT_INT": "i4,i4",
    "TWOINT": "i4,i4",
    "LONG_INT": "i8,i4",
    "FLOAT_INT": "f4,i4",
    "DOUBLE_INT": "f8,i4",
}
#: By name, as in ``MPI.DOUBLE``.
DATATYPES = {name: Datatype(name, code) for name, code in _CODES.items()}


class Buffer:
    """Elements in memory, ``flat``; with ``counts`` and ``displs`` of each rank's part, in elements, if given."""

    def __init__(self, given: Any) -> None:
        parts = list(given) if isinstance(given, list | tuple) else [given]
        array = _memory(parts.pop(0))
        if parts and isinstance(parts[-1], Datatype | str):
            named = parts.pop()
            dtype = DATATYPES_BY_CODE[named].dtype if isinstance(named, str) else named.dtype
            is_same_size = array.dtype.itemsize == dtype.itemsize and array.dtype.kind != "u" and dtype.names is None
            if array.dtype != dtype and not is_same_size:
                array = array.view(np.uint8).view(dtype)
        if len(parts) == 1 and isinstance(parts[0], tuple):  # as mpi4py does: a list has counts alone
            parts = list(parts[0])
        if len(parts) > 2:
            raise InputError("a buffer", place_of_call(), value=f"{len(parts)} parts", allowed="counts and places")
        self.flat = self._memory = array
        self.counts = None if not parts or parts[0] is None else parts[0]
        self.displs = None if len(parts) < 2 or parts[1] is None else [int(one) for one in parts[1]]
        if self.counts is not None and not _is_many(self.counts):
            self.flat = self.flat[: int(self.counts)]
        elif self.counts is not None:
            self.counts = [int(one) for one in self.counts]

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return int(self.flat.nbytes)

    def parts(self, ranks: int) -> list[Flat]:
        """Return the part of each rank: equal ones, or as many elements as a count says, or as counts say of each.

        Raises InputError if there are fewer or more counts than ranks, or a part is outside of the buffer.
        """
        whole, counts = len(self._memory), self.counts
        if counts is None:
            if ranks and whole % ranks and self.displs is None:
                what, allowed = "elements of a buffer", f"a multiple of the {ranks} parts, or counts"
                raise InputError(what, place_of_call(), value=whole, allowed=allowed)
            counts = whole // ranks if ranks else 0
        counts = counts if isinstance(counts, list) else [int(counts)] * ranks
        displs = [0, *accumulate(counts)][: len(counts)] if self.displs is None else self.displs
        if not len(counts) == len(displs) == ranks:
            value = len(counts) if len(counts) != ranks else len(displs)
            raise InputError("counts or places of a buffer", place_of_call(), value=value, allowed=f"{ranks}")
        for at, count in zip(displs, counts, strict=True):
            if count < 0 or at < 0 or (count and at + count > whole):
                given, allowed = f"{count} elements from {at} on", f"within the {whole} of the buffer"
                raise InputError("a part of a buffer", place_of_call(), value=given, allowed=allowed)
        return [self._memory[at : at + count] for at, count in zip(displs, counts, strict=True)]

    def take(self, data: Flat) -> None:
        """Copy data to the beginning. Raises InputError if there is not enough room (MPI's truncation error)."""
        fill(self.flat, data)


#: By the letter of NumPy, as in ``[array, 'd']``.
DATATYPES_BY_CODE: dict[str, Datatype] = {
    one.dtype.char: one for one in reversed(DATATYPES.values()) if one.dtype.names is None
}


def fill(room: Flat, data: Flat) -> None:
    """Copy ``data`` to the beginning of ``room``, byte by byte if the types differ."""
    if data.nbytes > room.nbytes:
        what = "a message is longer than its buffer (MPI_ERR_TRUNCATE)"
        raise InputError(what, place_of_call(), value=f"{data.nbytes} B", allowed=f"up to {room.nbytes} B")
    if data.dtype == room.dtype:
        room[: len(data)] = data
    else:
        room.view(np.uint8)[: data.nbytes] = data.view(np.uint8)


def _is_many(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _memory(given: Any) -> Flat:
    """Return the elements of an object, in one row."""
    if isinstance(given, np.ndarray):
        if not (given.flags.c_contiguous or given.flags.f_contiguous):
            raise InputError("the elements of a buffer have gaps", place_of_call(), allowed="a contiguous array")
        return given.reshape(-1, order="A") if given.flags.c_contiguous else given.T.reshape(-1)
    if given is None:
        return np.zeros(0, np.uint8)
    try:
        view = memoryview(given)
    except TypeError:
        allowed = "an array, bytes, bytearray, or a list that begins with one"
        raise InputError("not a buffer", place_of_call(), value=type(given).__name__, allowed=allowed) from None
    return np.frombuffer(view, np.dtype(view.format) if view.format not in ("B", "c") else np.uint8)
