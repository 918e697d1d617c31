"""Windows and the accesses to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simcodesign.mpi.buffers import Buffer, Flat, Scattered, fill, items_from
from simcodesign.mpi.communicators.kept import KeptByRanks
from simcodesign.mpi.objects.attributes import Attributed
from simcodesign.mpi.objects.bytes_in_memory import MemoryBytes
from simcodesign.mpi.objects.datatypes import Datatype, of_dtype
from simcodesign.mpi.objects.info import INFO_NULL, Info
from simcodesign.mpi.objects.memory import memory_of
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import mpi_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.constants import PROC_NULL
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.windows.epochs import Epochs

SUM, NO_OP = OPERATORS["SUM"], OPERATORS["NO_OP"]
#: Keys of attributes, and their values, as in Open MPI.
WIN_BASE, WIN_SIZE, WIN_DISP_UNIT, WIN_CREATE_FLAVOR, WIN_MODEL = range(7, 12)
WIN_FLAVOR_CREATE, WIN_FLAVOR_ALLOCATE, WIN_FLAVOR_DYNAMIC, WIN_FLAVOR_SHARED = range(1, 5)
WIN_UNIFIED, WIN_SEPARATE = 0, 1


class Win(KeptByRanks, Attributed, Epochs):
    """Memory of each rank of a communicator, which all of them access: one object for all ranks."""

    empty_is_null = True

    def __init__(self, comm: Any, memories: list[Flat], units: list[int], flavor: int) -> None:
        super().__init__(comm)
        self._memories, self._units, self.flavor = memories, units, flavor
        self.model, self.name = WIN_UNIFIED, f"window {self._transfers.number}"
        self._freed: set[int] = set()
        self._attached: list[list[Flat]] = [[] for _ in memories]

    # --- Making and ending -----------------------------------------------------------------------------------

    @classmethod
    def _made(cls, name: str, comm: Any, given: Any, flavor: int, memories: Callable[[list[Any]], list[Flat]]) -> Any:
        """Return the one window of all ranks, made when the last one comes; ``given``: memory or size, and unit."""
        world = comm.world
        world.begin_call()
        try:

            def combine(all_: list[tuple[Any, int]]) -> list[Win]:
                units = [unit for _, unit in all_]
                return [cls(comm, memories([one for one, _ in all_]), units, flavor)] * len(all_)

            return comm._together(name, given, 0, combine, record=False)
        finally:
            world.end_call()

    @classmethod
    def Create(cls, memory: Any, disp_unit: int = 1, info: Info = INFO_NULL, comm: Any = None) -> Win:
        """Return the window of all ranks' ``memory``; places in it are multiples of ``disp_unit`` bytes."""
        own = Buffer(memory).flat.view(np.uint8)
        made: Win = cls._made("Win.Create", comm, (own, int(disp_unit)), WIN_FLAVOR_CREATE, list)
        return made

    @classmethod
    def Allocate(cls, size: int, disp_unit: int = 1, info: Info = INFO_NULL, comm: Any = None) -> Win:
        """Return a window of ``size`` new bytes of each rank."""
        own = np.zeros(int(size), np.uint8)
        made: Win = cls._made("Win.Allocate", comm, (own, int(disp_unit)), WIN_FLAVOR_ALLOCATE, list)
        return made

    @classmethod
    def Allocate_shared(cls, size: int, disp_unit: int = 1, info: Info = INFO_NULL, comm: Any = None) -> Win:
        """Return a window of ``size`` new bytes of each rank, one after another, which all ranks see as their own."""

        def shared(sizes: list[int]) -> list[Flat]:
            return np.split(np.zeros(sum(sizes), np.uint8), np.cumsum(sizes)[:-1])

        made: Win = cls._made("Win.Allocate_shared", comm, (int(size), int(disp_unit)), WIN_FLAVOR_SHARED, shared)
        return made

    @classmethod
    def Create_dynamic(cls, info: Info = INFO_NULL, comm: Any = None) -> Win:
        """Return a window of memory that each rank attaches later; places in it are addresses."""
        own = np.zeros(0, np.uint8)
        made: Win = cls._made("Win.Create_dynamic", comm, (own, 1), WIN_FLAVOR_DYNAMIC, list)
        return made

    def Attach(self, memory: Any) -> None:
        """Let others access memory of this rank."""
        self._attached[self.group_rank].append(memory_of(memory).view(np.uint8))

    def Detach(self, memory: Any) -> None:
        """Let memory no longer be accessed. Raises MpiError if it was not attached."""
        address, own = memory_of(memory).ctypes.data, self._attached[self.group_rank]
        found = next((place for place, one in enumerate(own) if one.ctypes.data == address), None)
        if found is None:
            what = "the memory to detach is not attached"
            raise MpiError(what, place_of_call(), allowed="attached memory", name="RMA_ATTACH")
        del own[found]

    def _memory(self, rank: int, begin: int, low: int, high: int) -> tuple[Flat, int]:
        """Return the memory of a rank that has the bytes from ``low`` to ``high`` of a place, and their position there.

        A place of a dynamic window is an address.
        """
        for one in self._attached[rank]:
            if one.ctypes.data <= begin + low and begin + high <= one.ctypes.data + len(one):
                return one, begin - one.ctypes.data
        return self._memories[rank], begin

    def Shared_query(self, rank: int) -> tuple[MemoryBytes, int]:
        """Return the memory of a rank and its unit; of PROC_NULL: of the first rank that has any."""
        if self.flavor != WIN_FLAVOR_SHARED:
            what = "Shared_query is called of a window that is not shared"
            raise MpiError(what, place_of_call(), allowed="a window of Allocate_shared")
        if rank == PROC_NULL:
            rank = next((one for one, memory in enumerate(self._memories) if len(memory)), 0)
        self._check_rank(rank)
        return MemoryBytes(self._memories[rank]), self._units[rank]

    @mpi_call
    def Free(self) -> None:
        """Wait for all ranks and for all accesses; the window is no longer used."""
        self.check()
        self.delete_attributes()
        self._meet("Win.Free")
        self._freed.add(self.world.current)

    def __bool__(self) -> bool:
        return bool(self.__dict__) and self.world.current not in self._freed

    def __eq__(self, other: object) -> bool:
        return self.is_same(other)

    __hash__ = None  # type: ignore[assignment]

    # --- What it is ------------------------------------------------------------------------------------------

    def tomemory(self) -> MemoryBytes:
        """Return the memory of this rank."""
        return MemoryBytes(self._memories[self.group_rank])

    def __buffer__(self, flags: int) -> memoryview:
        return self.tomemory().data

    @property
    def attrs(self) -> tuple[int, int, int]:
        """Address, bytes and unit of this rank's memory."""
        own, is_dynamic = self._memories[self.group_rank], self.flavor == WIN_FLAVOR_DYNAMIC
        return 0 if is_dynamic else own.ctypes.data, len(own), self._units[self.group_rank]

    def _attributes(self) -> dict[int, Any]:
        found: dict[int, Any] = self._own().setdefault("attributes", {})
        return found

    def Get_attr(self, keyval: int) -> Any:
        """Return an attribute by its key, as ``MPI.WIN_SIZE``; None if there is none."""
        known = dict(zip((WIN_BASE, WIN_SIZE, WIN_DISP_UNIT), self.attrs, strict=True))
        known |= {WIN_CREATE_FLAVOR: self.flavor, WIN_MODEL: self.model}
        return known[keyval] if keyval in known else super().Get_attr(keyval)

    def Get_name(self) -> str:
        """Return the name."""
        return self.name if self else "MPI_WIN_NULL"

    def Set_name(self, name: str) -> None:
        """Set the name."""
        self.name = name

    def Get_group(self) -> Any:
        """Return the group of the window's ranks."""
        return self._comm.Get_group()

    group = property(Get_group)

    # --- Accesses --------------------------------------------------------------------------------------------

    def _place(self, name: str, own: Flat, rank: int, target: Any) -> Flat | Scattered:
        """Return where in a rank's memory ``own`` data go: ``target`` is a place, with a count and a type if given."""
        self._check_access(name, rank)
        if isinstance(target, dict) or (isinstance(target, list | tuple) and len(target) > 3):
            what = f"the target of {name} has a wrong form"
            raise MpiError(what, place_of_call(), value=target, allowed="place, count and datatype, in a list")
        at, *more = (0,) if target is None else [target] if not isinstance(target, list | tuple) else target or [0]
        named: Any = more[1] if len(more) > 1 and more[1] is not None else own.dtype
        datatype = named if isinstance(named, Datatype) else of_dtype(np.dtype(named))
        datatype.check_committed()
        size = datatype.layout.size
        count = int(more[0]) if more and more[0] is not None else own.nbytes // size if size else 0
        low, high = datatype.layout.bounds_of(count) if count else (0, 0)
        begin = int(at) * self._units[rank]
        memory, begin = self._memory(rank, begin, low, high)
        if begin + low < 0 or begin + high > len(memory):
            value = f"{high - low} bytes from byte {begin + low} on"
            what, allowed = (
                f"{name} leaves the memory of rank {rank}",
                f"within {len(memory)} bytes (MPI_ERR_RMA_RANGE)",
            )
            raise MpiError(what, place_of_call(), value=value, allowed=allowed, name="RMA_RANGE")
        if count * size > own.nbytes:
            allowed = f"up to {own.nbytes} B"
            what = f"the target of {name} has more bytes than the origin"
            raise MpiError(what, place_of_call(), value=count * size, allowed=allowed)
        return items_from(memory, begin, datatype, count)

    def _put(self, name: str, origin: Any, rank: int, target: Any) -> Request:
        if rank == PROC_NULL:
            return Request(self.world)
        own = Buffer(origin).flat
        place = self._place(name, own, rank, target)
        fill(place, own[: place.nbytes // own.itemsize])
        return self._transfers.give(rank, place.nbytes)

    def _get(self, name: str, origin: Any, rank: int, target: Any) -> Request:
        if rank == PROC_NULL:
            return Request(self.world)
        room = Buffer(origin)
        place = self._place(name, room.flat, rank, target)
        fill(room.items, place.copy())
        return self._asked(name, rank, 0, place.nbytes)

    def _asked(self, name: str, rank: int, request_bytes: int, answer_bytes: int) -> Request:
        is_locked = self.group_rank in self._locks[rank].holders
        is_answered = self._is_fenced[self.group_rank] and not is_locked and not name.startswith("R")
        return self._transfers.ask(rank, request_bytes, answer_bytes, is_answered=is_answered)

    def _accumulate(self, name: str, origin: Any, result: Any, rank: int, target: Any, op: Op) -> Request:
        """Combine with the present value; ``result``: room for the previous value, None if it is not wanted."""
        if rank == PROC_NULL:
            return Request(self.world)
        if not op.is_predefined:
            what = f"{name} takes no operation that the program made"
            raise MpiError(what, place_of_call(), allowed="predefined operations, such as MPI.SUM")
        room = None if result is None else Buffer(result).flat
        own = room if op is NO_OP and room is not None else Buffer(origin).flat
        assert own is not None
        place = self._place(name, own, rank, target)
        before = place.copy()
        if op is not NO_OP:
            fill(place, op.buffers(before, own[: place.nbytes // own.itemsize].view(before.dtype)))
        if room is None:
            return self._transfers.give(rank, place.nbytes)
        fill(room, before)
        return self._asked(name, rank, 0 if op is NO_OP else place.nbytes, place.nbytes)

    @mpi_call
    def Put(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Write to the memory of a rank."""
        self._put("Put", origin, target_rank, target)

    @mpi_call
    def Rput(self, origin: Any, target_rank: int, target: Any = None) -> Request:
        """Begin to write to the memory of a rank."""
        return self._put("Rput", origin, target_rank, target)

    @mpi_call
    def Get(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Read from the memory of a rank."""
        self._get("Get", origin, target_rank, target)

    @mpi_call
    def Rget(self, origin: Any, target_rank: int, target: Any = None) -> Request:
        """Begin to read from the memory of a rank."""
        return self._get("Rget", origin, target_rank, target)

    @mpi_call
    def Accumulate(self, origin: Any, target_rank: int, target: Any = None, op: Op = SUM) -> None:
        """Combine with the memory of a rank."""
        self._accumulate("Accumulate", origin, None, target_rank, target, op)

    @mpi_call
    def Raccumulate(self, origin: Any, target_rank: int, target: Any = None, op: Op = SUM) -> Request:
        """Begin to combine with the memory of a rank."""
        return self._accumulate("Raccumulate", origin, None, target_rank, target, op)

    @mpi_call
    def Get_accumulate(self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Op = SUM) -> None:
        """Read from the memory of a rank, and combine with it."""
        self._accumulate("Get_accumulate", origin, result, target_rank, target, op)

    @mpi_call
    def Rget_accumulate(self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Op = SUM) -> Request:
        """Begin to read from the memory of a rank, and to combine with it."""
        return self._accumulate("Rget_accumulate", origin, result, target_rank, target, op)

    @mpi_call
    def Fetch_and_op(self, origin: Any, result: Any, target_rank: int, target_disp: int = 0, op: Op = SUM) -> None:
        """Read one element of the memory of a rank, and combine with it."""
        for one in (result,) if op is NO_OP else (origin, result):
            _check_one("Fetch_and_op", Buffer(one).flat)
        self._accumulate("Fetch_and_op", origin, result, target_rank, target_disp, op)

    @mpi_call
    def Compare_and_swap(self, origin: Any, compare: Any, result: Any, target_rank: int, target_disp: int = 0) -> None:
        """Read one element of the memory of a rank, and replace it if it is the one to compare with."""
        if target_rank == PROC_NULL:
            return
        own, expected = Buffer(origin).flat, Buffer(compare).flat
        for one in (own, expected, Buffer(result).flat):
            _check_one("Compare_and_swap", one)
        place = self._place("Compare_and_swap", own, target_rank, target_disp)
        before = place.copy()
        fill(Buffer(result).flat, before)
        if before[0] == expected[0]:
            fill(place, own)
        self._asked("Compare_and_swap", target_rank, own.nbytes + expected.nbytes, place.nbytes)


def _check_one(name: str, data: Flat) -> None:
    if len(data) != 1:
        raise MpiError(f"{name} takes exactly one element", place_of_call(), value=len(data), allowed="1", name="COUNT")


def windows_by_default_of(own: Any) -> type[Win]:
    """Return the class of windows that are made for the communicator ``own`` unless another one is given."""

    class OwnWin(Win):
        @classmethod
        def Create(cls, memory: Any, disp_unit: int = 1, info: Info = INFO_NULL, comm: Any = own) -> Win:
            return super().Create(memory, disp_unit, info, comm)

        @classmethod
        def Allocate(cls, size: int, disp_unit: int = 1, info: Info = INFO_NULL, comm: Any = own) -> Win:
            return super().Allocate(size, disp_unit, info, comm)

        @classmethod
        def Allocate_shared(cls, size: int, disp_unit: int = 1, info: Info = INFO_NULL, comm: Any = own) -> Win:
            return super().Allocate_shared(size, disp_unit, info, comm)

        @classmethod
        def Create_dynamic(cls, info: Info = INFO_NULL, comm: Any = own) -> Win:
            return super().Create_dynamic(info, comm)

    OwnWin.__name__ = OwnWin.__qualname__ = "Win"
    return OwnWin
