"""Hints (``MPI.Info``) and handlers of errors: they are kept, and change nothing."""

from __future__ import annotations

from abc import ABCMeta
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.mpi.names import Simulated, SimulatedKind
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError

Items = Mapping[str, str] | Iterable[tuple[str, str]] | None


class _Kind(SimulatedKind, ABCMeta):
    pass


class Info(Simulated, UserDict[str, str], metaclass=_Kind):
    """Hints: names and values, both text."""

    is_null = False

    @classmethod
    def Create(cls, items: Items = None) -> Info:
        """Return new hints."""
        made: Info = cls(dict(items or {}))
        return made

    def Get(self, key: str) -> str | None:
        """Return a value, None if there is none."""
        return self.data.get(key)

    def Set(self, key: str, value: str) -> None:
        """Set a value."""
        self.data[key] = value

    def Delete(self, key: str) -> None:
        """Remove a value. Raises MpiError if there is none."""
        if key not in self.data:
            raise MpiError("name of a hint", place_of_call(), value=key, allowed="one that is set", name="INFO_NOKEY")
        del self.data[key]

    def Get_nkeys(self) -> int:
        """Return how many hints there are."""
        return len(self.data)

    def Get_nthkey(self, n: int) -> str:
        """Return the n-th name, from 0. Raises MpiError if there is none."""
        if not 0 <= n < len(self.data):
            raise MpiError("number of a hint", place_of_call(), value=n, allowed=f"up to {len(self.data) - 1}")
        return list(self.data)[n]

    def keys(self) -> list[str]:  # type: ignore[override]
        """Return the names."""
        return list(self.data)

    def values(self) -> list[str]:  # type: ignore[override]
        """Return the values."""
        return list(self.data.values())

    def items(self) -> list[tuple[str, str]]:  # type: ignore[override]
        """Return names and values."""
        return list(self.data.items())

    def update(self, items: Items = (), **kwds: str) -> None:  # type: ignore[override]
        """Set values."""
        self.data.update(dict(items or {}), **kwds)

    def pop(self, key: str, *default: str) -> str:  # type: ignore[override]
        """Remove a value and return it."""
        return self.data.pop(key, *default)

    def popitem(self) -> tuple[str, str]:
        """Remove the last name and value and return them."""
        return self.data.popitem()

    def Dup(self) -> Info:
        """Return a copy."""
        made: Info = Info(self.data)
        return made

    copy = Dup

    def Free(self) -> None:
        """Remove all."""
        self.data.clear()
        self.is_null = True

    free = Free

    def __bool__(self) -> bool:
        return not self.is_null

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Info) and self.is_null and other.is_null)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return super().__reduce__() if self in (INFO_NULL, INFO_ENV) else (Info.Create, (dict(self.data),))


class Errhandler(Simulated):
    """What a program wants to happen with errors: ``function`` is called by ``Call_errhandler``.

    Errors of calls are exceptions under every handler, and end the run unless the program catches them.
    """

    empty_is_null = True

    def __init__(self, function: Callable[..., Any] | None = None, *, ends_run: bool = False) -> None:
        self.function, self.ends_run = function, ends_run
        self.key = object()  # copies are the same

    def called(self, owner: Any, errorcode: int) -> None:
        """Do with an error what the handler does. Raises InputError for one that ends the run."""
        if self.ends_run:
            raise InputError(f"error {errorcode} under an error handler that ends the program", place_of_call())
        if self.function is not None:
            self.function(owner, errorcode)

    def Free(self) -> None:
        """Become ERRHANDLER_NULL, unless it is one of MPI's own, which stay."""
        if all(self is not one for one in ERROR_HANDLERS.values()):
            self.__dict__.clear()

    free = Free

    def __bool__(self) -> bool:
        return bool(self.__dict__)

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]


#: By name, as in ``MPI.ERRORS_RETURN``.
ERROR_HANDLERS = {
    "ERRORS_RETURN": Errhandler(None),
    "ERRORS_ABORT": Errhandler(None, ends_run=True),
    "ERRORS_ARE_FATAL": Errhandler(None, ends_run=True),
    "ERRHANDLER_NULL": Errhandler(),
}
INFO_NULL, INFO_ENV = Info(), Info()
INFO_NULL.is_null = True
