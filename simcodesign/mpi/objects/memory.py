"""The memory of an object of Python, as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.mpi.scheduler import place_of_call


def memory_of(given: Any) -> NDArray[Any]:
    """Return the elements of an object, in one row. Raises InputError for an object that has none, or gaps."""
    if isinstance(given, np.ndarray):
        if not (given.flags.c_contiguous or given.flags.f_contiguous):
            raise InputError("the elements of a buffer have gaps", place_of_call(), allowed="a contiguous array")
        if given.ndim == 1:
            return given
        return given.reshape(-1) if given.flags.c_contiguous else given.T.reshape(-1)
    if given is None:
        return np.zeros(0, np.uint8)
    try:
        view = memoryview(given)
    except TypeError:
        allowed = "an array, bytes, bytearray, or a list that begins with one"
        raise InputError("not a buffer", place_of_call(), value=type(given).__name__, allowed=allowed) from None
    return np.frombuffer(view, np.dtype(view.format) if view.format not in ("B", "c") else np.uint8)
