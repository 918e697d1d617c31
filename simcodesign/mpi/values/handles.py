"""Numbers of objects, as programs give them to code in C or Fortran, and objects in pickles."""

from __future__ import annotations

import sys
from typing import Any

#: Numbered objects, and the numbers by the identities of the objects.
_objects: dict[int, Any] = {}
_numbers: dict[int, int] = {}


class Handled:
    """The part of mpi4py's classes that gives numbers to objects. They mean nothing outside of this process."""

    @property
    def handle(self) -> int:
        """The number."""
        return _numbers.get(id(self)) or _numbered(self)

    def toint(self) -> int:
        """Return the number."""
        return self.handle

    def py2f(self) -> int:
        """Return the number, for Fortran."""
        return self.handle

    @classmethod
    def fromhandle(cls, handle: int) -> Any:
        """Return the object of a number. Raises ValueError if there is none of this class."""
        found = _objects.get(handle)
        if not isinstance(found, cls):
            raise ValueError(f"{handle} is the number of no {cls.__name__}")
        return found

    @classmethod
    def fromint(cls, arg: int, /) -> Any:
        """Return the object of a number. Raises ValueError if there is none of this class."""
        return cls.fromhandle(arg)

    @classmethod
    def f2py(cls, arg: int, /) -> Any:
        """Return the object of a number of Fortran. Raises ValueError if there is none of this class."""
        return cls.fromhandle(arg)

    def __reduce__(self) -> Any:
        """Return how a constant of MPI, or a copy of one, is found again. Raises ValueError for other objects."""
        for name, value in vars(sys.modules["mpi4py.MPI"]).items():
            if value is self:
                return constant, (name,)
            if _equals(self, value):
                return type(self), (value,)
        raise ValueError(f"cannot pickle an object of mpi4py's {type(self).__name__} that is no constant")


def constant(name: str) -> Any:
    """Return a constant of ``mpi4py.MPI``."""
    return getattr(sys.modules["mpi4py.MPI"], name)


def is_constant(one: Any) -> bool:
    """Return whether an object is itself a constant of ``mpi4py.MPI``."""
    return any(value is one for value in vars(sys.modules["mpi4py.MPI"]).values())


def equals_constant(one: Any) -> bool:
    """Return whether an object is a copy of a constant of ``mpi4py.MPI``."""
    return any(_equals(one, value) for value in vars(sys.modules["mpi4py.MPI"]).values())


def _equals(one: Any, value: Any) -> bool:
    kind = type(value)
    return (
        type(kind) is type(type(one)) and (isinstance(one, kind) or isinstance(value, type(one))) and bool(value == one)
    )


def forget_handles() -> None:
    """Let all numbers end, as with a run."""
    _objects.clear()
    _numbers.clear()


def _numbered(one: Any) -> int:
    number = len(_objects) + 1
    _objects[number], _numbers[id(one)] = one, number  # kept, so that no other object has this identity
    return number
