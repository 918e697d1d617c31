"""Times of patterns that several algorithms share: messages in a row, a binomial tree, rounds of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2
from simcodesign.core.units import FloatOrArray


def row_s(count: FloatOrArray, whole_s: FloatOrArray, apart_s: FloatOrArray) -> FloatOrArray:
    """Time of ``count`` messages that take ``whole_s`` each and begin ``apart_s`` after one another."""
    return np.minimum(count, 1.0) * whole_s + np.maximum(count - 1.0, 0.0) * apart_s


def tree_s(ranks: FloatOrArray, whole_s: FloatOrArray, apart_s: FloatOrArray) -> FloatOrArray:
    """Time of a binomial tree of messages that take D (``whole_s``), a rank's messages a (``apart_s``) apart.

    T(1) = 0, T(2) = D; for n = 2^i + j > 2 ranks, 1 <= j <= 2^i, T(n) = max(D + T(j), a + T(2^i)): the subtree of the
    first child, and the root with all its other children.
    Solved: D + (k - 1) max(a, D) for k = ceil(log2 P), and one a instead of a max(a, D) unless P = 2^k.
    """
    depth, most = ceil_log2(ranks), np.maximum(apart_s, whole_s)
    below = np.where(np.exp2(depth) == ranks, (depth - 1) * most, (depth - 2) * most + apart_s)
    time: FloatOrArray = np.where(depth > 0, whole_s + below, 0.0)
    return time


def doubling_tree_s(ranks: FloatOrArray, whole_s: FloatOrArray, apart_s: FloatOrArray) -> FloatOrArray:
    """Time of a tree in which all ranks that have been reached send on, at distance 1, 2, 4, ...

    The path to rank i follows the 1 digits of its binary number, the lowest first: its sender sends once for every
    digit below the highest that is 0, and D passes for every 1. The last rank is one with the most digits that has the
    fewest ones if a > D, otherwise one with the most ones, or the number of one digit less that consists of ones.
    """
    digits, last = ceil_log2(ranks), np.asarray(ranks) - 1.0
    ones = _most_ones(last, digits)
    of_longest = np.maximum(whole_s + (digits - 1) * apart_s, ones * whole_s + (digits - ones) * apart_s)
    time: FloatOrArray = np.where(digits > 0, np.maximum(of_longest, (digits - 1) * whole_s), 0.0)
    return time


def most_ones_up_to(last: FloatOrArray) -> FloatOrArray:
    """Return the most ones in a binary number from 0 up to ``last``.

    As many, or one less than those that have most digits.
    """
    digits = ceil_log2(np.asarray(last) + 1.0)
    return np.maximum(_most_ones(np.asarray(last), digits), np.maximum(digits - 1, 0.0))


def _most_ones(last: NDArray[np.float64], digits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the most ones in a binary number up to ``last`` that has as many ``digits``."""
    above, most = np.zeros_like(last), np.zeros_like(last)
    for place in reversed(range(int(np.max(digits)))):
        is_one = np.floor(last / np.exp2(place)) % 2 == 1
        # A 0 instead of this 1, which is not the highest, and nothing but ones below it.
        most = np.where(is_one & (above > 0), np.maximum(most, above + place), most)
        above = above + is_one
    most = np.maximum(most, above)
    return most


def equal_rounds(rounds: FloatOrArray, size: FloatOrArray, p: MessageCosts) -> Cost:
    """Return rounds in which every rank sends a message and receives one.

    The last of them as long as an exchange takes.
    """
    m = p.message(size)
    return Cost(row_s(rounds, m.exchange_s, m.round_s), p.ranks * rounds, p.ranks * rounds * size)


def reducing_rounds(rounds: FloatOrArray, size: FloatOrArray, p: MessageCosts) -> Cost:
    """Return rounds in which every rank reduces what it has received before it continues."""
    m, messages = p.reduced(size), p.ranks * rounds
    reduction_s = rounds * size * p.reduction_s_per_byte
    time_s = row_s(rounds, m.exchange_s, m.round_s)
    return Cost(time_s, messages, messages * size, reduction_s, messages * size)


class Round(NamedTuple):
    """A round in which every rank sends a message and receives one.

    Its bytes, whether there is such a round, whether what has been received is reduced before the next one, and how
    many blocks a rank copies before and after the round.
    """

    size: FloatOrArray
    is_there: NDArray[np.bool_]
    reduces: bool = False
    packed: FloatOrArray = 0.0
    unpacked: FloatOrArray = 0.0


def rounds_of(p: MessageCosts, rounds: Iterable[Round], block_bytes: FloatOrArray = 0.0) -> Cost:
    """Return rounds one after another, which all ranks begin together; copied blocks have ``block_bytes`` each."""
    copy_s = p.copy_s(block_bytes)
    now: FloatOrArray = 0.0
    sent, reduced, copied, next_send, next_receive = now, now, now, now, now
    count: FloatOrArray = 0.0
    for size, is_there, reduces, packed, unpacked in rounds:
        m = p.reduced(size) if reduces else p.message(size)
        send = np.maximum(now + packed * copy_s, next_send)
        receive = np.maximum(send + np.maximum(m.arrival_s, m.send_s), next_receive)
        now = np.where(is_there, receive + m.receive_s + unpacked * copy_s, now)
        next_send = np.where(is_there, send + m.next_send_s, next_send)
        next_receive = np.where(is_there, receive + m.next_receive_s, next_receive)
        count, sent = count + np.where(is_there, 1.0, 0.0), sent + np.where(is_there, size, 0.0)
        reduced = reduced + np.where(is_there, size, 0.0) * reduces
        copied = copied + np.where(is_there, packed + unpacked, 0.0)
    computed_s = reduced * p.reduction_s_per_byte + copied * copy_s
    copied = copied * p.ranks
    return Cost(now, count * p.ranks, sent * p.ranks, computed_s, reduced * p.ranks, copied, copied * block_bytes)


def growing_rounds(
    size: FloatOrArray,
    p: MessageCosts,
    blocks: Callable[[int], FloatOrArray],
    copied: Callable[[int, NDArray[np.bool_]], tuple[FloatOrArray, FloatOrArray]] = lambda place, is_last: (0.0, 0.0),
) -> Cost:
    """ceil(log2 P) rounds in which every rank sends a message and receives one, of ``blocks(k)`` times the size.

    ``copied(k, is_last)``: how many blocks of that size a rank copies before and after a round.
    """
    rounds = ceil_log2(p.ranks)
    places = range(int(np.max(rounds)))
    each = (Round(blocks(k) * size, k < rounds, False, *copied(k, np.equal(rounds, k + 1))) for k in places)
    return rounds_of(p, each, size)


def numbers_with_digit(ranks: FloatOrArray, place: int) -> FloatOrArray:
    """How many of the numbers 0 to P - 1 have a 1 in this place of their binary digits."""
    pairs: FloatOrArray = np.floor(np.asarray(ranks) / 2 ** (place + 1)) * 2**place
    rest: FloatOrArray = np.maximum(ranks - 2 * pairs - 2**place, 0.0)
    return pairs + rest


def tree_blocks(ranks: FloatOrArray) -> FloatOrArray:
    """Return the blocks that all messages of a binomial tree carry together, if each rank has one.

    A block is passed on as many times as its rank's number has ones in its binary digits.
    """
    places = range(int(np.max(ceil_log2(ranks))))
    return sum((numbers_with_digit(ranks, place) for place in places), start=np.zeros(np.shape(ranks)))
