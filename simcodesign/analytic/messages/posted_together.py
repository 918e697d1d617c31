"""Messages that all ranks post together in LogGOPS, alike on all ranks: who has the processor when.

Every rank sends n messages and takes up n, sent when its own were. With c, a, r, u and v as in
``message_costs``, a send begins as soon as the processor is free and u has passed since the previous one; if both could
begin at the same time, sends come first. A message is taken up when the processor is free, it has arrived, and v has
passed since the previous one: of several that wait, the first sent one. That is a recursion over 2 n steps, with
a closed form for messages of one size in two cases:

- u > max(a, c): the processor takes up a message before it sends the next one, n rounds of an exchange.
- u = c: all sends come first, then the messages, v apart.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.core.units import FloatOrArray

Floats = NDArray[np.float64]
#: Messages of a rank up to which they are sent in the order in which they are posted (``std::sort`` in LogGOPSim).
SHORT = 8
#: Times of two that are the same except for rounding.
ROUNDING = 1e-12
#: Messages of a rank up to which the recursion goes; each further one adds the mean of the last half of these.
MOST = 1024


def posted_together_s(message: Message, count: FloatOrArray) -> FloatOrArray:
    """Seconds of ``count`` messages of one size to as many other ranks."""
    begins = np.maximum(message.arrival_s, message.send_s)
    rounds = np.asarray(message.next_send_s > begins * (1 + ROUNDING))
    first = np.maximum(count * message.send_s, message.arrival_s)
    sends_first = first + (count - 1.0) * message.next_receive_s + message.receive_s
    in_rounds = message.exchange_s + (count - 1.0) * message.round_s
    time: Floats = np.where(count > 0, np.where(rounds, in_rounds, sends_first), 0.0)
    between = ~rounds & (np.asarray(message.next_send_s) > np.asarray(message.send_s)) & (np.asarray(count) > 0)
    if not between.any():
        return time
    some = np.broadcast_to(between, time.shape)
    parts = (np.broadcast_to(part, time.shape)[some] for part in (*times_of(message), count))
    *times, number = parts
    time[some] = posted_in_turn_s([_Times(*times)], [number])
    return time


def times_of(message: Message) -> tuple[FloatOrArray, ...]:
    """c, a, r, u and v."""
    return (
        message.send_s,
        message.arrival_s,
        message.receive_s,
        message.next_send_s,
        message.next_receive_s,
    )


@dataclass(frozen=True)
class _Times:
    """c, a, r, u and v of a message."""

    send_s: FloatOrArray
    arrival_s: FloatOrArray
    receive_s: FloatOrArray
    next_send_s: FloatOrArray
    next_receive_s: FloatOrArray


def several_posted_s(messages: Sequence[Message], counts: Sequence[FloatOrArray]) -> FloatOrArray:
    """Seconds of messages of several sizes, ``counts[0]`` of the first, then of the second, and so on.

    A fraction of a message takes that part of what a whole one adds.
    """
    times, whole = [_Times(*times_of(message)) for message in messages], [np.floor(count) for count in counts]
    time = posted_in_turn_s(times, whole)
    total: FloatOrArray = time
    for place, count in enumerate(counts):
        rest = np.asarray(count - whole[place])
        if rest.any():
            more = [number + (other == place) for other, number in enumerate(whole)]
            total = total + rest * (posted_in_turn_s(times, more) - time)
    return total


def exchanged_s(
    messages: Sequence[Message], counts: Sequence[FloatOrArray], is_alike: bool | NDArray[np.bool_]
) -> FloatOrArray:
    """Return the seconds of a number of messages of each size that a rank sends, and as many that it receives.

    Exact if all ranks are alike and send in the order in which messages are posted, or messages of one size; otherwise
    a lower bound.
    """
    exact_s, least_s = several_posted_s(messages, counts), _least_posted_s(messages, counts)
    return np.where(is_alike & go_as_posted(messages, counts), exact_s, least_s)


def go_as_posted(messages: Sequence[Message], counts: Sequence[FloatOrArray]) -> NDArray[np.bool_]:
    """Whether messages that a rank posts together go in that order, or have one size."""
    equal = [
        _of_used(np.maximum, time, counts) <= _of_used(np.minimum, time, counts)
        for time in zip(*map(times_of, messages), strict=True)
    ]
    total = np.asarray(sum(counts, start=np.zeros(())))
    return np.asarray(functools.reduce(np.logical_and, equal) | (total <= SHORT))


def _least_posted_s(messages: Sequence[Message], counts: Sequence[FloatOrArray]) -> FloatOrArray:
    """Return a lower bound on the seconds of a number of messages of each size, in any order and to any ranks.

    The work of a rank's processor; its sends, u apart; its received messages, v apart.
    """
    work_s, sends_s, receives_s = (
        sum((count * time for time, count in zip(times, counts, strict=True)), start=np.zeros(()))
        for times in zip(*((m.send_s + m.receive_s, m.next_send_s, m.next_receive_s) for m in messages), strict=True)
    )
    arrival_s = _of_used(np.minimum, [m.arrival_s for m in messages], counts)
    sent_s = [np.maximum(sends_s - m.next_send_s, 0.0) + m.whole_s for m in messages]
    taken_s = [arrival_s + np.maximum(receives_s - m.next_receive_s, 0.0) + m.receive_s for m in messages]
    last_s = np.maximum(_of_used(np.minimum, sent_s, counts), _of_used(np.minimum, taken_s, counts))
    least: FloatOrArray = np.where(np.isfinite(last_s), np.maximum(work_s, last_s), 0.0)
    return least


def _of_used(pick: np.ufunc, values: Sequence[FloatOrArray], counts: Sequence[FloatOrArray]) -> FloatOrArray:
    """Pick the largest or the smallest (``np.maximum``, ``np.minimum``) value of those that are counted.

    An infinity if nothing is.
    """
    nothing = -np.inf if pick is np.maximum else np.inf
    every = (np.where(np.asarray(count) > 0, value, nothing) for value, count in zip(values, counts, strict=True))
    picked: FloatOrArray = functools.reduce(pick, every)
    return picked


def posted_in_turn_s(messages: Sequence[_Times], counts: Sequence[FloatOrArray]) -> Floats:
    """Seconds of whole numbers of messages by the recursion, as far as it goes."""
    total = sum(counts, start=np.zeros(()))
    if np.max(total, initial=0.0) <= MOST:
        return _recursion_s(messages, counts)
    share = np.minimum(MOST / np.maximum(total, 1.0), 1.0)
    some, fewer = ([np.floor(count * share * part) for count in counts] for part in (1.0, 0.5))
    some_s, fewer_s = _recursion_s(messages, some), _recursion_s(messages, fewer)
    more = total - sum(some, start=np.zeros(()))
    between = np.maximum(sum(some, start=np.zeros(())) - sum(fewer, start=np.zeros(())), 1.0)
    return some_s + more * (some_s - fewer_s) / between


def carried_s(
    messages: Sequence[Message], counts: Sequence[float], waits_s: tuple[float, float]
) -> tuple[float, float, float] | None:
    """Seconds if gaps of earlier messages remain: of the sends, and of the receives.

    When all is done, and when the next message can be sent and taken up; None for parts of messages, or more than
    ``MOST``.
    """
    if sum(counts) > MOST or any(count != int(count) for count in counts):
        return None
    whole = [np.asarray(float(count)) for count in counts]
    done, next_send, next_receive = _recursion([_Times(*times_of(message)) for message in messages], whole, waits_s)
    return float(done), float(next_send), float(next_receive)


def _recursion_s(messages: Sequence[_Times], counts: Sequence[FloatOrArray]) -> Floats:
    return _recursion(messages, counts)[0]


def _recursion(
    messages: Sequence[_Times], counts: Sequence[FloatOrArray], waits_s: tuple[float, float] = (0.0, 0.0)
) -> tuple[Floats, Floats, Floats]:
    """When all is done, and when the next message can be sent and taken up."""
    every = np.broadcast_arrays(*(part for one in messages for part in astuple(one)), *counts)
    shape, width = every[0].shape, len(messages[0].__dataclass_fields__)
    rows = np.array([np.ravel(part) for part in every], dtype=np.float64)
    times = rows[: len(messages) * width].reshape(len(messages), width, -1)
    ends = np.cumsum(rows[len(messages) * width :], axis=0)
    points, most = np.arange(rows.shape[1]), int(ends[-1].max(initial=0.0))
    there = np.full((most + 1, len(points)), np.inf)  # arrival of each message
    sent, taken = np.zeros(len(points), int), np.zeros(len(points), int)
    free, next_send, next_receive, done = np.zeros((4, len(points)))
    next_send, next_receive = next_send + waits_s[0], next_receive + waits_s[1]
    overtake = bool((times[:, 1] != times[0, 1]).any())
    for _ in range(2 * most):
        send_at = np.where(sent < ends[-1], np.maximum(free, next_send), np.inf)
        number, take_at = taken, np.maximum(free, next_receive)
        if overtake:
            number = np.argmax(there <= np.maximum(take_at, there.min(axis=0)) * (1 + ROUNDING), axis=0)
        take_at = np.maximum(take_at, there[number, points])
        sends = (send_at <= take_at * (1 + ROUNDING)) & (send_at < np.inf)
        takes = ~sends & (take_at < np.inf)
        size = np.minimum((np.where(sends, sent, number) >= ends).sum(axis=0), len(messages) - 1)
        send_s, arrival_s, receive_s, next_send_s, next_receive_s = times[size, :, points].T
        now = np.where(sends, send_at, take_at)
        there[sent[sends], points[sends]] = (now + arrival_s)[sends]
        there[number[takes], points[takes]] = np.inf
        next_send = np.where(sends, now + next_send_s, next_send)
        next_receive = np.where(takes, now + next_receive_s, next_receive)
        free = np.where(sends, now + send_s, np.where(takes, now + receive_s, free))
        done = np.where(takes, free, done)
        sent, taken = sent + sends, taken + takes
    return done.reshape(shape), next_send.reshape(shape), next_receive.reshape(shape)
