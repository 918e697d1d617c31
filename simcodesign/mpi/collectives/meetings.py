"""How the ranks of a communicator meet in an operation. The last rank to come computes the results of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec

from simcodesign.describe.demands.collective import SIGNALS
from simcodesign.describe.recordings.rank_log import RankLog
from simcodesign.mpi.messages.persistent import Prequest
from simcodesign.mpi.objects.info import INFO_NULL
from simcodesign.mpi.objects.status import Status
from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.ranks.log import Log
from simcodesign.mpi.ranks.matching import Message
from simcodesign.mpi.ranks.scheduler import place_of_call
from simcodesign.mpi.ranks.world import World, mpi_call
from simcodesign.mpi.requests import Request
from simcodesign.mpi.values.errors import MpiError

Given = ParamSpec("Given")
Combine = Callable[[list[Any]], Sequence[Any]]
#: Operations recorded under another name: an exclusive scan has the messages of a scan.
_RECORDED_AS = {"exscan": "scan"}


class Meeting:
    """One operation of all ranks: ``given`` by each, and ``got`` by each."""

    def __init__(self, name: str, root: int | None, ranks: int) -> None:
        self.name, self.root = name, root
        self.given: list[Any] = [None] * ranks
        self.sizes: list[float] = []
        self.got: Sequence[Any] | None = None
        self.notes: dict[int, tuple[RankLog, int | None]] = {}  # of each rank, with the entry of one that was begun
        self.parts: dict[int, Sequence[float]] = {}  # bytes of parts that may differ, as each rank gives them
        self.end_s = 0.0
        self.fetched = 0

    def __str__(self) -> str:
        return self.name if self.root is None else f"{self.name} with root {self.root}"

    def is_done(self) -> bool:
        """Return whether all ranks have come."""
        return self.got is not None

    def record(self, size_bytes: float, communicator: int, log: Log) -> None:
        """Note the operation, now that its bytes are known.

        Ranks that wait in it note it only now: what others do with their memory in the meantime comes before.
        """
        name = _RECORDED_AS.get(self.name, self.name)
        what = name, 0.0 if name in SIGNALS else size_bytes, self.root, communicator
        if self._record_parts(communicator, log):
            return
        for note, entry in self.notes.values():
            if entry is None:
                note.collective(*what)
            else:
                note.was_collective(entry, *what)

    def _record_parts(self, communicator: int, log: Log) -> bool:
        """Note an operation whose parts differ as its messages; return whether it is one, and was not begun."""
        sizes = [self.parts[rank] for rank in sorted(self.parts)]
        is_begun = any(entry is not None for _, entry in self.notes.values())
        if is_begun or len({size for each in sizes for size in each}) < 2:
            return False
        for rank, (note, _) in self.notes.items():
            with log.parts(note):
                if self.name == "gather" and self.root is not None:
                    note.gather_parts(sizes[rank][0], self.root, rank == self.root, len(sizes), communicator)
                elif self.name == "scatter" and self.root is not None:
                    note.scatter_parts(self.parts[self.root], self.root, rank == self.root, communicator)
                elif self.name == "allgather":
                    note.allgather_parts([one[0] for one in sizes], communicator)
                else:
                    note.all_to_all_parts(sizes[rank], communicator)
        return True


class CollectiveRequest(Request):
    """An operation of all ranks that was begun; ``fetch`` returns what the rank gets."""

    def __init__(self, world: World, place: int, meeting: Meeting, fetch: Callable[[], Any]) -> None:
        super().__init__(world, place)
        self._meeting, self._fetch = meeting, fetch

    def done_s(self) -> float | None:
        """Return when waiting ends; None while it is not known."""
        return self._meeting.end_s if self._meeting.is_done() else None

    def wait_for_message(self) -> Message | None:
        """Let others run until it is done."""
        self.world.scheduler.wait(lambda: f"wait for {self._meeting}", self._meeting.is_done)
        self.world.scheduler.pass_until(self._meeting.end_s)
        return None

    def end(self, status: Status | None) -> Any:
        """Wait; return what this rank gets."""
        if not self._ended:
            super().end(status)
            self._value = self._fetch()
        return self._value


class Meetings(PointToPoint):
    """The part of communicators in which ranks meet."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._meetings: dict[int, Meeting] = {}
        self._count = dict.fromkeys(self.members, 0)
        self._is_nonblocking = False

    def _together(
        self,
        name: str,
        given: Any,
        size_bytes: float,
        combine: Combine,
        root: int | None = None,
        record: bool = True,
        use: Callable[[Any], Any] = lambda got: got,
        parts: Sequence[float] | None = None,
    ) -> Any:
        """Meet the other ranks in the operation ``name``; return ``use`` of what this rank gets of ``combine``.

        ``size_bytes``: what this rank gives; the mean of all is recorded, or, of a broadcast and a scatter, the root's.
        ``parts``: bytes of its part, or of its part for each rank, if these may differ: they are then recorded.
        Within ``nonblocking`` the operation begins, and a request is returned.
        """
        world, size, me = self.world, len(self.members), self.rank
        if root is not None and not 0 <= root < size:  # before the rank takes part: it may continue after the error
            allowed = f"0 to {size - 1}"
            raise MpiError(
                f"the root of {name} is not a rank of this communicator",
                place_of_call(),
                value=root,
                allowed=allowed,
                name="ROOT",
            )
        begins, self._is_nonblocking = self._is_nonblocking, False
        rank = world.scheduler.ranks[world.scheduler.current]
        note, number = world.log.of_rank[rank.number], self._count[rank.number]
        self._count[rank.number] = number + 1
        meeting = self._meetings.get(number)
        if meeting is None:
            meeting = self._meetings[number] = Meeting(name, root, size)
        elif meeting.name != name or meeting.root != root:
            what = f"rank {rank.number} calls {Meeting(name, root, size)}, another calls {meeting}"
            raise MpiError(what, place_of_call())
        meeting.given[me] = given
        meeting.sizes.append(size_bytes)
        meeting.end_s = max(meeting.end_s, rank.clock_s)
        entry = note.start_unknown() if begins else None
        if record:
            meeting.notes[me] = note, entry
        if parts is not None:
            meeting.parts[me] = parts
        if len(meeting.sizes) == size:
            self._hold(meeting, combine, record)
        if entry is not None:
            return CollectiveRequest(world, entry, meeting, lambda: self._fetched(number, me, use))
        if meeting.got is None:
            world.scheduler.wait(meeting.__str__, meeting.is_done)
        world.scheduler.pass_until(meeting.end_s)
        return self._fetched(number, me, use)

    def _hold(self, meeting: Meeting, combine: Combine, record: bool) -> None:
        """Compute the results of a meeting to which all have come."""
        world, size, name = self.world, len(self.members), meeting.name
        at_root = name in ("broadcast", "scatter")
        size_bytes = max(meeting.sizes) if at_root else sum(meeting.sizes) / size
        meeting.record(size_bytes, self.number, world.log)
        meeting.end_s += world.times.of_all_ranks(name, size_bytes, size) if record else 0.0
        meeting.got = combine(meeting.given)
        for member in self.members:
            world.scheduler.wake(member)

    def _fetched(self, number: int, me: int, use: Callable[[Any], Any]) -> Any:
        """Return what one rank makes of its result; the last one ends the meeting."""
        meeting = self._meetings[number]
        assert meeting.got is not None
        meeting.fetched += 1
        if meeting.fetched == len(meeting.given):
            del self._meetings[number]
        return use(meeting.got[me])

    def _begin_meeting(self, call: Callable[[], Any]) -> Request:
        self._is_nonblocking = True
        try:
            request: Request = call()
        finally:
            self._is_nonblocking = False
        return request

    @mpi_call
    def Barrier(self) -> Any:
        """Wait for all ranks."""
        return self._together("barrier", None, 0.0, lambda given: given)

    barrier = Barrier


def nonblocking(method: Callable[Concatenate[Any, Given], Any]) -> Callable[Concatenate[Any, Given], Request]:
    """Return the form of an operation that begins it and returns a request, as ``Ibcast`` is of ``Bcast``."""

    @wraps(method)
    def begin(self: Any, /, *given: Given.args, **named: Given.kwargs) -> Request:
        return self._begin_meeting(lambda: method(self, *given, **named))  # type: ignore[no-any-return]

    begin.__name__ = f"I{method.__name__.lower()}"
    return begin


def persistent(method: Callable[..., Any]) -> Callable[..., Prequest]:
    """Return the form of an operation that describes it, to be begun again and again, as ``Bcast_init`` is."""
    plain, begin = signature(method), nonblocking(method)
    hints = Parameter("info", Parameter.POSITIONAL_OR_KEYWORD, default=INFO_NULL)
    wanted = plain.replace(parameters=[*plain.parameters.values(), hints])

    def init(*given: Any, **named: Any) -> Prequest:
        bound = {**wanted.bind(*given, **named).arguments}
        bound.pop("info", None)
        own = bound.pop("self")
        return Prequest(own.world, lambda: begin(own, **bound))

    init.__name__, init.__doc__ = f"{method.__name__}_init", method.__doc__
    init.__signature__ = wanted  # type: ignore[attr-defined]
    return init
