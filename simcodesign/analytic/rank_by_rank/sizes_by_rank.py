"""Exchanges of all ranks in which each sends messages of its own size, followed rank by rank in Hockney's model."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.messages.message_costs import Message, MessageCosts
from simcodesign.core.units import FloatOrArray


def pairwise_s(sizes_bytes: FloatOrArray, p: MessageCosts) -> FloatOrArray:
    """Seconds of P - 1 rounds; in round k, each rank sends to the k-th on its right, (..., P) bytes by rank.

    A rank ends a round r after it has sent and the message of its partner has come. In LogGOPS, where that is an
    estimate, and where senders wait for their receivers, as if all sizes were the largest one.
    """
    m, ranks = p.message(sizes_bytes), np.shape(sizes_bytes)[-1]
    if not _in_order(m):
        largest = p.message(np.max(sizes_bytes, axis=-1, keepdims=True))
        rounds_s: FloatOrArray = min(ranks - 1, 1) * largest.exchange_s + max(ranks - 2, 0) * largest.round_s
        return rounds_s
    begin = np.zeros(np.shape(sizes_bytes))
    for distance in range(1, ranks):
        begin = np.maximum(begin + m.send_s, np.roll(begin + m.arrival_s, distance, axis=-1)) + m.receive_s
    last: FloatOrArray = np.max(begin, axis=-1, keepdims=True)
    return last


def burst_s(sizes_bytes: FloatOrArray, p: MessageCosts) -> FloatOrArray | None:
    """Seconds where every rank sends P - 1 messages, to its right neighbour first, and then receives as many, from its
    left neighbour first; None in LogGOPS, and where senders wait for their receivers."""
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


def _in_order(m: Message) -> bool:
    return m.in_order and not np.any(m.waits)
