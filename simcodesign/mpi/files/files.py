"""Files that the ranks of a communicator open together: one object for all of them.

Data are on the disk of this computer immediately. Each rank's part is an access to the disk of the simulated machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partialmethod
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from simcodesign.mpi.buffers import Buffer
from simcodesign.mpi.communicators.kept import KeptByRanks
from simcodesign.mpi.files.disk_file import MODE_APPEND, MODE_RDONLY, DiskFile, FileError, remove
from simcodesign.mpi.names import Simulated
from simcodesign.mpi.objects.datatypes import DATATYPES
from simcodesign.mpi.objects.info import INFO_NULL
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.errors import MpiError

SEEK_SET, SEEK_CUR, SEEK_END = 600, 602, 604
#: Pointers: each rank's own, the shared one, and the shared one moved in the order of ranks.
_OWN, _SHARED, _ORDERED = "own", "shared", "ordered"
BYTE = DATATYPES["BYTE"]


class _View:
    """View of a rank on a file: the bytes in which ``filetype``, repeated from byte ``disp`` on, has data.

    Places in it are elements of type ``etype``.
    """

    def __init__(self, disp: int, etype: Any, filetype: Any, position: int = 0) -> None:
        self.disp, self.etype, self.filetype, self.position = disp, etype, filetype, position

    def byte(self, offset: int) -> int:
        """Return the byte where an element begins."""
        return self.runs(offset, int(self.etype.size))[0][0]

    def runs(self, offset: int, size: int) -> list[tuple[int, int]]:
        """Return begin and length of the parts of the file that have ``size`` bytes from an element on."""
        kind, begin = self.filetype, offset * int(self.etype.size)
        if kind.layout.is_dense:
            return [(self.disp + begin, size)]
        first, last = begin // kind.size, -(-(begin + size) // kind.size)
        unit = kind.layout.unit
        bytes_ = (kind.layout.index(first, last - first)[:, None] * unit + np.arange(unit)).ravel()
        bytes_ = self.disp + bytes_[begin - first * kind.size :][:size]
        ends = np.flatnonzero(np.diff(bytes_, append=-1) != 1) + 1
        begins = [0, *ends[:-1].tolist()]
        return [(int(bytes_[at]), end - at) for at, end in zip(begins, ends.tolist(), strict=True)]


class File(KeptByRanks, Simulated):
    """A file that is open on all ranks of a communicator."""

    empty_is_null = True
    ended_by = "Close"

    def __init__(self, comm: Any, disk: DiskFile) -> None:
        self.world: World = comm.world
        self._comm, self._disk = comm, disk
        end = disk.size if disk.amode & MODE_APPEND else 0
        self._views = [_View(0, BYTE, BYTE, end) for _ in range(comm.size)]
        self._shared, self._atomic = end, False
        self._begun: dict[int, tuple[Request, int]] = {}
        self._closed: set[int] = set()

    _of_null: ClassVar[dict[str, Any]] = {}  # a handler of errors that is set for FILE_NULL

    def _own(self) -> dict[str, Any]:
        return super()._own() if self.__dict__ else File._of_null

    # --- Opening and closing ---------------------------------------------------------------------------------

    @classmethod
    def Open(cls, comm: Any, filename: Any, amode: int = MODE_RDONLY, info: Any = INFO_NULL) -> File:
        """Open a file on all ranks. Raises FileError, an ``MPI.Exception``, on all of them if it cannot be."""
        world = comm.world
        world.begin_call()
        try:

            def combine(given: list[Any]) -> list[Any]:
                if len(set(given)) > 1:
                    what = "the ranks open different files or modes together"
                    raise MpiError(what, place_of_call(), value=given[:4], allowed="the same on all (MPI_ERR_NOT_SAME)")
                try:
                    if not given[0][1] & MODE_RDONLY:
                        world.written.keep(given[0][0])
                    return [cls(comm, DiskFile(*given[0]))] * len(given)
                except FileError as error:
                    return [error] * len(given)

            found = comm._together("File.Open", (os.fsdecode(filename), int(amode)), 0, combine, record=False)
        finally:
            world.end_call()
        if isinstance(found, FileError):
            raise found
        made: File = found
        return made

    @staticmethod
    def Delete(filename: Any, info: Any = INFO_NULL) -> None:
        """Remove a file."""
        remove(os.fsdecode(filename))

    def _all(self, name: str, given: Any, act: Callable[[list[Any]], Any]) -> Any:
        """Do something once, when all ranks have come; return what it returns."""
        return self._comm._together(f"File.{name}", given, 0, lambda all_: [act(all_)] * len(all_), record=False)

    @mpi_call
    def Close(self) -> None:
        """Close the file on all ranks."""
        self._all("Close", None, lambda given: self._disk.close())
        self._closed.add(self._comm.rank)

    def __bool__(self) -> bool:
        return bool(self.__dict__) and self._comm.rank not in self._closed

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]

    # --- What it is ------------------------------------------------------------------------------------------

    @mpi_call
    def Set_size(self, size: int) -> None:
        """Cut the file, or fill it with zeros."""
        self._all("Set_size", size, lambda given: self._disk.resize(int(given[0])))

    @mpi_call
    def Preallocate(self, size: int) -> None:
        """Fill the file with zeros if it is shorter."""
        self._all("Preallocate", size, lambda given: self._disk.resize(max(int(given[0]), self._disk.size)))

    @mpi_call
    def Sync(self) -> None:
        """Wait for all ranks; every write is in the file when it returns."""
        self._all("Sync", None, lambda given: None)

    def Get_size(self) -> int:
        """Return the bytes of the file."""
        return self._disk.size

    def Get_amode(self) -> int:
        """Return the mode."""
        return self._disk.amode

    def Get_atomicity(self) -> bool:
        """Return whether accesses are atomic."""
        return self._atomic

    def Set_atomicity(self, flag: bool) -> None:
        """Keep whether accesses are atomic: here they always are."""
        self._atomic = bool(flag)

    def Get_group(self) -> Any:
        """Return the group of the ranks."""
        return self._comm.Get_group()

    size, amode, group = property(Get_size), property(Get_amode), property(Get_group)
    atomicity = property(Get_atomicity, Set_atomicity)
    group_size = property(lambda self: self._comm.size)
    group_rank = property(lambda self: self._comm.rank)

    # --- Views and pointers ----------------------------------------------------------------------------------

    @property
    def _view(self) -> _View:
        view: _View = self._views[self._comm.rank]
        return view

    @mpi_call
    def Set_view(
        self, disp: int = 0, etype: Any = BYTE, filetype: Any = None, datarep: str = "native", info: Any = INFO_NULL
    ) -> None:
        """Let this rank see elements of a type from a byte on; all pointers are at the first again."""
        kind = etype if filetype is None else filetype
        if kind.size % etype.size or not kind.size:
            allowed = f"a multiple of {etype.size} B above 0"
            raise MpiError(
                "the size of a filetype is not a multiple of the element's size",
                place_of_call(),
                value=kind.size,
                allowed=allowed,
            )
        if datarep != "native":
            raise MpiError("no such data representation of a file", place_of_call(), value=datarep, allowed="'native'")

        def rewind(given: list[Any]) -> None:
            self._shared = 0

        self._views[self._comm.rank] = _View(int(disp), etype, kind)
        self._all("Set_view", None, rewind)

    def Get_view(self) -> tuple[int, Any, Any, str]:
        """Return first byte, types and representation of what this rank sees."""
        return self._view.disp, self._view.etype, self._view.filetype, "native"

    def Get_byte_offset(self, offset: int) -> int:
        """Return the byte of the file where an element begins."""
        return self._view.byte(offset)

    def Get_type_extent(self, datatype: Any) -> int:
        """Return the bytes of an element in the file."""
        return int(datatype.extent)

    def _sought(self, now: int, offset: int, whence: int) -> int:
        end = (self._disk.size - self._view.disp) // int(self._view.etype.size)
        bases = {SEEK_SET: 0, SEEK_CUR: now, SEEK_END: end}
        if whence not in bases or bases[whence] + offset < 0:
            allowed = "a place in the file, from MPI.SEEK_SET, SEEK_CUR or SEEK_END"
            raise MpiError("File.Seek leads to no place in the file", place_of_call(), value=offset, allowed=allowed)
        return bases[whence] + offset

    def Seek(self, offset: int, whence: int = SEEK_SET) -> None:
        """Set this rank's pointer, in elements."""
        self._view.position = self._sought(self._view.position, offset, whence)

    def Get_position(self) -> int:
        """Return this rank's pointer, in elements."""
        return self._view.position

    @mpi_call
    def Seek_shared(self, offset: int, whence: int = SEEK_SET) -> None:
        """Set the pointer that all ranks share."""

        def seek(given: list[Any]) -> None:
            self._shared = self._sought(self._shared, offset, whence)

        self._all("Seek_shared", (offset, whence), seek)

    def Get_position_shared(self) -> int:
        """Return the pointer that all ranks share."""
        return self._shared

    def _offset(self, pointer: str, count: int) -> int:
        """Return where an access of ``count`` elements begins, and move its pointer behind it."""
        if pointer == _OWN:
            self._view.position += count
            return self._view.position - count
        if pointer == _SHARED:  # in the order of simulated time
            self.world.in_time += 1
            self.world.catch_up()
            self._shared += count
            return self._shared - count

        def in_order(given: list[int]) -> list[int]:
            ends = [*accumulate(given, initial=self._shared)]
            self._shared = ends[-1]
            return ends

        return int(self._all("ordered access", count, in_order)[self._comm.rank])

    # --- Accesses --------------------------------------------------------------------------------------------

    def _moved(self, writes: bool, buf: Any, offset: int | None, pointer: str) -> int:
        """Read or write; return the bytes. ``offset`` in elements; None: where the pointer is."""
        self._disk.check(writes=writes)
        buffer, view = Buffer(buf), self._view
        size = buffer.size_bytes
        if size % view.etype.size:
            allowed = f"a multiple of {view.etype.size} B, the size of the element type in File.Set_view"
            raise MpiError("an access has a part of an element", place_of_call(), value=size, allowed=allowed)
        offset = self._offset(pointer, size // view.etype.size) if offset is None else int(offset)
        runs = view.runs(offset, size) if size else []
        if writes:
            data, done = buffer.flat.tobytes(), 0
            for begin, length in runs:
                self._disk.write(begin, data[done : done + length])
                done += length
            return size
        got = b"".join(self._disk.read(begin, length) for begin, length in runs)
        buffer.take(np.frombuffer(got, np.uint8))
        return len(got)

    def _begin(
        self, writes: bool, is_collective: bool, pointer: str, name: str, buf: Any, offset: int | None
    ) -> tuple[Request, int]:
        """Begin an access; return its request and bytes."""
        self.world.begin_call()
        try:
            if is_collective:
                self._all(name, None, lambda given: None)
            size = self._moved(writes, buf, offset, pointer)
            return Request(self.world, self.world.note().start_access("write" if writes else "read", size)), size
        finally:
            self.world.end_call()

    def _at(self, how: tuple[bool, bool, str, str], offset: int, buf: Any, status: Status | None = None) -> None:
        self._ended(self._begin(*how, buf, offset), status)

    def _here(self, how: tuple[bool, bool, str, str], buf: Any, status: Status | None = None) -> None:
        self._ended(self._begin(*how, buf, None), status)

    def _begun_at(self, how: tuple[bool, bool, str, str], offset: int, buf: Any) -> Request:
        return self._begin(*how, buf, offset)[0]

    def _begun_here(self, how: tuple[bool, bool, str, str], buf: Any) -> Request:
        return self._begin(*how, buf, None)[0]

    def _ended(self, begun: tuple[Request, int], status: Status | None) -> None:
        request, size = begun
        request.Wait()
        if status is not None:
            status.count = size

    def _first_half_at(self, how: tuple[bool, bool, str, str], offset: int, buf: Any) -> None:
        self._begun[self._comm.rank] = self._begin(*how, buf, offset)

    def _first_half(self, how: tuple[bool, bool, str, str], buf: Any) -> None:
        self._begun[self._comm.rank] = self._begin(*how, buf, None)

    def _second_half(self, buf: Any, status: Status | None = None) -> None:
        """Wait for what the other half began."""
        self._ended(self._begun.pop(self._comm.rank), status)


def _define_accesses() -> None:
    """Define Read, Iwrite_at_all, Write_ordered_begin and all other accesses of MPI."""
    for word in ("Read", "Write"):
        for ending, is_collective, pointer in (
            ("", False, _OWN),
            ("_all", True, _OWN),
            ("_at", False, _OWN),
            ("_at_all", True, _OWN),
            ("_shared", False, _SHARED),
            ("_ordered", True, _ORDERED),
        ):
            name = word + ending
            how = word == "Write", is_collective, pointer, name
            has_offset = ending.startswith("_at")
            setattr(File, name, partialmethod(File._at if has_offset else File._here, how))
            if pointer != _ORDERED:
                begun = File._begun_at if has_offset else File._begun_here
                setattr(File, f"I{name[0].lower()}{name[1:]}", partialmethod(begun, how))
            if is_collective:
                half = File._first_half_at if has_offset else File._first_half
                setattr(File, f"{name}_begin", partialmethod(half, how))
                setattr(File, f"{name}_end", File._second_half)


_define_accesses()
