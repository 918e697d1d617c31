"""Values that programs give in the place of a buffer: ``BOTTOM``, ``IN_PLACE``, ``BUFFER_AUTOMATIC``."""

from __future__ import annotations


class _Marker(int):
    """A value of its own, which equals its number."""

    name, number = "", 0

    def __new__(cls) -> _Marker:
        """Return the value."""
        return super().__new__(cls, cls.number)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name


class BottomType(_Marker):
    """The type of ``BOTTOM``: memory from address 0 on, so that displacements of datatypes are addresses."""

    name = "BOTTOM"


class InPlaceType(_Marker):
    """The type of ``IN_PLACE``: the buffer that receives has the data to be sent."""

    name, number = "IN_PLACE", 1


class BufferAutomaticType(_Marker):
    """The type of ``BUFFER_AUTOMATIC``: memory for buffered sends of any number and length."""

    name, number = "BUFFER_AUTOMATIC", 2


BOTTOM, IN_PLACE, BUFFER_AUTOMATIC = BottomType(), InPlaceType(), BufferAutomaticType()
for _type in (BottomType, InPlaceType, BufferAutomaticType):
    _type.__module__ = "mpi4py.MPI"  # in which pickle looks for the values
MARKERS = {one.name: one for one in (BOTTOM, IN_PLACE, BUFFER_AUTOMATIC)}
