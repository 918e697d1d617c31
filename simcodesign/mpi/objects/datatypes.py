"""Datatypes: the basic ones of MPI, and those that a program makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.mpi.names import Simulated
from simcodesign.mpi.objects.attributes import Attributed
from simcodesign.mpi.objects.envelopes import Enveloped, made_as
from simcodesign.mpi.objects.layouts import EMPTY, Layout, blocks_at, of_grid, together
from simcodesign.mpi.objects.packing import MIXED, Packed
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.constants import (
    DISTRIBUTE_BLOCK,
    DISTRIBUTE_DFLT_DARG,
    DISTRIBUTE_NONE,
    ORDER_C,
    ORDER_FORTRAN,
)
from simcodesign.mpi.values.errors import MpiError, UnfitBufferError

Integers = Sequence[int]


class Datatype(Enveloped, Packed, Attributed, Simulated):
    """A datatype. ``dtype``: NumPy's type of its basic elements, MIXED if they differ; ``layout``: of one item."""

    empty_is_null = True

    def __init__(self, name: str, dtype: np.dtype[Any], layout: Layout, *, is_predefined: bool = False) -> None:
        self.name, self.dtype, self.layout = name, dtype, layout
        self.committed = is_predefined

    @property
    def size(self) -> int:
        """Bytes of one item without gaps."""
        return _SIZES_OF_PAIRS.get(self.name, self.layout.size)

    @property
    def lb(self) -> int:
        """Lower bound, in bytes."""
        return self.layout.lb

    @property
    def extent(self) -> int:
        """Bytes from one item to the next."""
        return self.layout.extent

    @property
    def ub(self) -> int:
        """Upper bound, in bytes."""
        return self.lb + self.extent

    @property
    def true_lb(self) -> int:
        """First byte of an item."""
        return self.layout.true_bounds[0]

    @property
    def true_ub(self) -> int:
        """The byte after the last one of an item."""
        return self.layout.true_bounds[1]

    @property
    def true_extent(self) -> int:
        """Bytes from the first to the last of an item."""
        return self.true_ub - self.true_lb

    def Get_size(self) -> int:
        """Return the bytes of one item without gaps."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        """Return the lower bound and the extent, in bytes."""
        return self.lb, self.extent

    def Get_true_extent(self) -> tuple[int, int]:
        """Return the first byte and the bytes from it to the last, without gaps at the ends."""
        return self.true_lb, self.true_extent

    def Get_name(self) -> str:
        """Return the name."""
        return self.name

    def Set_name(self, name: str) -> None:
        """Set the name."""
        self.name = name

    def tocode(self) -> str:
        """Return the letter of NumPy's type. Raises ValueError for items that are none of its numbers."""
        if not self or self.typechar == "V":
            raise ValueError(f"{self.name or 'the datatype'} has no code")
        return self.typechar

    @classmethod
    def fromcode(cls, code: str) -> Datatype:
        """Return the basic datatype of NumPy's code, as ``'d'``. Raises MpiError if there is none."""
        try:
            return of_dtype(np.dtype(code))
        except TypeError as error:
            raise ValueError(f"cannot map {code!r} to a datatype") from error

    def Commit(self) -> Datatype:
        """Let the datatype be used in messages; return it."""
        self.check()
        self.committed = True
        return self

    def Free(self) -> None:
        """Let the datatype no longer be used."""
        self.check()
        if self.is_predefined:
            raise MpiError(
                "a predefined datatype of MPI cannot be freed", place_of_call(), value=self.name, name="TYPE"
            )
        self.delete_attributes()
        self.committed = False
        self.how = ("FREED", None, {})

    @made_as("DUP")
    def Dup(self) -> Datatype:
        """Return a copy with the attributes."""
        made = self._made(self.layout)
        made.committed = self.committed
        self.copy_attributes(made)
        return made

    Create_dup = Dup

    def check_committed(self) -> None:
        """Raise MpiError for a datatype that MPI refuses in messages (MPI_ERR_TYPE)."""
        if not self.committed:
            raise MpiError(f"datatype {self.name or 'of the program'} is not committed, or is freed", place_of_call())

    def __repr__(self) -> str:
        return self.name

    def __bool__(self) -> bool:
        return bool(self.__dict__) and self.how[0] != "FREED" and self.name != "MPI_DATATYPE_NULL"

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        """Return how it is made again."""
        before, way, arguments = self.decode()
        if way == "NAMED" or not self:
            return super().__reduce__()
        return _made_again, (None if self.how[1] is None else before, way, arguments)

    # --- Derived datatypes -----------------------------------------------------------------------------------

    def _made(self, layout: Layout) -> Datatype:
        return Datatype("", self.dtype, layout)

    @made_as("CONTIGUOUS")
    def Create_contiguous(self, count: int) -> Datatype:
        """Return ``count`` items one after another."""
        return self._made(blocks_at(self.layout, _numbers([0]), _numbers([count])))

    @made_as("VECTOR")
    def Create_vector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Return ``count`` blocks of ``blocklength`` items, ``stride`` items apart."""
        return self.Create_hvector(count, blocklength, stride * self.extent)

    @made_as("HVECTOR")
    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Return ``count`` blocks of ``blocklength`` items, ``stride`` bytes apart."""
        return self.Create_hindexed_block(blocklength, [place * stride for place in range(count)])

    @made_as("INDEXED")
    def Create_indexed(self, blocklengths: Integers, displacements: Integers) -> Datatype:
        """Return blocks of items; displacements are in items."""
        return self.Create_hindexed(blocklengths, [int(one) * self.extent for one in displacements])

    @made_as("HINDEXED")
    def Create_hindexed(self, blocklengths: Integers, displacements: Integers) -> Datatype:
        """Return blocks of items; displacements are in bytes."""
        _check_equal("displacements", displacements, blocklengths)
        return self._made(blocks_at(self.layout, _numbers(displacements), _counts(blocklengths)))

    @made_as("INDEXED_BLOCK")
    def Create_indexed_block(self, blocklength: int, displacements: Integers) -> Datatype:
        """Return blocks of ``blocklength`` items; displacements are in items."""
        return self.Create_hindexed_block(blocklength, [int(one) * self.extent for one in displacements])

    @made_as("HINDEXED_BLOCK")
    def Create_hindexed_block(self, blocklength: int, displacements: Integers) -> Datatype:
        """Return blocks of ``blocklength`` items; displacements are in bytes."""
        return self.Create_hindexed([blocklength] * len(displacements), displacements)

    @classmethod
    @made_as("STRUCT")
    def Create_struct(cls, blocklengths: Integers, displacements: Integers, datatypes: Sequence[Datatype]) -> Datatype:
        """Return blocks of items of several datatypes; displacements are in bytes."""
        _check_equal("displacements", displacements, blocklengths)
        _check_equal("datatypes", datatypes, blocklengths)
        for one in datatypes:
            one.check()
        places, counts = _numbers(displacements), _counts(blocklengths)
        parts = [
            blocks_at(datatype.layout, places[n : n + 1], counts[n : n + 1]) for n, datatype in enumerate(datatypes)
        ]
        dtypes = {datatype.dtype for datatype in datatypes}
        return Datatype("", dtypes.pop() if len(dtypes) == 1 else MIXED, together(parts))

    @made_as("SUBARRAY")
    def Create_subarray(self, sizes: Integers, subsizes: Integers, starts: Integers, order: int = ORDER_C) -> Datatype:
        """Return the part of an array of ``sizes`` items that begins at ``starts`` and has ``subsizes`` items."""
        _check_equal("subsizes", subsizes, sizes)
        _check_equal("starts", starts, sizes)
        for whole, part, start in zip(sizes, subsizes, starts, strict=True):
            if not (1 <= part <= whole and 0 <= start <= whole - part):
                value = f"{part} items from {start} of {whole}"
                raise MpiError(
                    "a subarray lies outside its array", place_of_call(), value=value, allowed="within the array"
                )
        kept = [np.arange(start, start + part, dtype=np.int64) for part, start in zip(subsizes, starts, strict=True)]
        return self._made(of_grid(self.layout, list(map(int, sizes)), kept, fortran=order == ORDER_FORTRAN))

    @made_as("DARRAY")
    def Create_darray(
        self,
        size: int,
        rank: int,
        gsizes: Integers,
        distribs: Integers,
        dargs: Integers,
        psizes: Integers,
        order: int = ORDER_C,
    ) -> Datatype:
        """Return a rank's items of an array of ``gsizes`` items, in blocks or cyclic on a grid of ``psizes`` ranks."""
        if int(np.prod(psizes)) != size or not 0 <= rank < size:
            what, allowed = "a distributed array has another number of ranks than its grid", f"a product of {size}"
            raise MpiError(f"{what}, or no rank {rank}", place_of_call(), value=list(psizes), allowed=allowed)
        kept = []
        coordinates = np.unravel_index(rank, tuple(psizes))
        for whole, kind, block, ranks, at in zip(gsizes, distribs, dargs, psizes, coordinates, strict=True):
            places = np.arange(whole, dtype=np.int64)
            if kind != DISTRIBUTE_NONE:
                by_default = -(-whole // ranks) if kind == DISTRIBUTE_BLOCK else 1
                each = by_default if block == DISTRIBUTE_DFLT_DARG else block
                if kind == DISTRIBUTE_BLOCK and each * ranks < whole:
                    allowed = f"{by_default} or more"
                    raise MpiError(
                        "blocks of this size do not hold the array", place_of_call(), value=each, allowed=allowed
                    )
                places = places[places // each % ranks == at]
            kept.append(places)
        return self._made(of_grid(self.layout, list(map(int, gsizes)), kept, fortran=order == ORDER_FORTRAN))

    @classmethod
    def Create_f90_integer(cls, r: int) -> Datatype:
        """Return Fortran's integers of ``r`` decimal digits."""
        size = next((size for size in (1, 2, 4, 8) if 10**r < 2 ** (8 * size - 1)), 0)
        return _of_fortran("F90_INTEGER", 1, size, r=r)

    @classmethod
    def Create_f90_real(cls, p: int, r: int) -> Datatype:
        """Return Fortran's real numbers of ``p`` decimal digits and a decimal exponent of ``r``."""
        return _of_fortran("F90_REAL", 2, 4 if p <= 6 and r <= 37 else 8 if p <= 15 and r <= 307 else 0, p=p, r=r)

    @classmethod
    def Create_f90_complex(cls, p: int, r: int) -> Datatype:
        """Return Fortran's complex numbers of ``p`` decimal digits and a decimal exponent of ``r``."""
        return _of_fortran("F90_COMPLEX", 3, 8 if p <= 6 and r <= 37 else 16 if p <= 15 and r <= 307 else 0, p=p, r=r)

    @classmethod
    def Match_size(cls, typeclass: int, size: int) -> Datatype:
        """Return Fortran's datatype of a class, as ``MPI.TYPECLASS_REAL``, and its bytes."""
        return _of_class(typeclass, size)

    @classmethod
    def Get_value_index(cls, value: Datatype, index: Datatype) -> Datatype:
        """Return the pair of a value and a place, as of MAXLOC; DATATYPE_NULL if there is none."""
        value.check()
        index.check()
        pairs = (DATATYPES[name] for name in _PAIRS if name != "TWOINT")
        kinds = [value.dtype, index.dtype]
        found = (one for one in pairs if [one.dtype[name] for name in one.dtype.names or ()] == kinds)
        return next(found, DATATYPES["DATATYPE_NULL"])

    @made_as("RESIZED")
    def Create_resized(self, lb: int, extent: int) -> Datatype:
        """Return the same bytes with another lower bound and extent, in bytes."""
        return self._made(replace(self.layout, lb=int(lb), extent=int(extent), resized=True))

    Resized = Create_resized


def _of_class(typeclass: int, size: int) -> Datatype:
    """Return the basic datatype of Fortran of a class and its bytes. Raises MpiError if there is none."""
    names = {1: "INTEGER", 2: "REAL", 3: "COMPLEX", 4: "LOGICAL"}
    found = DATATYPES.get(f"{names.get(typeclass)}{size}")
    if not found:
        allowed = "a class and one of its sizes, such as MPI.TYPECLASS_REAL and 8"
        raise MpiError(
            "no basic datatype has this class and this number of bytes",
            place_of_call(),
            value=(typeclass, size),
            allowed=allowed,
        )
    return found


def _of_fortran(way: str, typeclass: int, size: int, **asked: int) -> Datatype:
    """Return a datatype of Fortran, selected by what was asked of its numbers."""
    found = _of_class(typeclass, size)
    made = Datatype("", found.dtype, found.layout, is_predefined=True)
    made.how = (way, None, asked)
    return made


def _made_again(before: Datatype | None, way: str, arguments: dict[str, Any]) -> Datatype:
    """Return a datatype from what ``decode`` returns."""
    owner: Any = Datatype if before is None else before
    made: Datatype = owner.Dup() if way == "DUP" else getattr(owner, f"Create_{way.lower()}")(**arguments)
    return made


def _numbers(values: Integers) -> NDArray[np.int64]:
    return np.array(values, np.int64).reshape(-1)


def _counts(values: Integers) -> NDArray[np.int64]:
    counts = _numbers(values)
    if (counts < 0).any():
        raise MpiError(
            "a block has a negative number of items", place_of_call(), value=list(values), allowed="0 or more"
        )
    return counts


def _check_equal(what: str, values: Sequence[Any], others: Sequence[Any]) -> None:
    if len(values) != len(others):
        text = f"{what} has a wrong number of entries"
        raise MpiError(text, place_of_call(), value=len(values), allowed=f"{len(others)}, one for each block")


# --- Basic datatypes ------------------------------------------------------------------------------------------

_CODES = {
    **dict.fromkeys(("FLOAT16_T", "REAL2"), "f2"),
    "BYTE": "u1",
    "PACKED": "u1",
    "CHAR": "i1",
    "CHARACTER": "i1",
    "WCHAR": "i4",
    **dict.fromkeys(("C_BOOL", "BOOL", "CXX_BOOL"), "?"),
    **dict.fromkeys(("SIGNED_CHAR", "SINT8_T"), "i1"),
    "UNSIGNED_CHAR": "u1",
    **dict.fromkeys(("SHORT", "SIGNED_SHORT", "SINT16_T"), "i2"),
    **dict.fromkeys(("INT", "SIGNED_INT", "INTEGER", "F_INT", "SINT32_T"), "i4"),
    **dict.fromkeys(("LONG", "LONG_LONG", "SIGNED_LONG", "SIGNED_LONG_LONG", "SINT64_T"), "i8"),
    **dict.fromkeys(("AINT", "OFFSET", "COUNT"), "i8"),
    "UNSIGNED_SHORT": "u2",
    **dict.fromkeys(("UNSIGNED", "UNSIGNED_INT"), "u4"),
    **dict.fromkeys(("UNSIGNED_LONG", "UNSIGNED_LONG_LONG"), "u8"),
    **dict.fromkeys(("FLOAT", "REAL", "REAL4", "F_FLOAT", "FLOAT32_T"), "f4"),
    **dict.fromkeys(("DOUBLE", "REAL8", "DOUBLE_PRECISION", "F_DOUBLE", "FLOAT64_T"), "f8"),
    "LONG_DOUBLE": "g",
    **dict.fromkeys(("COMPLEX", "COMPLEX8", "C_COMPLEX", "C_FLOAT_COMPLEX"), "c8"),
    **dict.fromkeys(("F_COMPLEX", "F_FLOAT_COMPLEX", "CXX_FLOAT_COMPLEX"), "c8"),
    **dict.fromkeys(("DOUBLE_COMPLEX", "COMPLEX16", "C_DOUBLE_COMPLEX"), "c16"),
    **dict.fromkeys(("F_DOUBLE_COMPLEX", "CXX_DOUBLE_COMPLEX"), "c16"),
    **dict.fromkeys(("C_LONG_DOUBLE_COMPLEX", "CXX_LONG_DOUBLE_COMPLEX"), "G"),
    **dict.fromkeys(("LOGICAL", "LOGICAL4", "F_BOOL"), "i4"),
    **{f"INT{bits}_T": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}_T": f"u{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"INTEGER{size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"LOGICAL{size}": f"i{size}" for size in (1, 2, 8)},
}
#: A value and a place, as MPI.MINLOC takes them: the types of C.
_PAIRS = {
    "SHORT_INT": "i2",
    **dict.fromkeys(("INT_INT", "TWOINT"), "i4"),
    "LONG_INT": "i8",
    "FLOAT_INT": "f4",
    "DOUBLE_INT": "f8",
    "LONG_DOUBLE_INT": "g",
}
_SIZES_OF_PAIRS = {f"MPI_{name}": np.dtype(code).itemsize + 4 for name, code in _PAIRS.items()}


def _basic(name: str, dtype: np.dtype[Any], alignment: int) -> Datatype:
    size = dtype.itemsize
    layout = Layout(np.zeros(1, np.int64), _numbers([size]), 0, size, alignment)
    return Datatype(f"MPI_{name}", dtype, layout, is_predefined=True)


#: Datatypes by name, as in ``MPI.DOUBLE``.
DATATYPES = {
    "DATATYPE_NULL": Datatype("MPI_DATATYPE_NULL", np.dtype(np.uint8), EMPTY),
    **{name: _basic(name, np.dtype(code), np.dtype(code).alignment) for name, code in _CODES.items()},
    **{
        name: _basic(name, dtype, dtype.alignment)
        for name, code in _PAIRS.items()
        for dtype in [np.dtype([("value", code), ("place", "i4")], align=True)]
    },
}
# Open MPI has none of these on this kind of computer either.
DATATYPES |= dict.fromkeys(
    ("BFLOAT16_T", "COMPLEX4", "COMPLEX32", "INTEGER16", "LOGICAL16", "REAL16"), DATATYPES["DATATYPE_NULL"]
)
BYTE = DATATYPES["BYTE"]
_PREFERRED = ("SIGNED_CHAR", "UNSIGNED_CHAR", "SHORT", "INT", "LONG", "UNSIGNED", "FLOAT", "DOUBLE", "LONG_DOUBLE")
_BY_DTYPE = {one.dtype: one for one in [*reversed(DATATYPES.values()), *(DATATYPES[name] for name in _PREFERRED)]}
_BY_DTYPE[np.dtype("S1")] = DATATYPES["CHAR"]
#: Types of NumPy that have a basic datatype.
KNOWN_DTYPES = _BY_DTYPE.keys()


def of_dtype(dtype: np.dtype[Any]) -> Datatype:
    """Return the basic datatype of a type of NumPy. Raises MpiError if there is none."""
    found = _BY_DTYPE.get(dtype)
    if found is None:
        raise UnfitBufferError("MPI has no datatype for this type of NumPy", place_of_call(), value=str(dtype))
    return found
