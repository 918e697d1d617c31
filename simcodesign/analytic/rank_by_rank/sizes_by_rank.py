"""Exchanges of all ranks in which each sends messages of its own size, followed rank by rank in Hockney's model."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import MessageCosts
from simcodesign.analytic.messages.posted_together import times_of
from simcodesign.analytic.messages.rounds import row_s
from simcodesign.core.units import FloatOrArray

#: Ranks up to which blocks that pass a ring are followed if none of them has the longest times.
MOST_RANKS = 1024
#: Some thousand additions.
ROUNDING = 1e-12


def pairwise_s(sizes_bytes: FloatOrArray, p: MessageCosts) -> FloatOrArray:
    """Seconds of P - 1 rounds; in round k, each rank sends to the k-th on its right, (..., P) bytes by rank.

    A rank ends a round r after it has sent and the message of its partner has come. In LogGOPS, in which that is an
    estimate, and where senders wait for their receivers, as if all messages took the longest times of any.
    """
    m, ranks = p.message(sizes_bytes), np.shape(sizes_bytes)[-1]
    if not _in_order(m):
        largest = longest_times(m)
        rounds_s: FloatOrArray = min(ranks - 1, 1) * largest.exchange_s + max(ranks - 2, 0) * largest.round_s
        return rounds_s
    begin = np.zeros(np.shape(sizes_bytes))
    for distance in range(1, ranks):
        begin = np.maximum(begin + m.send_s, np.roll(begin + m.arrival_s, distance, axis=-1)) + m.receive_s
    last: FloatOrArray = np.max(begin, axis=-1, keepdims=True)
    return last


def burst_s(sizes_bytes: FloatOrArray, p: MessageCosts) -> FloatOrArray | None:
    """Return the seconds if every rank sends P - 1 messages and then receives as many.

    To its right neighbour first, and from its left neighbour first. None in LogGOPS, and where senders wait for their
    receivers.
    """
    m, ranks = p.message(sizes_bytes), np.shape(sizes_bytes)[-1]
    if not _in_order(m):
        return None
    now = np.zeros(np.shape(sizes_bytes)) + (ranks - 1) * m.send_s
    arrival = np.zeros(np.shape(sizes_bytes)) + m.arrival_s
    for distance in range(1, ranks):
        came = np.roll(arrival + (distance - 1) * m.next_send_s, distance, axis=-1)
        now = np.maximum(now, came) + m.receive_s
    last: FloatOrArray = np.max(now, axis=-1, keepdims=True)
    return last


def ring_s(sizes_bytes: FloatOrArray, p: MessageCosts) -> FloatOrArray:
    """Seconds of P - 1 rounds around a ring in which blocks of (..., P) bytes pass all ranks, in Hockney's model.

    The costliest block passes P - 1 ranks, and no round takes longer than that: exact if that block has the longest
    times of all. Otherwise, which takes segments by size whose costs jump down, ranks are followed one by one up to
    ``MOST_RANKS``; beyond, and in LogGOPS, the longest times of any block are an estimate."""
    m, ranks = p.message(sizes_bytes), np.shape(sizes_bytes)[-1]
    most = _ring_s(longest_times(m), ranks)
    if not m.in_order or ranks > MOST_RANKS:
        return most
    every = np.broadcast_shapes(*(np.shape(getattr(m, one.name)) for one in fields(m)), np.shape(sizes_bytes))
    least = np.max(np.broadcast_to(_ring_s(m, ranks), every), axis=-1, keepdims=True)
    if np.all(least >= most * (1 - ROUNDING)):
        return most
    times: dict[str, Any] = {
        one.name: np.broadcast_to(getattr(m, one.name), every).reshape(-1, ranks) for one in fields(m)[:6]
    }
    last: FloatOrArray = _followed_ring_s(Message(**times)).reshape(*every[:-1], 1)
    return last


def _followed_ring_s(m: Message) -> NDArray[np.float64]:
    """(n,) seconds of P - 1 rounds: at first every rank passes on its own message, then the last one to arrive.

    Times are (n, P), by the rank whose block it is.
    """
    now = np.zeros_like(m.send_s)
    for place in range(np.shape(now)[1] - 1):
        parts = (m.send_s, m.arrival_s, m.receive_s, m.waits)
        send_s, arrival_s, receive_s, waits = (np.roll(part, place, axis=1) for part in parts)
        taken = np.maximum(now + send_s, np.roll(now + arrival_s, 1, axis=1))
        done = taken + np.roll(receive_s, 1, axis=1)
        now = np.where(waits, np.maximum(done, np.roll(taken, -1, axis=1)), done)
    last: NDArray[np.float64] = now.max(axis=1)
    return last


def _ring_s(m: Message, ranks: int) -> FloatOrArray:
    return row_s(ranks - 1.0, m.exchange_s, m.round_s)


def longest_times(m: Message) -> Message:
    """Return a message with the longest times among all ranks, (..., P)."""

    def longest(time: FloatOrArray) -> FloatOrArray:
        return np.max(time, axis=-1, keepdims=True) if np.ndim(time) else time

    send, arrival, receive, next_send, next_receive = (longest(time) for time in times_of(m))
    spread = longest(m.spread_s)
    waits = np.any(m.waits, axis=-1, keepdims=True) if np.ndim(m.waits) else m.waits
    return Message(send, arrival, receive, next_send, next_receive, waits, spread, m.in_order)


def _in_order(m: Message) -> bool:
    return m.in_order and not np.any(m.waits)
