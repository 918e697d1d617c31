"""Messages of accesses to windows: in the log of the rank that begins them, and of the rank whose memory it is.

Data move immediately, when an access is called; only its time is a matter of messages.

- A put is a message. The other rank receives it concurrently with its work.
- A get between fences is a request, and an answer that the other rank sends in its next fence.
- In other epochs the other rank's processor takes no part, as in networks with remote memory access. A get is then an
  empty message and one with the data, both of which its own rank sends: the data are priced in the wrong direction.
"""

from __future__ import annotations

from typing import Any

from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.ranks.world import World
from simcodesign.mpi.requests import Request

_GIVEN, _ASKED, _ANSWERED = range(3)  # tags
#: Tags of empty messages between ranks that synchronize.
POSTED, COMPLETED, HANDED_OVER = range(3, 6)


class _Transfer(Request):
    """A message of a window, which arrives at ``there_s``."""

    def __init__(self, world: World, place: int | None, there_s: float) -> None:
        super().__init__(world, place)
        self._there_s = there_s

    def done_s(self) -> float:
        """Return when waiting ends."""
        return self._there_s

    def wait_for_message(self) -> None:
        """Let the time of the message pass."""
        self.world.scheduler.pass_until(self._there_s)


class _Epoch:
    """Operations that a rank waits for: ``own`` accesses, ``arriving`` ones of others, and ``answers`` to send."""

    def __init__(self) -> None:
        self.own: list[Request] = []
        self.arriving: list[Request] = []
        self.answers: list[tuple[Request, int, int]] = []  # arrival and rank of a request, bytes of the answer


class Transfers(PointToPoint):
    """The messages of one window, apart from all others."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._epochs = {member: _Epoch() for member in self.members}
        self._closed: dict[int, _Epoch] = {}

    def _send(self, target: int, tag: int, size_bytes: int) -> _Transfer:
        """Begin to send from the current rank."""
        place = self.world.note().start_send(target, size_bytes, tag, self.number)
        return _Transfer(self.world, place, self.world.departs(self.members[target], size_bytes, blocking=False))

    def _arrival(self, target: int, source: int, tag: int, there_s: float) -> _Transfer:
        """Begin to receive, in the log of a rank that is not always the current one."""
        log = self.world.log.of_rank[self.members[target]]
        return _Transfer(self.world, log.start_receive(source, None, tag, self.number), there_s)

    def give(self, target: int, size_bytes: int) -> Request:
        """Send data to a rank of the window."""
        me, other = self.rank, self.members[target]
        if target == me:
            return Request(self.world)
        sent = self._send(target, _GIVEN, size_bytes)
        self._epochs[self.world.current].own.append(sent)
        self._epochs[other].arriving.append(self._arrival(target, me, _GIVEN, sent.done_s()))
        return sent

    def ask(self, target: int, request_bytes: int, answer_bytes: int, *, is_answered: bool) -> Request:
        """Ask a rank of the window for data; ``is_answered``: by that rank, in its next fence."""
        me, other, world = self.rank, self.members[target], self.world
        if target == me:
            return Request(world)
        if not is_answered:
            world.note().send(target, request_bytes, _ASKED, self.number)
            there_s = world.departs(other, request_bytes, blocking=True)
            self._epochs[other].arriving.append(self._arrival(target, me, _ASKED, there_s))
            return self.give(target, answer_bytes)
        request = self._send(target, _ASKED, request_bytes)
        arrival = self._arrival(target, me, _ASKED, request.done_s())
        self._epochs[other].answers.append((arrival, me, answer_bytes))
        answer = self._arrival(me, target, _ANSWERED, request.done_s() + world.times[answer_bytes].arrival_s)
        self._epochs[world.current].own += [request, answer]
        return answer

    def close(self) -> None:
        """End the epochs of all ranks: what they begin from now on belongs to the next ones."""
        for member in self.members:
            self._closed[member], self._epochs[member] = self._epochs[member], _Epoch()

    def complete_closed(self) -> None:
        """Answer what was asked of this rank in the epoch that was closed, and wait for all its messages."""
        epoch = self._closed.pop(self.world.current)
        for arrival, other, size_bytes in epoch.answers:
            arrival.end(None)
            epoch.own.append(self._send(other, _ANSWERED, size_bytes))
        for request in epoch.own + epoch.arriving:
            request.end(None)

    def complete_own(self) -> bool:
        """Wait for the accesses of this rank; return whether there were any."""
        epoch = self._epochs[self.world.current]
        own, epoch.own = epoch.own, []
        for request in own:
            request.end(None)
        return bool(own)

    def complete_arriving(self) -> None:
        """Wait for the accesses of others to this rank."""
        arriving = self._epochs[self.world.current].arriving
        while arriving:
            arriving.pop(0).end(None)

    def notify(self, rank: int, tag: int) -> None:
        """Send an empty message to a rank of the window."""
        if self.members[rank] != self.world.current:
            self._epochs[self.world.current].own.append(self._post(b"", 0, rank, tag, waits=False, start=True))

    def expect(self, rank: int, tag: int) -> None:
        """Wait for an empty message."""
        if self.members[rank] != self.world.current:
            self._receive(rank, tag, None)

    def expected_s(self, rank: int, tag: int) -> float | None:
        """Return when an empty message arrives; None while it is not known."""
        if self.members[rank] == self.world.current:
            return 0.0
        message = self._box(self.rank).first(rank, tag)
        return None if message is None else message.arrival_s
