"""Clock of a rank in LogGOPS, in which gaps between messages last from one operation into the next.

For operations that all ranks do alike: because every rank does the same at the same time, one represents all. A
message is never in flight between two operations, as each ends with the last message that it sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from simcodesign.analytic.messages.message import Message

#: Some thousand additions.
ROUNDING = 1e-12
#: How often something is done before it is given up that it continues in the same way.
MOST = 50


@dataclass(frozen=True)
class Pace:
    """Seconds until now, and from now on until the next message can be sent, and taken up, because of gaps."""

    now_s: float = 0.0
    send_gap_s: float = 0.0
    receive_gap_s: float = 0.0

    def at(self, now_s: float, next_send_s: float, next_receive_s: float) -> Pace:
        """At a later time, when gaps last until these times."""
        return Pace(now_s, max(next_send_s - now_s, 0.0), max(next_receive_s - now_s, 0.0))

    def repeats(self, before: Pace) -> bool:
        """Whether what comes next takes as long as it did from ``before`` on, except for rounding."""
        dust_s = ROUNDING * self.now_s
        pairs = ((self.send_gap_s, before.send_gap_s), (self.receive_gap_s, before.receive_gap_s))
        return all(abs(gap_s - before_s) <= dust_s for gap_s, before_s in pairs)


#: Clock of a rank after an operation; None if that is not known.
Carry = Callable[[Pace], Pace | None]


def work(time_s: float) -> Carry:
    """Own work, in which gaps go by."""

    def carry(pace: Pace) -> Pace:
        now_s = pace.now_s + time_s
        return pace.at(now_s, pace.now_s + pace.send_gap_s, pace.now_s + pace.receive_gap_s)

    return carry


def rounds(message: Message, count: float) -> Carry:
    """Return rounds in which every rank sends a message and receives one; c, a, r, u and v as in ``message_costs``."""
    there_s = max(float(message.arrival_s), float(message.send_s))

    def one(pace: Pace) -> Pace:
        sent_s = pace.now_s + pace.send_gap_s
        taken_s = max(sent_s + there_s, pace.now_s + pace.receive_gap_s)
        done_s = taken_s + float(message.receive_s)
        return pace.at(done_s, sent_s + float(message.next_send_s), taken_s + float(message.next_receive_s))

    return lambda pace: repeated(one, count, pace)


def repeated(carry: Carry, times: float, pace: Pace) -> Pace | None:
    """Clock of a rank after a whole number of times; step by step until steps are the same."""
    if not math.isfinite(times) or times != int(times):
        return None
    for done in range(int(times)):
        if done == MOST:
            return None
        after = carry(pace)
        if after is None:
            return None
        if after.repeats(pace):
            now_s = after.now_s + (int(times) - done - 1) * (after.now_s - pace.now_s)
            return Pace(now_s, after.send_gap_s, after.receive_gap_s)
        pace = after
    return pace
