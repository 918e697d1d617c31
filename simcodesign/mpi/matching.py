"""Messages matched with receives: when the second of both is posted, in the order of posting.

MPI 4.1, section 3.5: messages of one sender in one communicator are received in the order in which they were sent, by
the receives that fit in the order in which these were posted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ANY_SOURCE, ANY_TAG = -1, -1


@dataclass(eq=False)
class Message:
    """A message on its way. ``source`` and ``target`` are ranks of the communicator, ``sender`` and
    ``receiver`` are of all ranks.
    """

    source: int
    target: int
    tag: int
    data: Any
    size_bytes: int
    sender: int
    receiver: int
    taken: bool = False  # by a receive

    def __str__(self) -> str:
        return f"send to {self.target}, tag {self.tag}"


@dataclass(eq=False)
class Receive:
    """A receive that was posted, and its message. ``on_match`` is called with the message when it is matched."""

    source: int
    tag: int
    on_match: Callable[[Message], None] | None = None
    message: Message | None = None

    def __str__(self) -> str:
        source = "any rank" if self.source == ANY_SOURCE else self.source
        return f"receive from {source}, tag {'any' if self.tag == ANY_TAG else self.tag}"

    def match(self, message: Message) -> None:
        """Take a message."""
        self.message, message.taken = message, True
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

    def fits(self, message: Message) -> bool:
        """Return whether this receive may take a message."""
        return self.source in (ANY_SOURCE, message.source) and self.tag in (ANY_TAG, message.tag)


class Mailbox:
    """Messages to one rank of a communicator that no receive has taken, and receives that have no message."""

    __slots__ = ("messages", "probed", "receives")

    def __init__(self) -> None:
        self.messages: deque[Message] = deque()
        self.receives: deque[Receive] = deque()
        self.probed: list[Message] = []  # taken out by a matched probe

    def post_message(self, message: Message) -> None:
        """Give a message to the first receive that fits; keep it if there is none."""
        for receive in self.receives:
            if receive.fits(message):
                self.receives.remove(receive)
                receive.match(message)
                return
        self.messages.append(message)

    def post_receive(self, receive: Receive) -> None:
        """Give a receive the first message that fits; keep it if there is none."""
        message = self.first(receive.source, receive.tag)
        if message is None:
            self.receives.append(receive)
        else:
            self.messages.remove(message)
            receive.match(message)

    def first(self, source: int, tag: int) -> Message | None:
        """Return the first message that a receive of this source and tag would take."""
        wanted = Receive(source, tag)
        return next((message for message in self.messages if wanted.fits(message)), None)

    def cancel(self, receive: Receive) -> bool:
        """Remove a receive; return whether it was there."""
        if receive not in self.receives:
            return False
        self.receives.remove(receive)
        return True

    def take_out(self, source: int, tag: int) -> Message | None:
        """Return the first message that fits, which no receive but its own can have afterwards."""
        message = self.first(source, tag)
        if message is not None:
            self.messages.remove(message)
            self.probed.append(message)
        return message
