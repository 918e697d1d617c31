"""Attributes: values that a program attaches to a communicator or a datatype."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.constants import KEYVAL_INVALID
from simcodesign.mpi.values.errors import MpiError, called

_numbers = count(100)
_functions: dict[int, tuple[Any, Any]] = {}


class Attributed:
    """Base of objects with attributes. Each rank has its own."""

    def _attributes(self) -> dict[int, Any]:
        """Return the attributes of the rank whose turn it is, by their keys."""
        found: dict[int, Any] = self.__dict__.setdefault("_attached", {})
        return found

    @classmethod
    def Create_keyval(
        cls,
        copy_fn: Callable[[Any, int, Any], Any] | bool | None = None,
        delete_fn: Callable[[Any, int, Any], None] | bool | None = None,
        nopython: bool = False,
    ) -> int:
        """Return a new key. ``copy_fn(object, key, value)`` returns the value for a duplicate; True keeps the value."""
        keyval = next(_numbers)
        _functions[keyval] = (copy_fn, delete_fn)
        return keyval

    @classmethod
    def Free_keyval(cls, keyval: int) -> int:
        """Let a key no longer be used for new attributes; return KEYVAL_INVALID."""
        return KEYVAL_INVALID

    def Get_attr(self, keyval: int) -> Any:
        """Return the value, None if there is none. Raises MpiError for an unknown key."""
        _check_key(keyval)
        return self._attributes().get(keyval)

    def Set_attr(self, keyval: int, attrval: Any) -> None:
        """Attach a value. Raises MpiError for an unknown key."""
        _check_key(keyval)
        if keyval in self._attributes():
            self.Delete_attr(keyval)
        self._attributes()[keyval] = attrval

    def Delete_attr(self, keyval: int) -> None:
        """Remove a value, and call its ``delete_fn``. Raises MpiError if there is none."""
        attached = self._attributes()
        if keyval not in attached:
            what = "this object has no attribute with this key"
            raise MpiError(what, place_of_call(), value=keyval, allowed="a key that Set_attr was called with")
        delete_fn = _functions[keyval][1]
        value = attached.pop(keyval)
        if callable(delete_fn):
            called(delete_fn, self, keyval, value)

    def delete_attributes(self) -> None:
        """Remove all values, the last one first."""
        for keyval in list(self._attributes())[::-1]:
            self.Delete_attr(keyval)

    def copy_attributes(self, made: Attributed) -> None:
        """Attach to a duplicate what the ``copy_fn`` of each attribute returns."""
        for keyval, value in list(self._attributes().items()):
            copy_fn = _functions[keyval][0]
            copied = called(copy_fn, self, keyval, value) if callable(copy_fn) else value if copy_fn else NotImplemented
            if copied is not NotImplemented:
                made._attributes()[keyval] = copied


def _check_key(keyval: int) -> None:
    if keyval not in _functions:
        allowed = "a key that Create_keyval returned"
        raise MpiError("no attribute has this key", place_of_call(), value=keyval, allowed=allowed, name="KEYVAL")
