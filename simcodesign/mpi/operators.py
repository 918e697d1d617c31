"""Operations of reductions, MPI.SUM and others, on arrays and on objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from simcodesign.mpi.buffers import Buffer, Flat, fill
from simcodesign.mpi.names import Simulated
from simcodesign.mpi.objects.bytes_in_memory import MemoryBytes
from simcodesign.mpi.objects.datatypes import of_dtype
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError


class Op(Simulated):
    """An operation of two values; ``buffers``: of two arrays, if it differs. ``commutes``: in any order."""

    empty_is_null = is_predefined = True
    _user: Callable[..., Any] | None = None

    def __init__(
        self,
        name: str,
        function: Callable[[Any, Any], Any],
        buffers: Callable[[Any, Any], Any],
        commutes: bool = True,
        is_predefined: bool = True,
    ) -> None:
        self.name, self._function, self.buffers = name, function, buffers
        self.is_commutative, self.is_predefined = commutes, is_predefined

    def __call__(self, x: Any, y: Any) -> Any:
        return self._function(x, y)

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Any], Any], commute: bool = False) -> Op:
        """Return an operation of the user's: ``function(in, inout, datatype)`` of buffers, whose second it changes."""

        def of_buffers(one: Any, other: Any) -> Any:
            changed, datatype = other.copy(), of_dtype(other.dtype)
            function(MemoryBytes(one), MemoryBytes(changed), datatype)
            return changed

        made: Op = cls("user", lambda x, y: function(x, y, None), of_buffers, commute, is_predefined=False)
        made._user = function
        return made

    def __reduce__(self) -> Any:
        """Return how an operation of the program is made again, or a constant found."""
        return super().__reduce__() if self._user is None else (Op.Create, (self._user, self.is_commutative))

    def Is_commutative(self) -> bool:
        """Return whether the order of the values does not matter."""
        return self.is_commutative

    def Free(self) -> None:
        """Become OP_NULL. Raises MpiError for one of MPI's own."""
        self.check()
        if self.is_predefined:
            raise MpiError("a predefined operation of MPI cannot be freed", place_of_call(), value=self.name, name="OP")
        self.__dict__.clear()

    def __bool__(self) -> bool:
        return bool(self.__dict__)

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:
        """Combine two buffers of this rank in the second."""
        one, other = Buffer(inbuf).flat, Buffer(inoutbuf).flat
        if len(one) != len(other):
            value, allowed = [len(one), len(other)], "the same number in both"
            raise MpiError("two buffers to reduce differ in length", place_of_call(), value=value, allowed=allowed)
        fill(other, self.buffers(one, other))

    def fold(self, values: list[Flat]) -> Flat:
        """Return arrays combined, in the order of their ranks."""
        return reduce(self.buffers, values)


def _of_either(ufunc: np.ufunc, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        return ufunc(x, y) if isinstance(x, np.ndarray) or isinstance(y, np.ndarray) else plain(x, y)

    return function


def _located(better: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        takes_x = x[1] <= y[1] if x[0] == y[0] else better(x[0], y[0])
        return tuple(x if takes_x else y)

    return function


def _located_in_buffers(better: np.ufunc) -> Callable[[Flat, Flat], Flat]:
    """Return an operation of arrays of pairs of a value and a place; of equal values the smaller place."""

    def function(x: Flat, y: Flat) -> Flat:
        if x.dtype.names is None:
            allowed = "a type of pairs, such as MPI.DOUBLE_INT"
            what = "MPI.MINLOC and MPI.MAXLOC need pairs of a value and a place"
            raise MpiError(what, place_of_call(), value=str(x.dtype), allowed=allowed)
        value, place = x.dtype.names
        takes_x = better(x[value], y[value]) | ((x[value] == y[value]) & (x[place] < y[place]))
        return np.where(takes_x, x, y)

    return function


def _logical(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    return lambda x, y: ufunc(x, y).astype(x.dtype)


def _first(x: Any, y: Any) -> Any:
    return x


def _second(x: Any, y: Any) -> Any:
    return y


#: Operators by name, as in ``MPI.SUM``.
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
    "MAXLOC": Op("maxloc", _located(lambda x, y: x > y), _located_in_buffers(np.greater)),
    "MINLOC": Op("minloc", _located(lambda x, y: x < y), _located_in_buffers(np.less)),
    # For windows: the given value replaces the present one, or leaves it.
    "REPLACE": Op("replace", _second, _second, commutes=False),
    "NO_OP": Op("no_op", _first, _first, commutes=False),
    "OP_NULL": Op.__new__(Op),
}
