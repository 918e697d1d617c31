"""Operations of all ranks on objects: ``bcast``, ``gather``, ``allreduce`` and others in lower case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

from simcodesign.mpi.collectives.meetings import Meetings
from simcodesign.mpi.operators import OPERATORS, Op
from simcodesign.mpi.pickles import PICKLE
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import mpi_call
from simcodesign.mpi.values.errors import MpiError

Operator = Op | Callable[[Any, Any], Any]
SUM = OPERATORS["SUM"]


class CollectivesOfObjects(Meetings):
    """The part of communicators for operations of all ranks on objects."""

    @mpi_call
    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Send the root's object to all ranks."""
        data = PICKLE.dumps(obj) if self.rank == root else b""
        got = self._together("broadcast", data, len(data), lambda given: [given[root]] * len(given), root)
        return obj if self.rank == root else PICKLE.loads(got)

    @mpi_call
    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Return the objects of all ranks at the root, None elsewhere."""
        data = PICKLE.dumps(sendobj)
        got = self._together("gather", data, len(data), lambda given: [given] * len(given), root)
        return [PICKLE.loads(one) for one in got] if self.rank == root else None

    @mpi_call
    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Return this rank's object of the root's list."""
        data = self._pickled(sendobj) if self.rank == root else []
        size_bytes = sum(map(len, data)) / self.size
        return PICKLE.loads(self._together("scatter", data, size_bytes, lambda given: given[root], root))

    @mpi_call
    def allgather(self, sendobj: Any) -> list[Any]:
        """Return the objects of all ranks."""
        data = PICKLE.dumps(sendobj)
        got = self._together("allgather", data, len(data), lambda given: [given] * len(given))
        return [PICKLE.loads(one) for one in got]

    @mpi_call
    def alltoall(self, sendobj: Sequence[Any]) -> list[Any]:
        """Return the object that each rank has for this one."""
        data = self._pickled(sendobj)
        size_bytes = sum(map(len, data)) / self.size
        got = self._together("all_to_all", data, size_bytes, lambda given: [*zip(*given, strict=True)])
        return [PICKLE.loads(one) for one in got]

    def _pickled(self, objects: Iterable[Any] | None) -> list[bytes]:
        """Return one object for each rank, None for all if there are none. Raises MpiError for fewer or more."""
        data = [PICKLE.dumps(one) for one in ([None] * self.size if objects is None else objects)]
        if len(data) != self.size:
            what = "a collective operation needs one object for each rank"
            raise MpiError(what, place_of_call(), value=len(data), allowed=f"{self.size}")
        return data

    def _reduced(self, name: str, obj: Any, combine: Callable[[list[Any]], list[Any]], root: int | None = None) -> Any:
        data = PICKLE.dumps(obj)

        def together(given: list[bytes]) -> list[bytes]:
            return [PICKLE.dumps(one) for one in combine([PICKLE.loads(one) for one in given])]

        return PICKLE.loads(self._together(name, data, len(data), together, root))

    @mpi_call
    def reduce(self, sendobj: Any, op: Operator = SUM, root: int = 0) -> Any:
        """Return the objects of all ranks combined at the root, None elsewhere."""
        got = self._reduced("reduce", sendobj, lambda all_: [_last(all_, op)] * len(all_), root)
        return got if self.rank == root else None

    @mpi_call
    def allreduce(self, sendobj: Any, op: Operator = SUM) -> Any:
        """Return the objects of all ranks combined."""
        return self._reduced("allreduce", sendobj, lambda all_: [_last(all_, op)] * len(all_))

    @mpi_call
    def scan(self, sendobj: Any, op: Operator = SUM) -> Any:
        """Return the objects of the ranks up to this one combined."""
        return self._reduced("scan", sendobj, lambda all_: [*accumulate(all_, op)])

    @mpi_call
    def exscan(self, sendobj: Any, op: Operator = SUM) -> Any:
        """Return the objects of the ranks before this one combined; None on rank 0."""
        return self._reduced("exscan", sendobj, lambda all_: [None, *accumulate(all_[:-1], op)])


def _last(values: list[Any], op: Operator) -> Any:
    """Return the values combined, in the order of their ranks."""
    *_, last = accumulate(values, op)
    return last
