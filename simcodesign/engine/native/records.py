"""Data of a run that C and Python share: structs whose fields the library reports, filled with NumPy's arrays.

``run.h`` has the only list of all fields. Python gives a field by its name, as ``run["memory.finish_s"] = array``; the
type is checked there, so that no layout can differ.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.native.records import NUMBERS, POINTER, places_of
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.generate.plan import ANY, ANY_TAG, LIMITED, NONE

Array = NDArray[Any]
CACHE_LINE = 64
#: Numbers that C writes down as well.
_CONSTANTS = {"NONE": NONE, "SEND": SEND, "RECEIVE": RECEIVE, "LIMITED": LIMITED, "ANY": ANY, "ANY_TAG": ANY_TAG}


class _Constant(ctypes.Structure):
    _fields_: ClassVar = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]


class Field(NamedTuple):
    """A field of a part of a run."""

    word: int  # of 8 bytes, from the beginning of the run
    dtype: np.dtype[Any]
    is_array: bool


class Layout(NamedTuple):
    """All fields by their names (``part.field``), the constants, and the words that a run takes."""

    fields: dict[str, Field]
    constants: dict[str, int]
    words: int


@cache
def layout_of(library: ctypes.CDLL) -> Layout:
    """Return the layout that the library reports for its structs. RuntimeError if it was made for other constants."""
    constants = _constants_of(library)
    for name, value in _CONSTANTS.items():
        if constants[name] != value:
            raise RuntimeError(f"{library._name}: {name}, got {constants[name]} (allowed: {value})")
    fields: dict[str, Field] = {}
    run, *parts = places_of(library, "Run")
    for part in parts:
        for place in places_of(library, part.type)[1:]:
            word = (part.offset_bytes + place.offset_bytes) // 8
            kind = place.type.removesuffix(POINTER)
            fields[f"{part.field}.{place.field}"] = Field(word, _dtype_of(library, kind), kind != place.type)
    return Layout(fields, constants, run.size_bytes // 8)


def _constants_of(library: ctypes.CDLL) -> dict[str, int]:
    library.engine_constants.restype = ctypes.POINTER(_Constant)
    every = library.engine_constants()
    constants: dict[str, int] = {}
    while every[len(constants)].name is not None:
        constant = every[len(constants)]
        constants[constant.name.decode()] = constant.value
    return constants


def _dtype_of(library: ctypes.CDLL, kind: str) -> np.dtype[Any]:
    """Return the type of numbers, or of the records of an array. A field may be several numbers."""
    if kind in NUMBERS:
        return NUMBERS[kind]
    record, *places = places_of(library, kind)
    types = [NUMBERS[place.type] for place in places]
    several = [place.size_bytes // dtype.itemsize for place, dtype in zip(places, types, strict=True)]
    return np.dtype(
        {
            "names": [place.field for place in places],
            "formats": [(dtype, count) if count > 1 else dtype for dtype, count in zip(types, several, strict=True)],
            "offsets": [place.offset_bytes for place in places],
            "itemsize": record.size_bytes,
        }
    )


class Run:
    """All that a run needs and has: arrays and numbers by the names of their fields.

    What is not given is 0, or no array at all.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.layout = layout_of(library)
        self.words = np.zeros(self.layout.words, np.int64)
        self.arrays: dict[str, Array] = {}

    def __setitem__(self, name: str, value: Any) -> None:
        """Give a number, or an array: it is used in place if it has the type of the field. None: there is none."""
        field = self.layout.fields[name]
        if not field.is_array:
            self._number(field)[0] = value
            return
        array = np.zeros(0, field.dtype) if value is None else _of_type(np.asarray(value), field.dtype)
        self.arrays[name] = array
        self.words[field.word] = array.ctypes.data if array.size else 0

    def __getitem__(self, name: str) -> Any:
        """Return the array, or the number as it is now."""
        field = self.layout.fields[name]
        return self.arrays[name] if field.is_array else self._number(field)[0].item()

    def _number(self, field: Field) -> Array:
        return self.words[field.word : field.word + 1].view(field.dtype)

    def give(self, part: str, **values: Any) -> None:
        """Give several fields of a part."""
        for name, value in values.items():
            self[f"{part}.{name}"] = value

    def make_room(self, part: str, count: int, *names: str) -> None:
        """Make arrays of ``count`` items that C will write before it reads them.

        Memory that is never touched is never taken. An array begins with a line of the processor's cache.
        """
        for name in names:
            dtype = self.layout.fields[f"{part}.{name}"].dtype
            size = count * dtype.itemsize
            buffer = np.empty(size + CACHE_LINE, np.uint8)
            skip = -buffer.ctypes.data % CACHE_LINE
            self[f"{part}.{name}"] = buffer[skip : skip + size].view(dtype)

    def fill(self, part: str, count: int, value: float, *names: str) -> None:
        """Make arrays of ``count`` items of one value."""
        for name in names:
            self[f"{part}.{name}"] = np.full(count, value, self.layout.fields[f"{part}.{name}"].dtype)


def _of_type(array: Array, dtype: np.dtype[Any]) -> Array:
    if array.dtype == np.bool_ and dtype == np.uint8:
        array = array.view(np.uint8)
    return np.ascontiguousarray(array, dtype)
