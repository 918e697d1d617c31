"""The status of a message that was received."""

from __future__ import annotations

from simcodesign.core.errors import InputError
from simcodesign.mpi.names import Quick
from simcodesign.mpi.objects.datatypes import BYTE, Datatype
from simcodesign.mpi.objects.packing import MIXED
from simcodesign.mpi.ranks.matching import ANY_SOURCE, ANY_TAG, Message
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.values.constants import UNDEFINED


class Status(Quick):
    """Source, tag and size of what was received."""

    def __init__(self, status: Status | None = None) -> None:
        self.clear()

    def clear(self, source: int = ANY_SOURCE, *, cancelled: bool = False) -> None:
        """Become the status of a message that is empty: of a null request, or from ``PROC_NULL``."""
        self.source, self.tag, self.error, self.count, self.cancelled = source, ANY_TAG, 0, 0, cancelled

    def note(self, message: Message) -> None:
        """Keep source, tag and size of a message."""
        self.clear()
        self.source, self.tag, self.count = message.source, message.tag, message.size_bytes

    def Get_source(self) -> int:
        """Return the rank of the sender."""
        return self.source

    def Set_source(self, source: int) -> None:
        """Set the rank of the sender."""
        self.source = source

    def Get_tag(self) -> int:
        """Return the tag."""
        return self.tag

    def Set_tag(self, tag: int) -> None:
        """Set the tag."""
        self.tag = tag

    def Get_error(self) -> int:
        """Return 0: errors are exceptions."""
        return self.error

    def Set_error(self, error: int) -> None:
        """Set the error."""
        self.error = error

    def Get_count(self, datatype: Datatype = BYTE) -> int:
        """Return how many items of a datatype came, by default bytes; UNDEFINED if the last one is incomplete."""
        datatype.check()
        size = datatype.layout.size
        return (self.count // size if self.count % size == 0 else UNDEFINED) if size else 0

    def Get_elements(self, datatype: Datatype) -> int:
        """Return how many basic elements of a datatype came. Raises InputError for one of several basic types."""
        datatype.check()
        if datatype.dtype == MIXED:
            what = "Get_elements cannot count the elements of this datatype"
            raise InputError(what, place_of_call(), value="a struct", allowed="one basic type")
        return self.count // datatype.dtype.itemsize

    def Set_elements(self, datatype: Datatype, count: int) -> None:
        """Set how many items of a datatype came."""
        datatype.check()
        self.count = count * datatype.layout.size

    def Is_cancelled(self) -> bool:
        """Return whether the operation was cancelled."""
        return self.cancelled

    def Set_cancelled(self, flag: bool) -> None:
        """Set whether the operation was cancelled."""
        self.cancelled = flag

    def py2f(self) -> list[int]:  # type: ignore[override]
        """Return the integers of Fortran's status: source, tag, error, bytes, whether it was cancelled, and a 0."""
        return [self.source, self.tag, self.error, self.count, int(self.cancelled), 0]

    @classmethod
    def f2py(cls, arg: list[int], /) -> Status:  # type: ignore[override]
        """Return a status of Fortran's integers."""
        made: Status = cls()
        made.source, made.tag, made.error, made.count = arg[:4]
        made.cancelled = bool(arg[4])
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Status) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]
    __reduce__ = object.__reduce__  # has its values in a pickle
