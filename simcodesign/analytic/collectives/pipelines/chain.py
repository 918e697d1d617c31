"""Time of a chain of ranks, each of which passes on to the next what it receives, segment after segment.

Rank 0 sends n segments of one size; every other rank receives a segment and passes it on before it receives the next.
With c, a, r, u and v as in ``message_costs``:

* Hockney's model, and LogGOPS above S: a line of machines whose jobs are alike. The first segment takes D = a + r from
  rank to rank, and the others follow as the busiest machine lets them: the first rank (u), one in the middle (r + c,
  above S r + a, during which its send holds it), or the last (v).
* LogGOPS: messages have the processor as they come, so that a rank may take up several before it passes the first one
  on. If u >= r + c it never does, and the time is (P - 1) D + (n - 1) u. Otherwise the ranks are followed one after
  another: when each sends what, from the sends of the previous rank. Once a rank sends in the same pattern as the
  previous one, so do all others.

Above S, three ranks are an estimate: whose turn it is after a rendezvous is then decided by their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.core.units import FloatOrArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: Segments that are followed; each further one adds the mean of the last half of these.
MOST_SEGMENTS = 256
#: Segments of all ranks together that are followed, if ranks do not send in the same pattern before, but 64 ranks at
#: least; the others add what the last one did.
MOST_FOLLOWED, LEAST_RANKS = 2**15, 64
#: Times of two that are the same except for rounding.
ROUNDING = 1e-12


def pipelined_chain_s(ranks: FloatOrArray, segments: FloatOrArray, m: Message) -> FloatOrArray:
    """Seconds of ``segments`` of this message from rank to rank."""
    some, more = np.asarray(ranks) > 1, np.maximum(segments - 1.0, 0.0)
    hold_s = np.where(m.waits, np.maximum(m.arrival_s, m.send_s), m.send_s)
    between = np.where(np.asarray(ranks) > 2, m.receive_s + hold_s, 0.0)
    period = np.maximum(np.maximum(m.apart_s, m.next_receive_s), between)
    earlier = np.where(np.asarray(m.waits) & (more > 0) & (np.asarray(ranks) > 2), period - _second_s(m), 0.0)
    time = (ranks - 1.0) * m.whole_s + np.where(some, more * period - earlier, 0.0)
    mixed = np.asarray(between >= m.next_send_s * (1 - ROUNDING)) & ~np.asarray(m.waits) & (more > 0)
    if m.in_order or not mixed.any():
        return time
    parts = (m.send_s, m.arrival_s, m.receive_s, m.next_send_s, m.next_receive_s, ranks, segments)
    time, mixed, *every = np.broadcast_arrays(time, mixed, *parts)
    time = np.array(time)
    *times, count, pieces = (part[mixed] for part in every)
    time[mixed] = _of_segments(_Times(*times), count, pieces)
    return time


def chain_on_levels_s(messages: Sequence[Message], segments: FloatOrArray) -> FloatOrArray:
    """Return the seconds of a chain in Hockney's model below S if each message has its own price.

    The first segment passes all of them, and each other one follows when the busiest rank has done with the previous
    one.
    """
    whole_s: FloatOrArray = 0.0
    busiest_s: FloatOrArray = np.maximum(messages[0].send_s, messages[-1].held_s)
    for m in messages:
        whole_s = whole_s + m.whole_s
    for before, after in pairwise(messages):
        busiest_s = np.maximum(busiest_s, before.held_s + after.send_s)
    return whole_s + np.maximum(segments - 1.0, 0.0) * busiest_s


def _second_s(m: Message) -> FloatOrArray:
    """Return when, above S, the second rank sends its second segment, after it sent the first one.

    It may take the segment up while it waits for its send, since it has no other message yet.
    """
    begin = np.maximum(np.maximum(m.apart_s + m.arrival_s, m.whole_s + m.send_s), m.arrival_s + m.next_receive_s)
    received = np.maximum(begin + m.receive_s, m.whole_s + np.maximum(m.arrival_s, m.next_send_s))
    return received - m.whole_s


class _Times(NamedTuple):
    """c, a, r, u and v of a message, each (N,) for N design points."""

    send_s: Floats
    arrival_s: Floats
    receive_s: Floats
    next_send_s: Floats
    next_receive_s: Floats


def _of_segments(m: _Times, ranks: Floats, segments: Floats) -> Floats:
    """As many segments as are followed, and what more of them add."""
    followed = np.minimum(segments, MOST_SEGMENTS)
    time = _followed_s(m, ranks, followed)
    more = segments - followed
    if not more.any():
        return time
    fewer = np.where(more > 0, MOST_SEGMENTS // 2, followed)
    added: Floats = more * (time - _followed_s(m, ranks, fewer)) / np.maximum(followed - fewer, 1.0)
    return time + added


def _followed_s(m: _Times, ranks: Floats, segments: Floats) -> Floats:
    """When the last rank has received the last segment, (N,)."""
    number = np.arange(int(segments.max()))[:, None]
    sent = np.where(number < segments, number * m.next_send_s, np.inf)  # by segment: when the rank before sends it
    done = _received_s(sent, m, segments)
    most_ranks = max(MOST_FOLLOWED // len(number), LEAST_RANKS)
    for rank in range(1, min(int(ranks.max()) - 1, most_ranks)):
        before, sent = sent, np.where(ranks - 1 > rank, _passed_on(sent, m, segments), sent)
        later = ranks - 1 > rank
        done = np.where(later, _received_s(sent, m, segments), done)
        shift = sent[0] - before[0]
        alike = ~later | (np.abs(sent - before - shift) <= ROUNDING * np.abs(sent)).all(axis=0, where=number < segments)
        if alike.all() or rank + 1 == most_ranks:
            return np.where(later, done + (ranks - 2 - rank) * shift, done)
    return done


def _received_s(sent: Floats, m: _Times, segments: Floats) -> Floats:
    """When a rank that sends nothing has received all segments."""
    begin = np.full(sent.shape[1], -np.inf)
    for number, row in enumerate(sent):
        begin = np.where(number < segments, np.maximum(row + m.arrival_s, begin + m.next_receive_s), begin)
    return begin + m.receive_s


def _passed_on(sent: Floats, m: _Times, segments: Floats) -> Floats:
    """Return when a rank sends each segment, (n, N), from the sends of the previous rank.

    If a message and a send could begin at the same time, the one that came into the queue first begins: a message when
    it was sent and a send when its segment was received.
    """
    points = np.arange(sent.shape[1])
    passed, taken = np.full(sent.shape, np.inf), np.full(sent.shape, np.inf)
    received, given = np.zeros(len(points), np.int64), np.zeros(len(points), np.int64)
    free, next_send, next_receive = np.zeros((3, len(points)))
    posted = np.zeros(len(points))  # when the receive of the segment to be sent next was posted
    last = segments.astype(np.int64) - 1
    for _ in range(2 * len(sent)):
        message, send = np.minimum(received, last), np.minimum(given, last)
        take_at = np.maximum(np.maximum(free, next_receive), sent[message, points] + m.arrival_s)
        take_at = np.where(received <= last, take_at, np.inf)
        send_at = np.where(given < received, np.maximum(free, next_send), np.inf)
        queued = np.maximum(taken[send, points], posted)
        first = sent[message, points] < queued * (1 - ROUNDING)
        equal = np.isclose(take_at, send_at, rtol=ROUNDING, atol=0.0)
        takes = np.where(equal, first, take_at < send_at) & (take_at < np.inf)
        sends = ~takes & (send_at < np.inf)
        now = np.where(takes, take_at, send_at)
        taken[message[takes], points[takes]] = now[takes]
        passed[send[sends], points[sends]] = now[sends]
        next_receive = np.where(takes, now + m.next_receive_s, next_receive)
        next_send = np.where(sends, now + m.next_send_s, next_send)
        free = np.where(takes, now + m.receive_s, np.where(sends, now + m.send_s, free))
        posted = np.where(sends, free, posted)
        received, given = received + takes, given + sends
    return passed
