"""What accesses to windows take: messages in the log of the rank that begins them, and of the one whose memory it is.

Data move at once, when an access is called; only its time is a matter of messages.

- A put is a message. The other rank receives it beside what it does.
- A get between fences is a request, and an answer that the other rank sends in its next fence.
- In other epochs the other rank's processor takes no part, as in networks with remote memory access. A get is then an
  empty message and one with the data, both of which its own rank sends: the data are priced in the wrong direction.
"""

from __future__ import annotations

from typing import Any

from simcodesign.mpi.log import RECEIVE, SEND, START
from simcodesign.mpi.point_to_point import PointToPoint
from simcodesign.mpi.requests import Request

_GIVEN, _ASKED, _ANSWERED = range(3)  # tags
#: Of empty messages between ranks that synchronize.
POSTED, COMPLETED, HANDED_OVER = range(3, 6)


class _Epoch:
    """What a rank waits for: ``own`` accesses, those of others that ``arrive``, and, before, what it has to answer."""

    def __init__(self) -> None:
        self.own: list[Request] = []
        self.arriving: list[Request] = []
        self.answers: list[tuple[Request, int, int]] = []  # the arrival of a request, its rank, bytes of the answer


class Transfers(PointToPoint):
    """The messages of one window, apart from all others."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._epochs = {member: _Epoch() for member in self.members}
        self._closed: dict[int, _Epoch] = {}

    def _start(self, rank: int, kind: int, other: int, tag: int, size_bytes: int = 0) -> Request:
        """Begin a message in the log of a rank, which is not always the current one."""
        number = self.world.log.tag(self.number, tag)
        own = self.world.log.entries[rank]
        own.append((START, (SEND, other, size_bytes, number) if kind == SEND else (RECEIVE, [other, number])))
        return Request(self.world, len(own) - 1)

    def give(self, target: int, size_bytes: int) -> Request:
        """Send data to a rank of the window."""
        mine, other = self.world.current, self.members[target]
        if mine == other:
            return Request(self.world)
        self._epochs[other].arriving.append(self._start(other, RECEIVE, mine, _GIVEN))
        request = self._start(mine, SEND, other, _GIVEN, size_bytes)
        self._epochs[mine].own.append(request)
        return request

    def ask(self, target: int, request_bytes: int, answer_bytes: int, *, is_answered: bool) -> Request:
        """Ask a rank of the window for data; ``is_answered``: by that rank, in its next fence."""
        mine, other = self.world.current, self.members[target]
        if mine == other:
            return Request(self.world)
        if not is_answered:
            self.world.add(SEND, other, request_bytes, self.world.log.tag(self.number, _ASKED))
            self._epochs[other].arriving.append(self._start(other, RECEIVE, mine, _ASKED))
            return self.give(target, answer_bytes)
        arrival = self._start(other, RECEIVE, mine, _ASKED)
        self._epochs[other].answers.append((arrival, mine, answer_bytes))
        request = self._start(mine, SEND, other, _ASKED, request_bytes)
        answer = self._start(mine, RECEIVE, other, _ANSWERED)
        self._epochs[mine].own += [request, answer]
        return answer

    def close(self) -> None:
        """End the epochs of all ranks: what they begin from now on belongs to the next ones."""
        for member in self.members:
            self._closed[member], self._epochs[member] = self._epochs[member], _Epoch()

    def complete_closed(self) -> None:
        """Answer what was asked of this rank in the epoch that was closed, and wait for all its messages."""
        mine = self.world.current
        epoch = self._closed.pop(mine)
        for arrival, other, size_bytes in epoch.answers:
            arrival.end(None)
            epoch.own.append(self._start(mine, SEND, other, _ANSWERED, size_bytes))
        for request in epoch.own + epoch.arriving:
            request.end(None)

    def complete_own(self) -> None:
        """Wait for the accesses of this rank."""
        own = self._epochs[self.world.current].own
        while own:
            own.pop(0).end(None)

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

    def has_come(self, rank: int, tag: int) -> bool:
        """Return whether an empty message is there."""
        return self.members[rank] == self.world.current or self._box(self.rank).first(rank, tag) is not None
