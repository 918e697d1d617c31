"""The memory of an object of Python, as an array."""

from __future__ import annotations

import ctypes
import os
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.mpi.objects.dlpack import array_of_dlpack
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError, NotABufferError, UnfitBufferError
from simcodesign.mpi.values.markers import BottomType


def memory_of(given: Any) -> NDArray[Any]:
    """Return the elements of an object, in one row.

    Raises NotABufferError for an object that has none, and UnfitBufferError for gaps.
    """
    if isinstance(given, np.ndarray):
        plain: NDArray[Any] = given if type(given) is np.ndarray else given.view(np.ndarray)
        if not (plain.flags.c_contiguous or plain.flags.f_contiguous):
            raise UnfitBufferError("the elements of a buffer have gaps", place_of_call(), allowed="a contiguous array")
        if plain.ndim == 1:
            return plain
        return plain.reshape(-1) if plain.flags.c_contiguous else plain.T.reshape(-1)
    if given is None or isinstance(given, BottomType):
        return np.zeros(0, np.uint8)
    try:
        view = memoryview(given)
    except TypeError:
        return memory_of(_shared(given))
    return np.frombuffer(view, np.dtype(view.format) if view.format not in ("B", "c") else np.uint8)


def bytes_at(begin: int, end: int) -> NDArray[np.uint8]:
    """Return the bytes from an address of this process to another. Raises MpiError if it cannot read them."""
    if not (_is_readable(begin) and _is_readable(end - 1)):
        value = f"{end - begin} B at address {begin}"
        raise MpiError(
            "an address from MPI.BOTTOM on cannot be read",
            place_of_call(),
            value=value,
            allowed="memory of the program",
        )
    return np.frombuffer(memoryview((ctypes.c_char * (end - begin)).from_address(begin)), np.uint8)


def _shared(given: Any) -> NDArray[Any]:
    """Return the array of an object that shares its memory by DLPack or by the interface of arrays of CUDA."""
    if hasattr(given, "__dlpack__"):
        return array_of_dlpack(given)
    interface = getattr(given, "__cuda_array_interface__", None)
    allowed = "an array, bytes, bytearray, or a list that begins with one"
    if interface is None:
        raise NotABufferError(
            "this object is not a buffer", place_of_call(), value=type(given).__name__, allowed=allowed
        )
    if interface["data"][0] and not _is_readable(interface["data"][0]):
        raise MpiError(
            "this object is in the memory of a GPU", place_of_call(), value=type(given).__name__, allowed=allowed
        )
    return np.asarray(SimpleNamespace(__array_interface__={**interface, "version": 3}))


def _is_readable(address: int) -> bool:
    """Return whether this process can read an address: the system call fails where Python would crash."""
    reader, writer = os.pipe()
    try:
        os.write(writer, ctypes.c_char.from_address(address))
    except OSError:
        return False
    finally:
        os.close(reader)
        os.close(writer)
    return True
