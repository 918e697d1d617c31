"""Messages and receives of one rank, as LogGOPSim matches them: two lists, each searched from its beginning.

T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", HPDC 2010: a message that comes takes the first receive of the list of
posted receives that it suits, or goes to the end of the list of unexpected messages; a receive likewise.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Any source, any tag.
ANY = -1


@dataclass(frozen=True)
class End:
    """A message that comes at a time, or a receive that is posted then; whole times, each different."""

    time: int
    is_message: bool
    source: int
    tag: int


def suits(message: End, receive: End) -> bool:
    """Whether a receive takes a message."""
    return receive.source in (ANY, message.source) and receive.tag in (ANY, message.tag)


def met(ends: list[End]) -> dict[int, int]:
    """By the number of each receive that gets one: the number of its message."""
    posted: list[int] = []
    unexpected: list[int] = []
    pairs: dict[int, int] = {}
    for number in sorted(range(len(ends)), key=lambda one: ends[one].time):
        here, there = (unexpected, posted) if ends[number].is_message else (posted, unexpected)
        for other in there:
            message, receive = (number, other) if ends[number].is_message else (other, number)
            if suits(ends[message], ends[receive]):
                there.remove(other)
                pairs[receive] = message
                break
        else:
            here.append(number)
    return pairs
