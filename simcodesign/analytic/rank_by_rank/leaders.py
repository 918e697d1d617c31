"""Leaders of nodes that come to an operation at different times, followed leader by leader in Hockney's model.

``now`` (n, N) is when each of N leaders goes on, at n design points; times of messages are (n, 1), or (n, N) by sender.
A rank does one thing after another. Beyond S bytes it goes on from a send when the receiver takes the message up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.core.units import FloatOrArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def tree_down(now: Floats, m: Message) -> Floats:
    """After a message down a binomial tree, the farthest child first."""
    for bit in reversed(_bits(now.shape[1])):
        parent = np.arange(0, now.shape[1] - bit, 2 * bit)
        now = _sent(now, parent, parent + bit, m)
    return now


def tree_up(now: Floats, m: Message) -> Floats:
    """After messages up the same tree, the nearest child first."""
    for bit in _bits(now.shape[1]):
        parent = np.arange(0, now.shape[1] - bit, 2 * bit)
        now = _sent(now, parent + bit, parent, m)
    return now


def folded_doubling(now: Floats, m: Message, reduction_s: Floats) -> Floats:
    """After exchanges along the edges of a hypercube, each of which is reduced: the first leaders come in pairs, by a
    message that is reduced before, and one after."""
    count = now.shape[1]
    power = 1 << (count.bit_length() - 1)
    even = np.arange(0, 2 * (count - power), 2)
    corners = np.concatenate([even + 1, np.arange(2 * (count - power), count)])
    now = _sent(now, even, even + 1, m.then(reduction_s))
    for bit in _bits(power):
        now[:, corners] = _round(now[:, corners], np.arange(power) ^ bit, m, reduction_s)
    return _sent(now, even + 1, even, m)


def dissemination(now: Floats, m: Message) -> Floats:
    """After rounds in which everybody sends to the one at distance 1, 2, 4, ..."""
    for bit in _bits(now.shape[1]):
        now = _round(now, np.arange(now.shape[1]) - bit, m)
    return now


def ring(now: Floats, m: Message) -> Floats:
    """After N - 1 rounds around a ring: at first everybody passes on its own message, then the one that came last."""
    for step in range(now.shape[1] - 1):
        parts = (m.send_s, m.arrival_s, m.receive_s, m.waits)
        send_s, arrival_s, receive_s, waits = (
            np.roll(np.broadcast_to(part, now.shape), step, axis=1) for part in parts
        )
        waits = np.asarray(waits, dtype=np.bool_)
        block = replace(m, send_s=send_s, arrival_s=arrival_s, receive_s=receive_s, waits=waits)
        now = _round(now, np.arange(now.shape[1]) - 1, block)
    return now


def _bits(count: int) -> list[int]:
    """1, 2, 4, ... below ``count``."""
    return [2**place for place in range(32) if 2**place < count]


def _sent(now: Floats, source: Ints, target: Ints, m: Message) -> Floats:
    """After a message from each source to its target, which is no source."""
    after = now.copy()
    sent = now[:, source] + m.send_s
    taken = np.maximum(now[:, target], now[:, source] + m.arrival_s)
    after[:, source] = np.where(m.waits, np.maximum(sent, taken), sent)
    after[:, target] = taken + m.receive_s
    return after


def _round(now: Floats, source: Ints, m: Message, reduction_s: FloatOrArray = 0.0) -> Floats:
    """After a round in which everybody sends, receives from its source and reduces."""
    sent, arrives = now + m.send_s, now + m.arrival_s
    receive_s = np.broadcast_to(m.receive_s, now.shape)
    taken = np.maximum(sent, arrives[:, source])
    done = taken + receive_s[:, source]
    held = np.zeros_like(now)
    held[:, source] = taken
    after: Floats = np.where(m.waits, np.maximum(done, held), done) + reduction_s
    return after
