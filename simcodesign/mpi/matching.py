"""Which message goes to which receive: matched when the second of both is posted, in the order of posting.

MPI 4.1, section 3.5: messages of one sender in one communicator are received in the order in which they were sent, by
the receives that fit in the order in which these were posted.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

ANY_SOURCE, ANY_TAG = -1, -1


@dataclass(eq=False)
class Message:
    """A message on its way: who sent it (rank in the communicator), its tag, its data and how many bytes it has."""

    source: int
    tag: int
    data: Any
    size_bytes: int
    taken: bool = False  # by a receive
    sender: int = 0  # among all ranks


@dataclass(eq=False)
class Receive:
    """A receive that was posted, and the message that it got. ``owner``: its rank among all ranks."""

    source: int
    tag: int
    owner: int
    message: Message | None = None

    def fits(self, message: Message) -> bool:
        """Return whether this receive may take a message."""
        return self.source in (ANY_SOURCE, message.source) and self.tag in (ANY_TAG, message.tag)


class Mailbox:
    """Messages to one rank of a communicator that no receive has taken, and receives that have no message."""

    __slots__ = ("messages", "receives")

    def __init__(self) -> None:
        self.messages: deque[Message] = deque()
        self.receives: deque[Receive] = deque()

    def post_message(self, message: Message) -> Receive | None:
        """Give a message to the first receive that fits, which is returned; keep it if there is none."""
        for receive in self.receives:
            if receive.fits(message):
                self.receives.remove(receive)
                receive.message, message.taken = message, True
                return receive
        self.messages.append(message)
        return None

    def post_receive(self, receive: Receive) -> None:
        """Give a receive the first message that fits; keep it if there is none."""
        receive.message = self.first(receive.source, receive.tag)
        if receive.message is None:
            self.receives.append(receive)
        else:
            self.messages.remove(receive.message)
            receive.message.taken = True

    def first(self, source: int, tag: int) -> Message | None:
        """Return the first message that a receive of this source and tag would take."""
        wanted = Receive(source, tag, 0)
        return next((message for message in self.messages if wanted.fits(message)), None)
