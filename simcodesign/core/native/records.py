"""C structs of numbers and NumPy arrays, as ctypes structures whose layout is compared with the library's."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, ClassVar

import numpy as np


class Address(ctypes.c_void_p):
    """Field that points to the values of a NumPy array; subclasses specify the type of the values."""

    dtype: ClassVar[type[np.generic]]


class Floats(Address):
    """``double *``."""

    dtype = np.float64


class Integers(Address):
    """``int64_t *``."""

    dtype = np.int64


class UnsignedIntegers(Address):
    """``uint64_t *``."""

    dtype = np.uint64


class ShortUnsignedIntegers(Address):
    """``uint32_t *``."""

    dtype = np.uint32


class ShortIntegers(Address):
    """``int32_t *``."""

    dtype = np.int32


class Bytes(Address):
    """``uint8_t *``."""

    dtype = np.uint8


class Flags(Address):
    """``bool *``: bytes that are 0 or 1."""

    dtype = np.bool_


class Record(ctypes.Structure):
    """C struct; a subclass sets ``_fields_``, and ``struct`` to the name of the struct in C.

    Setting a field of type Address takes a contiguous array of exactly that type, never a copy of one, and keeps it
    alive in ``arrays``: what C writes is then in the caller's array.
    """

    struct: ClassVar[str]
    arrays: dict[str, np.ndarray]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in (field[0] for field in self._fields_):
            raise AttributeError(f"struct {self.struct} has no field {name!r}")
        kind = self.array_types().get(name)
        if kind is not None:
            self.__dict__.setdefault("arrays", {})[name] = _checked(value, kind, f"struct {self.struct}: {name}")
            value = value.ctypes.data
        super().__setattr__(name, value)

    @classmethod
    @cache
    def array_types(cls) -> dict[str, type[Address]]:
        """Return the types of the fields that are arrays."""
        types = {field[0]: field[1] for field in cls._fields_}
        return {name: kind for name, kind in types.items() if isinstance(kind, type) and issubclass(kind, Address)}

    def make_room(self, length: int, *names: str) -> None:
        """Give these fields arrays of so many values; memory is taken only for what is filled."""
        for name in names:
            setattr(self, name, np.empty(length, self.array_types()[name].dtype))


class Place(ctypes.Structure):
    """``struct place`` of layout.h: name, offset and size of one field."""

    _fields_: ClassVar = [("field", ctypes.c_char_p), ("offset_bytes", ctypes.c_int64), ("size_bytes", ctypes.c_int64)]


def check_layout(library: ctypes.CDLL, record: type[Record]) -> None:
    """Raise RuntimeError unless the struct of the library has the size, fields and offsets of ``record``."""
    report = library[f"layout_{record.struct}"]
    report.restype = ctypes.POINTER(Place)
    places = report()
    in_c: list[tuple[str, int, int]] = []
    while places[len(in_c)].field is not None:
        place = places[len(in_c)]
        in_c.append((place.field.decode(), place.offset_bytes, place.size_bytes))
    in_python = [("", 0, ctypes.sizeof(record))]
    for name, *_ in record._fields_:
        field = getattr(record, name)
        in_python.append((name, field.offset, field.size))
    if in_c != in_python:
        differences = [
            f"{given} (allowed: {wanted})" for given, wanted in zip(in_c, in_python, strict=False) if given != wanted
        ]
        first = differences[0] if differences else f"{len(in_c) - 1} fields (allowed: {len(in_python) - 1})"
        raise RuntimeError(f"{library._name}: struct {record.struct}: field, offset and size, got {first}")


def _checked(array: Any, kind: type[Address], where: str) -> np.ndarray:
    """Return ``array`` if C can use it in place; raise TypeError otherwise."""
    wanted = np.dtype(kind.dtype)
    if not isinstance(array, np.ndarray) or array.dtype != wanted or not array.flags.c_contiguous:
        given = (
            f"{array.dtype}, contiguous: {array.flags.c_contiguous}" if isinstance(array, np.ndarray) else repr(array)
        )
        raise TypeError(f"{where}, got {given} (allowed: a contiguous array of {wanted})")
    return array
