"""C structs as the library reports them, and objects of Python with the fields that are reported."""

from __future__ import annotations

import ctypes
from itertools import count, takewhile
from threading import Lock
from typing import Any, ClassVar, NamedTuple

import numpy as np

from simcodesign.core.native.shared_library import required_library

#: Types of numbers in C, and in NumPy.
NUMBERS: dict[str, np.dtype[Any]] = {
    "double": np.dtype(np.float64),
    "int64_t": np.dtype(np.int64),
    "uint64_t": np.dtype(np.uint64),
    "int32_t": np.dtype(np.int32),
    "uint32_t": np.dtype(np.uint32),
    "int8_t": np.dtype(np.int8),
    "uint8_t": np.dtype(np.uint8),
}
#: Suffix of types that are pointers to numbers.
POINTER = " *"
_lock = Lock()


class Record(ctypes.Structure):
    """C struct: a subclass sets ``struct`` to its name in C, and ``use`` to what the library is needed for.

    The fields are those that the library reports, requested when the first object is made; C declares and explains
    them. Setting a field that points to numbers takes a contiguous array of exactly that type (of
    flags, for bytes), never a copy of one, and keeps it alive in ``arrays``: what C writes is then in the caller's
    array. Raises InputError if there is no library, RuntimeError if ctypes lays the fields out in another way.
    """

    struct: ClassVar[str]
    use: ClassVar[str]
    #: Types of the fields that are arrays.
    array_types: ClassVar[dict[str, np.dtype[Any]]]
    arrays: dict[str, np.ndarray]

    def __new__(cls, *_: Any, **__: Any) -> Record:
        cls.lay_out()
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in (field[0] for field in self._fields_):
            raise AttributeError(f"struct {self.struct} has no field {name!r}")
        if name in self.array_types:
            value = _checked(value, self.array_types[name], f"struct {self.struct}: {name}")
            self.__dict__.setdefault("arrays", {})[name] = value
            value = value.ctypes.data
        super().__setattr__(name, value)

    @classmethod
    def lay_out(cls, library: ctypes.CDLL | None = None) -> None:
        """Give the class the fields of its struct in a library (default: the library of this package)."""
        with _lock:
            if "_fields_" in cls.__dict__:
                return
            whole, *places = places_of(library or required_library(cls.use), cls.struct)
            cls.array_types = {
                place.field: NUMBERS[place.type.removesuffix(POINTER)] for place in places if _is_array(place)
            }
            cls._fields_ = [(place.field, _kind_of(place)) for place in places]
            laid_out = [getattr(cls, place.field) for place in places]
            of_python = [(field.offset, field.size) for field in laid_out], ctypes.sizeof(cls)
            of_c = [(place.offset_bytes, place.size_bytes) for place in places], whole.size_bytes
            if of_python != of_c:
                raise RuntimeError(f"struct {cls.struct}: offsets and sizes, got {of_python} (allowed: {of_c})")

    def make_room(self, length: int, *names: str) -> None:
        """Give these fields arrays of ``length`` values; memory is used only for the filled part."""
        for name in names:
            setattr(self, name, np.empty(length, self.array_types[name]))


class _Place(ctypes.Structure):
    """``struct place`` of layout.h."""

    _fields_: ClassVar = [
        *((name, ctypes.c_char_p) for name in ("field", "type")),
        *((name, ctypes.c_int64) for name in ("offset_bytes", "size_bytes")),
    ]


class Place(NamedTuple):
    """One field of a struct, or with an empty name the struct."""

    field: str
    type: str
    offset_bytes: int
    size_bytes: int


def places_of(library: ctypes.CDLL, struct: str) -> list[Place]:
    """Return what the library reports of a struct: the struct, then its fields."""
    report = library[f"layout_{struct}"]
    report.restype = ctypes.POINTER(_Place)
    places = takewhile(lambda place: place.field is not None, map(report().__getitem__, count()))
    return [Place(place.field.decode(), place.type.decode(), place.offset_bytes, place.size_bytes) for place in places]


def _is_array(place: Place) -> bool:
    return place.type.endswith(POINTER)


def _kind_of(place: Place) -> Any:
    """Return the type of ctypes: of numbers, or of an address."""
    return ctypes.c_void_p if _is_array(place) else np.ctypeslib.as_ctypes_type(NUMBERS[place.type])


def _checked(array: Any, wanted: np.dtype[Any], where: str) -> np.ndarray:
    """Return ``array`` if C can use it in place; raise TypeError otherwise."""
    is_array = isinstance(array, np.ndarray)
    fits = is_array and (array.dtype == wanted or (array.dtype == np.bool_ and wanted == np.uint8))
    if not fits or not array.flags.c_contiguous:
        given = f"{array.dtype}, contiguous: {array.flags.c_contiguous}" if is_array else repr(array)
        raise TypeError(f"{where}, got {given} (allowed: a contiguous array of {wanted})")
    found: np.ndarray = array
    return found
