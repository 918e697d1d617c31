"""The bytes of a GOAL file from the arrays of a Schedule, in C (``goal_printer.c``)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import Record
from simcodesign.core.native.shared_library import required_library
from simcodesign.describe.goal.schedule import Schedule

#: No rank, operation or edge takes more bytes than this.
LONGEST = 128


class GoalColumns(Record):
    """The arrays of a Schedule, with whole nanoseconds and bytes in ``amount``."""

    struct = "goal_columns"
    use = "writing a GOAL file"


def printer(schedule: Schedule, amount: NDArray[np.int64]) -> Callable[[int, int, NDArray[np.uint8]], int]:
    """Return a function that writes the ranks from ``low`` to below ``high`` into ``out`` and returns how many bytes.

    ``amount`` (N,): whole nanoseconds of each calc, whole bytes of each message.
    """
    columns = GoalColumns(amount=amount)
    for name, dtype in columns.array_types.items():
        if name not in ("amount", "out"):
            array = np.ascontiguousarray(getattr(schedule, name))
            setattr(columns, name, array.view(dtype) if array.dtype == np.int8 else array)
    print_ranks = _functions().goal_print

    def put_ranks(low: int, high: int, out: NDArray[np.uint8]) -> int:
        columns.out = out
        written: int = print_ranks(ctypes.byref(columns), low, high)
        return written

    return put_ranks


@cache
def _functions() -> ctypes.CDLL:
    library = required_library("writing a GOAL file")
    library.goal_print.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    library.goal_print.restype = ctypes.c_int64
    return library
