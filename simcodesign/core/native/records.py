"""C structs as the library reports them, and ctypes structures whose layout is compared with that report."""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import count, takewhile
from typing import Any, ClassVar, NamedTuple

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


class _Place(ctypes.Structure):
    """``struct place`` of layout.h."""

    _fields_: ClassVar = [
        *((name, ctypes.c_char_p) for name in ("field", "type")),
        *((name, ctypes.c_int64) for name in ("offset_bytes", "size_bytes")),
    ]


class Place(NamedTuple):
    """One field of a struct, or with an empty name the struct."""

    field: str
    type: str  # empty if C does not report it
    offset_bytes: int
    size_bytes: int


def places_of(library: ctypes.CDLL, struct: str) -> list[Place]:
    """Return what the library reports of a struct: the struct, then its fields."""
    report = library[f"layout_{struct}"]
    report.restype = ctypes.POINTER(_Place)
    places = takewhile(lambda place: place.field is not None, map(report().__getitem__, count()))
    return [Place(place.field.decode(), place.type.decode(), place.offset_bytes, place.size_bytes) for place in places]


def check_layout(library: ctypes.CDLL, record: type[Record]) -> None:
    """Raise RuntimeError unless the struct of the library has the size, fields, types and offsets of ``record``."""
    in_c = places_of(library, record.struct)
    in_python = [Place("", "", 0, ctypes.sizeof(record))]
    for name, kind, *_ in record._fields_:
        field = getattr(record, name)
        in_python.append(Place(name, _type_in_c(kind), field.offset, field.size))
    for given, wanted in zip(in_c, in_python, strict=False):
        if given != wanted._replace(type=given.type and wanted.type):
            differ = f"field, type, offset and size, got {tuple(given)} (allowed: {tuple(wanted)})"
            raise RuntimeError(f"{library._name}: struct {record.struct}: {differ}")
    if len(in_c) != len(in_python):
        differ = f"got {len(in_c) - 1} fields (allowed: {len(in_python) - 1})"
        raise RuntimeError(f"{library._name}: struct {record.struct}: {differ}")


def _type_in_c(kind: Any) -> str:
    """Return the name of a type of numbers, or of the pointer to such numbers."""
    is_array = issubclass(kind, Address)
    name = np.dtype(kind.dtype if is_array else kind).name
    return {"float64": "double", "bool": "uint8_t"}.get(name, f"{name}_t") + " *" * is_array


def _checked(array: Any, kind: type[Address], where: str) -> np.ndarray:
    """Return ``array`` if C can use it in place; raise TypeError otherwise."""
    wanted = np.dtype(kind.dtype)
    if not isinstance(array, np.ndarray) or array.dtype != wanted or not array.flags.c_contiguous:
        given = (
            f"{array.dtype}, contiguous: {array.flags.c_contiguous}" if isinstance(array, np.ndarray) else repr(array)
        )
        raise TypeError(f"{where}, got {given} (allowed: a contiguous array of {wanted})")
    return array
