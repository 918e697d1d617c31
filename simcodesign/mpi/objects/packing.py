"""Packing of items into bytes without gaps, in this computer's order of bytes or with the most significant first."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.mpi.objects.layouts import Layout
from simcodesign.mpi.objects.memory import memory_of
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError

#: The type of NumPy of datatypes whose basic elements differ.
MIXED = np.dtype("V1")


class Packed:
    """The part of datatypes that packs."""

    dtype: np.dtype[Any]
    layout: Layout

    @property
    def extent(self) -> int:
        """Bytes from one item to the next."""
        raise NotImplementedError

    def check_committed(self) -> None:
        """Raise MpiError for a datatype that MPI refuses in messages."""
        raise NotImplementedError

    def Pack(self, inbuf: Any, outbuf: Any, position: int, comm: Any) -> int:
        """Put the bytes of the items of a buffer into another from a position on; return the position after them."""
        items, room = self._items(inbuf), memory_of(outbuf).view(np.uint8)
        data = self.layout.gather(memory_of(inbuf).view(np.uint8), 0, items)
        if position + len(data) > len(room):
            what, allowed = "the packed data do not fit in the buffer", f"up to {len(room) - position} B"
            raise MpiError(what, place_of_call(), value=f"{len(data)} B", allowed=allowed)
        room[position : position + len(data)] = data
        return position + len(data)

    def Unpack(self, inbuf: Any, position: int, outbuf: Any, comm: Any) -> int:
        """Put bytes from a position on where the items of a buffer have them; return the position after them."""
        data = memory_of(inbuf).view(np.uint8)[position : position + self._items(outbuf) * self.layout.size]
        self.layout.scatter(memory_of(outbuf).view(np.uint8), 0, data)
        return position + len(data)

    def Pack_size(self, count: int, comm: Any) -> int:
        """Return the bytes of ``count`` packed items."""
        return count * self.layout.size

    def _items(self, buffer: Any) -> int:
        self.check_committed()
        return memory_of(buffer).nbytes // self.extent if self.extent > 0 else 0

    def Pack_external(self, datarep: str, inbuf: Any, outbuf: Any, position: int) -> int:
        """Put the bytes of the items of a buffer, with the most significant first, into another; return the end."""
        _check_external(datarep)
        end = self.Pack(inbuf, outbuf, position, None)
        self._swap(memory_of(outbuf).view(np.uint8)[position:end])
        return end

    def Unpack_external(self, datarep: str, inbuf: Any, position: int, outbuf: Any) -> int:
        """Put such bytes where the items of a buffer have them; return the position after them."""
        _check_external(datarep)
        data = memory_of(inbuf).view(np.uint8).copy()
        self._swap(data[position : position + self._items(outbuf) * self.layout.size])
        return self.Unpack(data, position, outbuf, None)

    def Pack_external_size(self, datarep: str, count: int) -> int:
        """Return the bytes of ``count`` items packed so."""
        _check_external(datarep)
        return count * self.layout.size

    def _swap(self, data: NDArray[np.uint8]) -> None:
        """Reverse the bytes of each basic element, on computers whose least significant byte is the first."""
        if self.dtype == MIXED:
            what = "a struct of several basic types cannot be packed externally"
            raise MpiError(what, place_of_call(), allowed="one basic type", name="TYPE")
        if sys.byteorder == "little" and self.dtype.itemsize > 1 and len(data):
            each = self.dtype.itemsize // (2 if self.dtype.kind == "c" else 1)
            data[:] = data.reshape(-1, each)[:, ::-1].ravel()


def _check_external(datarep: str) -> None:
    if datarep != "external32":
        raise MpiError("no such data representation", place_of_call(), value=datarep, allowed="'external32'")
