"""Times of trees of messages: binomial trees whose messages have one size or that of a subtree, and binary trees.

``message(n)`` is what passes between a rank and its parent when n ranks are below and including it. With D, u, v and r
of a message as in ``message_costs``, a tree down to the leaves takes, from when its root begins, the longest of: D and
the subtree of the first child; u and the tree without that child. Up to the root, ranks take up the messages of their
children one after another, v apart. In Hockney's model they do so in the order of the program, in LogGOPS as messages
come. All of these are recurrences over the binary digits of P, in arrays over everything else.

Two binomial trees: *halving*, a parent has its child's number without the lowest bit, so that subtrees are full but
those that end with the last rank; *doubling*, without the highest bit, so that a tree of n ranks is one of floor(n / 2)
below rank 1 and one of ceil(n / 2) with all others: on level q there are trees of floor(P / 2^q) and one more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.message_costs import Message, ceil_log2
from simcodesign.core.units import FloatOrArray

Floats = NDArray[np.float64]
Bools = np.bool_ | NDArray[np.bool_]
Sized = Callable[[FloatOrArray], Message]


def halving_down_s(ranks: FloatOrArray, message: Sized, then_sends: bool = False) -> FloatOrArray:
    """Down a halving tree, the farthest child first; if it ``then_sends``, until every rank can send once more."""
    time: FloatOrArray = 0.0
    full: FloatOrArray = 0.0  # the time of 2^bit ranks
    for bit, here, below in _cut_subtrees(ranks):
        has_rest = np.asarray(bit > 0 or then_sends)
        time = np.where(here, _after_first(message(below), time, full, has_rest), time)
        full = _after_first(message(2.0**bit), full, full, has_rest)
    return time


def doubling_down_s(ranks: FloatOrArray, message: Sized) -> FloatOrArray:
    """Down a doubling tree, the nearest child first."""
    time: FloatOrArray = 0.0
    more: FloatOrArray = 0.0  # the time of one rank more
    for is_odd, half in _halved(ranks):
        fewer, some = message(half), message(half + 1.0)
        same = _after_first(fewer, time, np.where(is_odd, more, time), is_odd | (half > 1))
        one_more = _after_first(fewer, time, more, np.asarray(half > 0))
        two_more = _after_first(some, more, more, half > 0)
        time, more = (
            np.where(half > 0, same, 0.0),
            np.where(is_odd, two_more, np.where(half > 0, one_more, 0.0)),
        )
    return time


def _after_first(m: Message, below_s: FloatOrArray, rest_s: FloatOrArray, has_rest: Bools) -> FloatOrArray:
    """The subtree of the first child, to which this message goes, and the tree without it, if there is any more."""
    first: FloatOrArray = m.whole_s + below_s
    return np.where(has_rest, np.maximum(first, m.apart_s + rest_s), first)


class Taken(NamedTuple):
    """A root that has taken up the messages of its children: when it is done, and when it could take up one more."""

    done_s: FloatOrArray
    next_s: FloatOrArray

    def and_one(self, ready_s: FloatOrArray, m: Message) -> Taken:
        """After a message that is sent at ``ready_s``."""
        begin = np.maximum(ready_s + m.arrival_s, self.next_s)
        return Taken(begin + m.receive_s, begin + m.next_receive_s)

    def where(self, condition: Bools, other: Taken) -> Taken:
        """This where the condition holds, else the other."""
        done = np.where(condition, self.done_s, other.done_s)
        return Taken(done, np.where(condition, self.next_s, other.next_s))


ALONE = Taken(0.0, 0.0)


def halving_up_s(ranks: FloatOrArray, message: Sized) -> FloatOrArray:
    """Up a halving tree, the nearest child first, or as they come."""
    taken, full = ALONE, [ALONE]
    for bit, here, below in _cut_subtrees(ranks):
        children = [(full[k].done_s, message(2.0**k)) for k in range(bit)]
        taken = _with_last(children, taken.done_s, message(below)).where(here, taken)
        full.append(full[bit].and_one(full[bit].done_s, message(2.0**bit)))
    return taken.done_s


def _with_last(children: Sequence[tuple[FloatOrArray, Message]], last_s: FloatOrArray, m: Message) -> Taken:
    """The messages of children, each no earlier than the one before, and of one more that is sent at ``last_s``: it is
    taken up after the others in the order of the program, or when it comes."""
    taken = ALONE
    is_taken: Bools = np.zeros((), dtype=np.bool_)
    for ready_s, full in children if not m.in_order else ():
        comes = ~is_taken & (last_s + m.arrival_s < ready_s + full.arrival_s)
        taken, is_taken = taken.and_one(last_s, m).where(comes, taken), is_taken | comes
        taken = taken.and_one(ready_s, full)
    for ready_s, full in children if m.in_order else ():
        taken = taken.and_one(ready_s, full)
    return taken.where(is_taken, taken.and_one(last_s, m))


def doubling_up_s(ranks: FloatOrArray, message: Sized) -> FloatOrArray:
    """Up a doubling tree, the farthest child first, whose subtree is the smallest, so that its message comes first."""
    taken, more = ALONE, ALONE
    for is_odd, half in _halved(ranks):
        has_any = np.asarray(half > 0)
        fewer, some = message(half), message(half + 1.0)
        taken, more = (
            more.where(is_odd, taken).and_one(taken.done_s, fewer).where(has_any, ALONE),
            more.and_one(more.done_s, some).where(is_odd, more.and_one(taken.done_s, fewer).where(has_any, ALONE)),
        )
    return taken.done_s


def binary_down_s(ranks: FloatOrArray, m: Message) -> FloatOrArray:
    """Down a binary tree in which rank r has the children 2 r + 1 and 2 r + 2, the left child first."""

    def joined(left_s: FloatOrArray, right_s: FloatOrArray) -> FloatOrArray:
        return np.maximum(left_s, m.apart_s + right_s) + m.whole_s

    return _binary_tree_s(ranks, joined, m.whole_s)


def binary_up_s(ranks: FloatOrArray, m: Message) -> FloatOrArray:
    """Up the same tree, the right child first, whose subtree is no larger than that of the left one."""

    def joined(left_s: FloatOrArray, right_s: FloatOrArray) -> FloatOrArray:
        return ALONE.and_one(right_s, m).and_one(left_s, m).done_s

    return _binary_tree_s(ranks, joined, m.whole_s)


def _binary_tree_s(
    ranks: FloatOrArray, joined: Callable[[FloatOrArray, FloatOrArray], FloatOrArray], whole_s: FloatOrArray
) -> FloatOrArray:
    """The way from the last rank P - 1 to the root goes by the digits of P: 0 for a left child, 1 for a right one.
    All other subtrees on it are full."""
    count = np.asarray(ranks, dtype=np.float64)
    time: FloatOrArray = np.zeros(())
    full: list[FloatOrArray] = [np.zeros(())]  # by levels below the root
    for level in range(int(np.max(np.frexp(count)[1])) - 1):
        on_right = np.floor(count / 2.0**level) % 2 == 1
        right = joined(full[level], time)
        left = joined(time, full[level - 1]) if level else time + whole_s
        time = np.where(count >= 2.0 ** (level + 1), np.where(on_right, right, left), time)
        full.append(joined(full[level], full[level]))
    return time


def _cut_subtrees(ranks: FloatOrArray) -> list[tuple[int, Bools, FloatOrArray]]:
    """Of a halving tree the subtrees that end with the last rank, from the smallest on: for each binary digit whether
    there is one of more than 2^bit ranks, and how many ranks its farthest child has below and including it."""
    last = np.asarray(ranks, dtype=np.float64) - 1.0
    depth = int(np.max(ceil_log2(ranks)))
    return [(bit, np.floor(last / 2**bit) % 2 == 1, last % 2**bit + 1.0) for bit in range(depth)]


def _halved(ranks: FloatOrArray) -> list[tuple[Bools, Floats]]:
    """From the smallest trees of a doubling tree on: whether floor(P / 2^q) is odd, and the half of it rounded down."""
    count = np.asarray(ranks, dtype=np.float64)
    levels = reversed(range(int(np.max(ceil_log2(ranks)))))
    return [(np.floor(count / 2.0**q) % 2 == 1, np.floor(count / 2.0 ** (q + 1))) for q in levels]
