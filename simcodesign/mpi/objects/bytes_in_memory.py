"""``MPI.buffer``: bytes in memory, as of windows and ``Alloc_mem``."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from simcodesign.mpi.objects.memory import memory_of


class MemoryBytes(np.ndarray[Any, np.dtype[np.uint8]]):
    """Bytes of an object, which share its memory. A number may be assigned to all of them."""

    format = "B"

    def __new__(cls, buf: Any = None, /) -> MemoryBytes:
        """Return the bytes of an object; none without one."""
        return memory_of(buf).view(np.uint8).view(cls)

    @staticmethod
    def allocate(nbytes: int, clear: bool = False) -> MemoryBytes:
        """Return new bytes; all are 0."""
        return MemoryBytes(bytearray(nbytes))

    @staticmethod
    def frombuffer(obj: Any, readonly: bool = False) -> MemoryBytes:
        """Return the bytes of an object."""
        made = MemoryBytes(obj)
        return made.toreadonly() if readonly else made

    @staticmethod
    def fromaddress(address: int, nbytes: int, readonly: bool = False) -> MemoryBytes:
        """Return the bytes at an address of this process."""
        return MemoryBytes.frombuffer((ctypes.c_char * nbytes).from_address(address), readonly)

    def toreadonly(self) -> MemoryBytes:
        """Return the same bytes, which cannot be written to."""
        made = self.view()
        made.flags.writeable = False
        return made

    def release(self) -> None:
        """Do nothing: Python frees memory."""

    def cast(self, format: str, shape: Any = None) -> memoryview:
        """Return the bytes as elements of a format."""
        every: Any = self.data
        found: memoryview = every.cast(format) if shape is None else every.cast(format, shape)
        return found

    @property
    def address(self) -> int:
        """Where the bytes are."""
        return int(self.ctypes.data)

    @property
    def readonly(self) -> bool:
        """Whether the bytes cannot be written to."""
        return not self.flags.writeable

    @property
    def obj(self) -> Any:
        """The object whose bytes these are."""
        return self.base

    def __getitem__(self, item: Any) -> Any:
        found = super().__getitem__(item)
        return int(found) if isinstance(found, np.uint8) else found

    def __setitem__(self, item: Any, value: Any) -> None:
        is_memory = isinstance(value, (bytes, bytearray, memoryview))
        super().__setitem__(item, np.frombuffer(value, np.uint8) if is_memory else value)

    def __bool__(self) -> bool:
        return len(self) > 0
