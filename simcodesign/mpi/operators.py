"""Operations of reductions: what MPI.SUM and the others do to arrays and to objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np


class Op:
    """An operation of two values; ``buffers``: of two arrays, where it differs."""

    def __init__(self, name: str, function: Callable[[Any, Any], Any], buffers: Callable[[Any, Any], Any]) -> None:
        self.name, self._function, self.buffers = name, function, buffers

    def __call__(self, x: Any, y: Any) -> Any:
        return self._function(x, y)

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Any], Any], commute: bool = False) -> Op:
        """Return an operation of the user's: ``function(in, inout, datatype)`` of buffers, whose second it changes."""

        def of_buffers(one: Any, other: Any) -> Any:
            changed = other.copy()
            function(memoryview(one), memoryview(changed), None)
            return changed

        return cls("user", lambda x, y: function(x, y, None), of_buffers)

    def Is_commutative(self) -> bool:
        """Return whether the order of the values does not matter."""
        return self.name != "user"

    def Free(self) -> None:
        """Do nothing: Python frees it."""

    def fold(self, values: list[Any], *, arrays: bool) -> Any:
        """Return the values combined, in the order of their ranks."""
        return reduce(self.buffers if arrays else self._function, values)


def _of_either(ufunc: np.ufunc, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        return ufunc(x, y) if isinstance(x, np.ndarray) or isinstance(y, np.ndarray) else plain(x, y)

    return function


def _located(better: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        if x[0] == y[0]:
            return (x[0], min(x[1], y[1]))
        return x if better(x[0], y[0]) else y

    return function


def _refused(x: Any, y: Any) -> Any:
    raise TypeError("MPI.MINLOC and MPI.MAXLOC of buffers are not simulated (allowed: pairs, as in comm.allreduce)")


def _logical(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    return lambda x, y: ufunc(x, y).astype(x.dtype)


#: By name, as in ``MPI.SUM``.
OPERATORS = {
    "SUM": Op("sum", lambda x, y: x + y, np.add),
    "PROD": Op("prod", lambda x, y: x * y, np.multiply),
    "MAX": Op("max", _of_either(np.maximum, max), np.maximum),
    "MIN": Op("min", _of_either(np.minimum, min), np.minimum),
    "LAND": Op("land", lambda x, y: bool(x) and bool(y), _logical(np.logical_and)),
    "LOR": Op("lor", lambda x, y: bool(x) or bool(y), _logical(np.logical_or)),
    "LXOR": Op("lxor", lambda x, y: bool(x) != bool(y), _logical(np.logical_xor)),
    "BAND": Op("band", lambda x, y: x & y, np.bitwise_and),
    "BOR": Op("bor", lambda x, y: x | y, np.bitwise_or),
    "BXOR": Op("bxor", lambda x, y: x ^ y, np.bitwise_xor),
    "MAXLOC": Op("maxloc", _located(lambda x, y: x > y), _refused),
    "MINLOC": Op("minloc", _located(lambda x, y: x < y), _refused),
}
