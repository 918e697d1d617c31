"""Messages matched with receives, in the order of posting; receives from any rank take what arrives first.

MPI 4.1, section 3.5: messages of one sender in one communicator are received in the order in which they were sent, by
the receives that fit in the order in which these were posted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from simcodesign.describe.recordings.rank_log import RankLog

ANY_SOURCE, ANY_TAG = -1, -1


@dataclass(eq=False, slots=True)
class Message:
    """A message in flight.

    ``source`` and ``target`` are ranks of the communicator, ``sender`` is one of all ranks and ``entry`` the place of
    the send in its log.

    ``is_held``: its sender waits until a receive takes it up; ``arrival_s``: when it is there; ``taken_s``: when it was
    taken up, None before.
    """

    source: int
    target: int
    tag: int
    data: Any
    size_bytes: int
    sender: int
    entry: int
    is_held: bool
    arrival_s: float
    taken_s: float | None = None

    def __str__(self) -> str:
        return f"send to {self.target}, tag {self.tag}"


@dataclass(eq=False, slots=True)
class Receive:
    """A receive that was posted in a ``box``, and its message.

    ``note``: the log that has its start, at ``place``; ``on_match`` is called with the message when it is matched.
    """

    source: int
    tag: int
    posted_s: float = 0.0
    note: RankLog | None = None
    place: int = 0
    on_match: Callable[[Message], None] | None = None
    message: Message | None = None
    box: Mailbox | None = None
    number: int = 0  # of its posting, in its mailbox

    def __str__(self) -> str:
        source = "any rank" if self.source == ANY_SOURCE else self.source
        return f"receive from {source}, tag {'any' if self.tag == ANY_TAG else self.tag}"

    def match(self, message: Message) -> None:
        """Take a message."""
        self.message = message
        arrival_s, posted_s = message.arrival_s, self.posted_s
        message.taken_s = arrival_s if arrival_s > posted_s else posted_s
        if self.on_match is not None:
            self.on_match(message)

    def when_matched(self, use: Callable[[Message], None]) -> None:
        """Call ``use`` with the message: now, if there is one, otherwise after ``on_match``."""
        before = self.on_match
        if self.message is not None:
            use(self.message)
            return

        def both(message: Message) -> None:
            if before is not None:
                before(message)
            use(message)

        self.on_match = both

    def withdraw(self) -> None:
        """Take back the start of a receive that never has a message."""
        if self.note is not None:
            self.note.was_nothing(self.place)

    def fits(self, message: Message) -> bool:
        """Return whether this receive may take a message."""
        return (self.source == message.source or self.source == ANY_SOURCE) and (
            self.tag == message.tag or self.tag == ANY_TAG
        )

    def has_message(self) -> bool:
        """Return whether it has its message."""
        return self.message is not None


class Taken(NamedTuple):
    """A receive, with the number of its posting, and the message that it took: ``entry`` of the log of ``sender``."""

    posted: int
    source: int
    tag: int
    from_rank: int
    with_tag: int
    sender: int
    entry: int


class Mailbox:
    """Messages to one rank of a communicator that no receive has taken, and receives that have no message.

    A receive from one rank is matched when the second of both is posted: what it takes does not depend on time. While
    a receive from any rank has no message, messages wait for ``deliver``. ``owner``: the rank that receives; ``wake``
    lets a rank that waits look again.
    """

    def __init__(self, owner: int, wake: Callable[[int], None]) -> None:
        self.owner, self._wake = owner, wake
        self.messages: deque[Message] = deque()
        self.receives: deque[Receive] = deque()
        self.probed: list[Message] = []  # taken out by a matched probe
        self.any_source = 0  # receives from any rank that have no message
        self.taken: list[Taken] = []  # since a receive was from any rank
        self._posted, self._is_noted = 0, False
        self._last_s: dict[int, float] = {}

    def post_message(self, message: Message) -> None:
        """Give a message to the first receive that fits; keep it if there is none, or if time decides."""
        source, tag, last_s = message.source, message.tag, self._last_s
        if message.arrival_s < last_s.get(source, 0.0):
            message.arrival_s = last_s[source]
        last_s[source] = message.arrival_s
        for receive in self.receives:
            if receive.source == ANY_SOURCE:
                break
            if receive.source == source and (receive.tag == tag or receive.tag == ANY_TAG):
                self.receives.remove(receive)
                self._match(receive, message)
                return
        self.messages.append(message)
        self._wake(self.owner)  # which may look for it

    def post_receive(self, receive: Receive) -> None:
        """Give a receive the first message that fits; keep it if there is none, or if time decides."""
        self._posted += 1
        receive.box, receive.number = self, self._posted
        if receive.source == ANY_SOURCE:
            self.any_source += 1
            self._is_noted = True
        elif not self.any_source:
            source, tag = receive.source, receive.tag
            for message in self.messages:
                if message.source == source and (message.tag == tag or tag == ANY_TAG):
                    self.messages.remove(message)
                    self._match(receive, message)
                    return
        self.receives.append(receive)

    def next_arrival_s(self) -> float | None:
        """Return when the next message arrives that a receive takes; None if there is none yet."""
        fitting = (message.arrival_s for message in self.messages if self._receive_of(message) is not None)
        return min(fitting, default=None)

    def deliver(self, until_s: float) -> None:
        """Give the messages that arrive until then to receives, in the order of their arrival.

        To be called when no rank can send one any more that arrives earlier.
        """
        while self.any_source:
            arrived = (one for one in self.messages if one.arrival_s <= until_s and self._receive_of(one) is not None)
            message = min(arrived, key=lambda one: one.arrival_s, default=None)
            if message is None:
                return
            self._give(message)
        self._give_rest()

    def deliver_last(self) -> None:
        """Give the last message to arrive, the first one of its sender, to a receive."""
        first: dict[int, Message] = {}
        for message in self.messages:
            if self._receive_of(message) is not None:
                first.setdefault(message.source, message)
        self._give(max(first.values(), key=lambda one: (one.arrival_s, one.source)))
        if not self.any_source:
            self._give_rest()

    def _give_rest(self) -> None:
        """Give messages of which time decides no more."""
        for message in list(self.messages):
            if self._receive_of(message) is not None:
                self._give(message)

    def first(self, source: int, tag: int, until_s: float = float("inf")) -> Message | None:
        """Return the first message to arrive that a receive of this source and tag would take.

        None if no such message arrives until then.
        """
        wanted = Receive(source, tag)
        fitting = (message for message in self.messages if wanted.fits(message) and message.arrival_s <= until_s)
        if source == ANY_SOURCE:
            return min(fitting, key=lambda one: one.arrival_s, default=None)
        return next(fitting, None)

    def cancel(self, receive: Receive) -> bool:
        """Remove a receive; return whether it was there."""
        if receive not in self.receives:
            return False
        self.receives.remove(receive)
        self.any_source -= receive.source == ANY_SOURCE
        receive.withdraw()
        if not self.any_source:
            self._give_rest()
        return True

    def take_out(self, source: int, tag: int) -> Message | None:
        """Return the first message that fits, which no receive but its own can have afterwards."""
        message = self.first(source, tag)
        if message is not None:
            self.messages.remove(message)
            self.probed.append(message)
        return message

    def _receive_of(self, message: Message) -> Receive | None:
        return next((receive for receive in self.receives if receive.fits(message)), None)

    def _give(self, message: Message) -> None:
        receive = self._receive_of(message)
        assert receive is not None
        self.messages.remove(message)
        self.receives.remove(receive)
        self.any_source -= receive.source == ANY_SOURCE
        self._match(receive, message)

    def _match(self, receive: Receive, message: Message) -> None:
        receive.match(message)
        if self._is_noted:
            own, other = (receive.number, receive.source, receive.tag), (message.source, message.tag)
            self.taken.append(Taken(*own, *other, message.sender, message.entry))
        self._wake(self.owner)
        if message.is_held:
            self._wake(message.sender)
