"""``MPI.buffer``: bytes in memory, as of windows and ``Alloc_mem``."""

from __future__ import annotations

import ctypes
import operator
from typing import Any, NoReturn

import numpy as np

from simcodesign.mpi.objects.memory import memory_of
from simcodesign.mpi.values.errors import MpiError

_NOTHING = object()


class MemoryBytes(np.ndarray[Any, np.dtype[np.uint8]]):
    """Bytes of an object, which share its memory. A number may be assigned to all of them.

    It has what mpi4py's class has, and equals itself alone; ``obj``: the object, None of an address.
    """

    format = "B"
    obj: Any = None
    _is_released = False

    def __new__(cls, buf: Any = _NOTHING, /) -> MemoryBytes:
        """Return the bytes of an object; none without one. Raises TypeError for an object that has no bytes."""
        try:
            if buf is None:
                raise TypeError("None has no bytes in memory")
            made = memory_of(bytearray() if buf is _NOTHING else buf).view(np.uint8).view(cls)
        except MpiError as error:
            raise TypeError(f"an object of {type(buf).__name__} has no bytes in memory") from error
        made.obj, made._is_released = (None, True) if buf is _NOTHING else (buf, False)
        return made

    def __array_finalize__(self, of: Any) -> None:
        self.obj = getattr(of, "obj", None)

    @staticmethod
    def allocate(nbytes: int, clear: bool = False) -> MemoryBytes:
        """Return new bytes; all are 0. Raises ValueError for a negative number."""
        size = operator.index(nbytes)
        if size < 0:
            raise ValueError(f"the number of bytes of memory is negative, got {size} (allowed: 0 or more)")
        return MemoryBytes(bytearray(size))

    @staticmethod
    def frombuffer(obj: Any, readonly: bool = False) -> MemoryBytes:
        """Return the bytes of an object."""
        made = MemoryBytes(obj)
        return made.toreadonly() if readonly else made

    @staticmethod
    def fromaddress(address: int, nbytes: int, readonly: bool = False) -> MemoryBytes:
        """Return the bytes at an address of this process. Raises ValueError for address 0 and for negative bytes."""
        if nbytes < 0 or (nbytes and not address):
            raise ValueError(
                f"memory cannot have {nbytes} bytes at address {address} (allowed: 0 bytes or more, at another address)"
            )
        made = MemoryBytes.frombuffer((ctypes.c_char * nbytes).from_address(address) if nbytes else b"", readonly)
        made.obj = None
        return made

    def toreadonly(self) -> MemoryBytes:
        """Return the same bytes, which cannot be written to."""
        made = self.view()
        made.flags.writeable = False
        return made

    def release(self) -> None:
        """Become empty. Python frees the memory when nothing else uses it."""
        self.obj, self._is_released = None, True

    def tobytes(self, order: str | None = None) -> bytes:
        """Return a copy of the bytes, which have one order."""
        return self.view(np.ndarray).tobytes() if len(self) else b""

    def cast(self, format: str, shape: Any = None) -> memoryview:
        """Return the bytes as elements of a format."""
        every: Any = self.data
        found: memoryview = every.cast(format) if shape is None else every.cast(format, shape)
        return found

    @property
    def address(self) -> int:
        """Where the bytes are; 0 after a release."""
        return 0 if self._is_released else int(self.ctypes.data)

    @property
    def nbytes(self) -> int:
        """How many bytes there are; 0 after a release."""
        return len(self)

    @property
    def readonly(self) -> bool:
        """Whether the bytes cannot be written to."""
        return not (self._is_released or self.flags.writeable)

    def __len__(self) -> int:
        return 0 if self._is_released else super().__len__()

    def __getitem__(self, item: Any) -> Any:
        found = super().__getitem__(_checked(item))
        return int(found) if isinstance(found, np.uint8) else found

    def __setitem__(self, item: Any, value: Any) -> None:
        if self.readonly:
            raise TypeError("the bytes cannot be written to")
        place = _checked(item)
        if not isinstance(place, slice) or isinstance(value, int):
            super().__setitem__(place, value)
            return
        room, data = super().__getitem__(place).view(np.ndarray), memory_of(value).view(np.uint8)
        if len(room) != len(data):
            raise ValueError(
                f"the number of bytes to assign differs from the range, got {len(data)} (allowed: {len(room)})"
            )
        room[:] = data

    def __delitem__(self, item: Any) -> NoReturn:
        raise NotImplementedError("bytes in memory cannot be deleted")

    def __bool__(self) -> bool:
        return len(self) > 0

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__  # type: ignore[assignment]


def _checked(item: Any) -> int | slice:
    """Return a place or a range. Raises IndexError for a range with steps, TypeError for what is neither."""
    if not isinstance(item, slice):
        return operator.index(item)
    if item.step not in (None, 1):
        raise IndexError(f"a range of bytes cannot have this step, got {item.step} (allowed: 1)")
    return item
