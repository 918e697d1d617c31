"""Hints (``MPI.Info``) and handlers of errors: they are kept, and change nothing."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.mpi.names import Simulated, SimulatedKind
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.values.handles import equals_constant, is_constant

Items = Mapping[str, str] | Iterable[tuple[str, str]] | None


class _Kind(SimulatedKind, ABCMeta):
    pass


class Info(Simulated, MutableMapping[str, str], metaclass=_Kind):
    """Hints: names and values, both text. Hints that are null have none, and none can be set."""

    empty_is_null = True
    data: dict[str, str]

    @classmethod
    def Create(cls, items: Items = None) -> Info:
        """Return new hints."""
        made: Info = cls()
        made.data = {}
        made.update(items)
        return made

    @classmethod
    def Create_env(cls, args: Any = None) -> Info:
        """Return the hints that a program is begun with: none."""
        return cls.Create()

    def Get(self, key: str) -> str | None:
        """Return a value, None if there is none."""
        return self.data.get(key)

    def Set(self, key: str, value: str) -> None:
        """Set a value."""
        self.data[key] = value

    def Delete(self, key: str) -> None:
        """Remove a value. Raises MpiError if there is none."""
        if key not in self.data:
            what = "no hint has this name"
            raise MpiError(what, place_of_call(), value=key, allowed="a name that is set", name="INFO_NOKEY")
        del self.data[key]

    def Get_nkeys(self) -> int:
        """Return how many hints there are."""
        return len(self.data)

    def Get_nthkey(self, n: int) -> str:
        """Return the n-th name, from 0. Raises MpiError if there is none."""
        if not 0 <= n < len(self.data):
            raise MpiError("no hint has this number", place_of_call(), value=n, allowed=f"up to {len(self.data) - 1}")
        return list(self.data)[n]

    # --- As a mapping ----------------------------------------------------------------------------------------

    @property
    def _known(self) -> dict[str, str]:
        return self.data if self else {}

    def __getitem__(self, key: str) -> str:
        return self._known[key]

    def __setitem__(self, key: str, value: str) -> None:
        if not self:
            raise KeyError(key)
        self.data[key] = value

    def __delitem__(self, key: str) -> None:
        del self._known[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def keys(self) -> list[str]:  # type: ignore[override]
        """Return the names."""
        return list(self._known)

    def values(self) -> list[str]:  # type: ignore[override]
        """Return the values."""
        return list(self._known.values())

    def items(self) -> list[tuple[str, str]]:  # type: ignore[override]
        """Return names and values."""
        return list(self._known.items())

    def update(self, items: Items = (), **kwds: str) -> None:  # type: ignore[override]
        """Set values. Raises KeyError of null hints."""
        if not self:
            raise KeyError("hints that are null")
        self.data.update(dict(items or {}), **kwds)

    def pop(self, key: str, *default: str) -> str:  # type: ignore[override]
        """Remove a value and return it."""
        return self._known.pop(key, *default)

    def popitem(self) -> tuple[str, str]:
        """Remove the last name and value and return them."""
        return self._known.popitem()

    def Dup(self) -> Info:
        """Return a copy."""
        made: Info = type(self).Create(self.data)
        return made

    def copy(self) -> Info:
        """Return a copy; null of null hints."""
        made: Info = self.Dup() if self else type(self)()
        return made

    def Free(self) -> None:
        """Become INFO_NULL."""
        self.check()
        self.__dict__.clear()

    def __bool__(self) -> bool:
        return bool(self.__dict__)

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return super().__reduce__() if not self or equals_constant(self) else (type(self).Create, (dict(self.data),))


class Errhandler(Simulated):
    """A program's handler of errors: ``function`` is called by ``Call_errhandler``.

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
        self.check()
        if not is_constant(self):
            self.__dict__.clear()

    def __bool__(self) -> bool:
        return bool(self.__dict__)

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]


#: Handlers by name, as in ``MPI.ERRORS_RETURN``.
ERROR_HANDLERS = {
    "ERRORS_RETURN": Errhandler(None),
    "ERRORS_ABORT": Errhandler(None, ends_run=True),
    "ERRORS_ARE_FATAL": Errhandler(None, ends_run=True),
    "ERRHANDLER_NULL": Errhandler.__new__(Errhandler),
}
INFO_NULL, INFO_ENV = Info.__new__(Info), Info.Create()
