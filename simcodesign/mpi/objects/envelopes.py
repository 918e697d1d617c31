"""How datatypes were made: the call and its arguments (MPI 4.1, section 5.1.13)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.constants import CONSTANTS
from simcodesign.mpi.values.errors import MpiError

Given = ParamSpec("Given")
Made = TypeVar("Made", bound="Enveloped")
Numbers = list[int]
#: Arguments that are addresses, by constructor; all other ones are integers.
_ADDRESSES = {
    "HVECTOR": ("stride",),
    "HINDEXED": ("displacements",),
    "HINDEXED_BLOCK": ("displacements",),
    "STRUCT": ("displacements",),
    "RESIZED": ("lb", "extent"),
}
#: Arguments whose length comes first among the integers, once.
_COUNTED = ("blocklengths", "displacements", "sizes", "gsizes")
#: Ways of making that have no other datatype, or are equal to it in NumPy.
_F90 = ("F90_INTEGER", "F90_REAL", "F90_COMPLEX")


class Enveloped:
    """The part of datatypes that keeps how they were made. ``how``: the way, the datatype before, and the arguments."""

    how: tuple[str, Any, dict[str, Any]] = ("NAMED", None, {})
    dtype: np.dtype[Any]

    @property
    def extent(self) -> int:
        """Bytes from one item to the next."""
        raise NotImplementedError

    @property
    def combiner(self) -> int:
        """The way of making, as ``MPI.COMBINER_VECTOR``."""
        return CONSTANTS[f"COMBINER_{self.how[0]}"]

    @property
    def is_named(self) -> bool:
        """Whether it is a basic datatype."""
        return self.how[0] == "NAMED"

    @property
    def is_predefined(self) -> bool:
        """Whether it is MPI's own."""
        return self.is_named or self.how[0] in _F90

    def Get_envelope(self) -> tuple[int, int, int, int, int]:
        """Return how many integers, addresses, large counts and datatypes it was made of, and its constructor."""
        integers, addresses, counts, datatypes = self._contents()
        return len(integers), len(addresses), len(counts), len(datatypes), self.combiner

    def Get_contents(self) -> tuple[Numbers, Numbers, Numbers, list[Any]]:
        """Return the integers, addresses, large counts and datatypes it was made of. Raises MpiError for MPI's own."""
        if self.is_named:
            raise MpiError(
                "a predefined datatype has no contents",
                place_of_call(),
                allowed="a datatype that the program made",
                name="TYPE",
            )
        integers, addresses, counts, datatypes = self._contents()
        return integers, addresses, counts, [_handle(one) for one in datatypes]

    envelope, contents = property(Get_envelope), property(Get_contents)

    def decode(self) -> tuple[Any, str, dict[str, Any]]:
        """Return the original datatype, the constructor and the arguments, with which it can be made again.

        The datatype before is the same one of one of MPI's own, and null if there is none, as of a struct.
        """
        way, before, arguments = self.how
        made = dict(arguments)
        if "datatypes" in made:
            made["datatypes"] = [_handle(one) for one in made["datatypes"]]
        if way == "NAMED":
            return self, way, made
        return type(self)() if before is None else _handle(before), way, made

    def _contents(self) -> tuple[Numbers, Numbers, Numbers, list[Any]]:
        way, before, arguments = self.how
        integers: Numbers = []
        addresses: Numbers = []
        is_counted = False
        for name, value in arguments.items():
            if name == "datatypes":
                continue
            if not is_counted and name in _COUNTED:
                at = 1 if way in ("INDEXED_BLOCK", "HINDEXED_BLOCK") else 0
                integers.insert(len(integers) - at, len(value))
                is_counted = True
            values = list(map(int, value)) if isinstance(value, list | tuple | np.ndarray) else [int(value)]
            (addresses if name in _ADDRESSES.get(way, ()) else integers).extend(values)
        datatypes = list(arguments.get("datatypes", [] if way in ("NAMED", *_F90) else [before]))
        return integers, addresses, [], datatypes

    # --- As NumPy's types ------------------------------------------------------------------------------------

    def numpy_dtype(self) -> np.dtype[Any]:
        """Return NumPy's type of one item. Raises ValueError for one that has none."""
        way, before, arguments = self.how
        if not self:
            raise ValueError("cannot convert MPI_DATATYPE_NULL")
        if way == "NAMED" or way in _F90:
            return self.dtype
        if way == "DUP":
            return before.numpy_dtype()  # type: ignore[no-any-return]
        if way in ("CONTIGUOUS", "SUBARRAY"):
            shape = arguments.get("subsizes", [arguments.get("count")])
            if way == "SUBARRAY" and list(shape) != list(arguments["sizes"]):
                raise ValueError("a part of an array has no type of NumPy")
            return np.dtype((before.numpy_dtype(), tuple(shape)))
        if way == "RESIZED" and before.how[0] == "STRUCT" and not arguments["lb"]:
            return _structure(before.how[2], int(arguments["extent"]))
        if way == "STRUCT":
            return _structure(arguments, self.extent)
        raise ValueError(f"a datatype made by Create_{way.lower()} has no type of NumPy")

    @property
    def typechar(self) -> str:
        """The letter of NumPy's type; V of items that are none of its numbers."""
        return self.typestr[0] if self.typestr[0] == "V" else self.dtype.char

    @property
    def typestr(self) -> str:
        """NumPy's name of the type, as ``f8``; ``V`` and the bytes of items that are none of its numbers."""
        way, before, _ = self.how
        if not self:
            return ""
        if way == "DUP":
            return before.typestr  # type: ignore[no-any-return]
        return f"V{self.extent}" if not self.is_predefined or self.dtype.names else self.dtype.str[1:]


def _handle(datatype: Any) -> Any:
    """Return a copy, so that one of both may be freed; a datatype of MPI itself."""
    return datatype if datatype.is_predefined else type(datatype)(datatype)


def _structure(arguments: dict[str, Any], size: int) -> np.dtype[Any]:
    formats = [
        one.numpy_dtype() if count == 1 else np.dtype((one.numpy_dtype(), (count,)))
        for one, count in zip(arguments["datatypes"], arguments["blocklengths"], strict=True)
    ]
    names = [f"f{place}" for place in range(len(formats))]
    offsets = list(arguments["displacements"])
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def made_as(way: str) -> Callable[[Callable[Concatenate[Any, Given], Made]], Callable[Concatenate[Any, Given], Made]]:
    """Return a decorator for a method that makes a datatype: what it returns keeps the way and the arguments."""

    def decorate(method: Callable[Concatenate[Any, Given], Made]) -> Callable[Concatenate[Any, Given], Made]:
        parameters = signature(method)

        @wraps(method)
        def make(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Made:
            if not isinstance(self, type):
                self.check()
            made = method(self, *given, **named)
            bound = parameters.bind(self, *given, **named)
            bound.apply_defaults()
            first, *others = bound.arguments.items()
            arguments = dict(others)
            if "datatypes" in arguments:
                arguments["datatypes"] = [_handle(one) for one in arguments["datatypes"]]
            made.how = (way, None if isinstance(first[1], type) else _handle(self), arguments)
            return made

        return make

    return decorate
