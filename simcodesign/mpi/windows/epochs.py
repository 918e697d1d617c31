"""When the memory of a window may be accessed: between fences, under locks, and between Start and Complete."""

from __future__ import annotations

from collections import deque
from typing import Any

from simcodesign.mpi.names import Simulated
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.values.errors import MpiError
from simcodesign.mpi.windows.transfers import COMPLETED, HANDED_OVER, POSTED, Transfers

LOCK_EXCLUSIVE, LOCK_SHARED = 1, 2
MODE_NOCHECK, MODE_NOPRECEDE, MODE_NOPUT, MODE_NOSTORE, MODE_NOSUCCEED = 1, 2, 4, 8, 16


class _Lock:
    """The lock of one rank's memory: who holds it, and who waits, in the order of asking."""

    def __init__(self) -> None:
        self.holders: dict[int, int] = {}
        self.waiting: deque[tuple[int, int]] = deque()
        self.handed_over_by: dict[int, int] = {}

    def is_free_for(self, kind: int) -> bool:
        """Return whether another lock of a kind may be held."""
        return not self.holders or (kind == LOCK_SHARED and LOCK_EXCLUSIVE not in self.holders.values())


class Epochs(Simulated):
    """The part of windows that synchronizes ranks. Ranks are ranks of the communicator ``comm``."""

    def __init__(self, comm: Any) -> None:
        self.world: World = comm.world
        self._comm = comm
        self._transfers = Transfers(self.world, self.world.log.communicator(comm.members), comm.members)
        self._is_fenced = [False] * comm.size
        self._locks = [_Lock() for _ in range(comm.size)]
        self._started: list[list[int]] = [[] for _ in range(comm.size)]
        self._posted: list[list[int]] = [[] for _ in range(comm.size)]

    @property
    def group_size(self) -> int:
        """How many ranks the window has."""
        return int(self._comm.size)

    @property
    def group_rank(self) -> int:
        """The rank whose turn it is."""
        return int(self._comm.rank)

    def _check_access(self, name: str, target: int) -> None:
        """Raise MpiError for a rank that is none, or whose memory may not be accessed now."""
        self._check_rank(target)
        me = self.group_rank
        if not (self._is_fenced[me] or me in self._locks[target].holders or target in self._started[me]):
            what = f"rank {self.world.current} calls {name} while it may not access the memory of rank {target}"
            allowed = "after Fence, Lock, Lock_all or Start (MPI_ERR_RMA_SYNC)"
            raise MpiError(what, place_of_call(), allowed=allowed)
        if not self._is_fenced[me]:
            self._in_time()

    def _in_time(self) -> None:
        """Let others run until none is before this rank: the order of accesses depends on time."""
        self.world.in_time += 1
        self.world.catch_up()

    def _check_rank(self, rank: int) -> None:
        if not 0 <= rank < self.group_size:
            allowed = f"0 to {self.group_size - 1}"
            raise MpiError("the window has no such rank", place_of_call(), value=rank, allowed=allowed)

    # --- All ranks -------------------------------------------------------------------------------------------

    def _meet(self, name: str) -> None:
        def close(given: list[Any]) -> list[Any]:
            self._transfers.close()
            return given

        self._comm._together(name, None, 0, close, record=False)
        self._transfers.complete_closed()

    @mpi_call
    def Fence(self, assertion: int = 0) -> None:
        """Wait for all ranks and for all accesses; others may follow."""
        self._meet("Win.Fence")
        self._comm.Barrier()
        self._is_fenced[self.group_rank] = not assertion & MODE_NOSUCCEED

    # --- Locks -----------------------------------------------------------------------------------------------

    @mpi_call
    def Lock(self, rank: int, lock_type: int = LOCK_EXCLUSIVE, assertion: int = 0) -> None:
        """Wait until the memory of a rank is this rank's, or, of LOCK_SHARED, until others only share it."""
        self._check_rank(rank)
        self._in_time()
        self._lock(rank, lock_type)

    def _lock(self, rank: int, kind: int) -> None:
        lock, me = self._locks[rank], self.group_rank
        if me in lock.holders:
            what = f"rank {self.world.current} locks rank {rank} again"
            raise MpiError(what, place_of_call(), allowed="after Unlock (MPI_ERR_RMA_SYNC)")
        if lock.is_free_for(kind) and not lock.waiting:
            lock.holders[me] = kind
            return
        lock.waiting.append((me, kind))
        self.world.scheduler.wait(lambda: f"lock of the memory of rank {rank}", lambda: me in lock.holders)
        self._transfers.expect(lock.handed_over_by.pop(me), HANDED_OVER)

    def _unlock(self, rank: int) -> None:
        lock, me = self._locks[rank], self.group_rank
        if lock.holders.pop(me, None) is None:
            what = f"rank {self.world.current} unlocks rank {rank}, which it has not locked"
            raise MpiError(what, place_of_call(), allowed="after Lock (MPI_ERR_RMA_SYNC)")
        while lock.waiting and lock.is_free_for(lock.waiting[0][1]):
            other, kind = lock.waiting.popleft()
            lock.holders[other], lock.handed_over_by[other] = kind, me
            self._transfers.notify(other, HANDED_OVER)
            self.world.scheduler.wake(self._comm.members[other])

    def _complete_and_let_others(self) -> None:
        """Wait for this rank's accesses; if there are none, others have a turn, because it may look until they do."""
        if not self._transfers.complete_own():
            self.world.scheduler.test_failed(None)

    @mpi_call
    def Unlock(self, rank: int) -> None:
        """Wait for the accesses to a rank, and let others lock its memory. Others have a turn."""
        self._check_rank(rank)
        self._complete_and_let_others()
        self._unlock(rank)

    @mpi_call
    def Lock_all(self, assertion: int = 0) -> None:
        """Share the memory of all ranks."""
        self._in_time()
        for rank in range(self.group_size):
            self._lock(rank, LOCK_SHARED)

    @mpi_call
    def Unlock_all(self) -> None:
        """Wait for all accesses, and end what Lock_all began. Others have a turn."""
        self._complete_and_let_others()
        for rank in range(self.group_size):
            self._unlock(rank)

    @mpi_call
    def Flush(self, rank: int) -> None:
        """Wait for the accesses to a rank; here, to all. Others have a turn."""
        self._check_rank(rank)
        self._complete_and_let_others()

    Flush_local = Flush

    @mpi_call
    def Flush_all(self) -> None:
        """Wait for all accesses. Others have a turn."""
        self._complete_and_let_others()

    Flush_local_all = Flush_all

    @mpi_call
    def Sync(self) -> None:
        """Let others have a turn: the memory of the window and of its rank are one."""
        self.world.scheduler.test_failed(None)

    # --- Groups of ranks -------------------------------------------------------------------------------------

    def _ranks_of(self, group: Any) -> list[int]:
        return list(group.Translate_ranks(list(range(group.Get_size())), self._comm.Get_group()))

    @mpi_call
    def Post(self, group: Any, assertion: int = 0) -> None:
        """Let the ranks of a group access the memory of this one, until Wait."""
        ranks = self._posted[self.group_rank] = self._ranks_of(group)
        for rank in ranks:
            self._transfers.notify(rank, POSTED)

    @mpi_call
    def Start(self, group: Any, assertion: int = 0) -> None:
        """Wait until this rank may access the memory of all ranks of a group, until Complete."""
        ranks = self._started[self.group_rank] = self._ranks_of(group)
        for rank in ranks:
            self._transfers.expect(rank, POSTED)

    @mpi_call
    def Complete(self) -> None:
        """End what Start began, when the accesses are complete."""
        self._transfers.complete_own()
        for rank in self._started[self.group_rank]:
            self._transfers.notify(rank, COMPLETED)
        self._started[self.group_rank] = []

    @mpi_call
    def Wait(self) -> bool:
        """Wait until all ranks to which this one has posted are complete."""
        for rank in self._posted[self.group_rank]:
            self._transfers.expect(rank, COMPLETED)
        self._posted[self.group_rank] = []
        self._transfers.complete_arriving()
        return True

    @mpi_call
    def Test(self) -> bool:
        """Return whether Wait would end immediately; if so, it is done. Others have a turn if not."""
        self._in_time()
        times = [self._transfers.expected_s(rank, COMPLETED) for rank in self._posted[self.group_rank]]
        known = [time_s for time_s in times if time_s is not None]
        if len(known) < len(times) or max(known, default=0.0) > self.world.scheduler.clock_s:
            self.world.scheduler.test_failed(max(known) if known and len(known) == len(times) else None)
            return False
        return bool(self.Wait())
