"""Times of trees of messages: binomial trees whose messages have one size or a subtree's size, and binary trees.

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

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import ceil_log2
from simcodesign.core.units import FloatOrArray

Floats = NDArray[np.float64]
Bools = np.bool_ | NDArray[np.bool_]
Sized = Callable[[FloatOrArray], Message]


def halving_down_s(ranks: FloatOrArray, message: Sized, then_sends: bool = False) -> FloatOrArray:
    """Down a halving tree, the farthest child first; if it ``then_sends``, until every rank can send once more."""
    time: FloatOrArray = 0.0
    full: FloatOrArray = 0.0  # the time of 2^bit ranks
    for bit, here, below in cut_subtrees(ranks):
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
    """Return the subtree of the first child, to which this message goes, and the tree without it.

    None if there is no more.
    """
    first: FloatOrArray = m.whole_s + below_s
    return np.where(has_rest, np.maximum(first, m.apart_s + rest_s), first)


class Taken(NamedTuple):
    """A root that has taken up the messages of its children.

    When it is done, when it could take up one more, and how many were taken up on the longest path.
    """

    done_s: FloatOrArray
    next_s: FloatOrArray
    on_path: FloatOrArray

    def and_one(self, child: Taken, m: Message) -> Taken:
        """After the message of one more child."""
        arrival_s = child.done_s + m.arrival_s
        begin = np.maximum(arrival_s, self.next_s)
        on_path = np.where(arrival_s > self.next_s, child.on_path, self.on_path) + 1.0
        return Taken(begin + m.receive_s, begin + m.next_receive_s, on_path)

    def where(self, condition: Bools, other: Taken) -> Taken:
        """Return this where the condition holds, otherwise the other."""
        return Taken(*(np.where(condition, mine, its) for mine, its in zip(self, other, strict=True)))


ALONE = Taken(0.0, 0.0, 0.0)


def halving_up(ranks: FloatOrArray, message: Sized) -> Taken:
    """Up a halving tree, the nearest child first, or as they come."""
    taken, full = ALONE, [ALONE]
    for bit, here, below in cut_subtrees(ranks):
        children = [(full[k], message(2.0**k)) for k in range(bit)]
        taken = _with_last(children, taken, message(below)).where(here, taken)
        full.append(full[bit].and_one(full[bit], message(2.0**bit)))
    return taken


def _with_last(children: Sequence[tuple[Taken, Message]], last: Taken, m: Message) -> Taken:
    """Return the messages of children, each no earlier than the previous one, and of one more.

    The last one is taken up after the others in the order of the program, or when it comes.
    """
    taken = ALONE
    is_taken: Bools = np.zeros((), dtype=np.bool_)
    for child, full in children:
        if not m.in_order:
            comes = ~is_taken & (last.done_s + m.arrival_s < child.done_s + full.arrival_s)
            taken, is_taken = taken.and_one(last, m).where(comes, taken), is_taken | comes
        taken = taken.and_one(child, full)
    return taken.where(is_taken, taken.and_one(last, m))


def doubling_up(ranks: FloatOrArray, message: Sized) -> Taken:
    """Up a doubling tree, the farthest child first, whose subtree is the smallest, so that its message comes first."""
    taken, more = ALONE, ALONE
    for is_odd, half in _halved(ranks):
        has_any = np.asarray(half > 0)
        fewer, some = message(half), message(half + 1.0)
        one_more = more.and_one(taken, fewer).where(has_any, ALONE)
        taken, more = (
            more.where(is_odd, taken).and_one(taken, fewer).where(has_any, ALONE),
            more.and_one(more, some).where(is_odd, one_more),
        )
    return taken


def binary_down_s(ranks: FloatOrArray, m: Message) -> FloatOrArray:
    """Down a binary tree in which rank r has the children 2 r + 1 and 2 r + 2, the left child first."""

    def joined(left: Taken, right: Taken | None) -> Taken:
        below = left.done_s if right is None else np.maximum(left.done_s, m.apart_s + right.done_s)
        return ALONE._replace(done_s=m.whole_s + below)

    return _binary_tree(ranks, joined).done_s


def binary_up(ranks: FloatOrArray, m: Message) -> Taken:
    """Up the same tree, the right child first, whose subtree is no larger than the left one's."""

    def joined(left: Taken, right: Taken | None) -> Taken:
        return (ALONE if right is None else ALONE.and_one(right, m)).and_one(left, m)

    return _binary_tree(ranks, joined)


def _binary_tree(ranks: FloatOrArray, joined: Callable[[Taken, Taken | None], Taken]) -> Taken:
    """Return the messages on the way from the last rank, P - 1, to the root.

    The way goes by the digits of P: 0 for a left child, 1 for a right one. All other subtrees on it are full.
    """
    count = np.asarray(ranks, dtype=np.float64)
    taken, full = ALONE, [ALONE]  # by levels below the root
    for level in range(int(np.max(np.frexp(count)[1])) - 1):
        on_right = np.asarray(np.floor(count / 2.0**level) % 2 == 1)
        left = joined(taken, full[level - 1] if level else None)
        here = joined(full[level], taken).where(on_right, left)
        taken = here.where(np.asarray(count >= 2.0 ** (level + 1)), taken)
        full.append(joined(full[level], full[level]))
    return taken


def interleaved_binary_up(ranks: FloatOrArray, m: Message) -> Taken:
    """Return the way up Open MPI's binary tree.

    Rank 2^l - 1 + i of level l has the children i and i + 2^l of the next one, the first one first, or as they come.

    With q ranks on the last level L, a rank of level l has floor(q / 2^l) ranks there below and including it, or one
    more; the first child has as many as the second one, or one more.
    """
    count = np.asarray(ranks, dtype=np.float64)
    depth = np.maximum(np.floor(np.log2(count)), 0.0)
    last = count - np.exp2(depth) + 1.0  # q

    def joined(first: Taken, second: Taken) -> Taken:
        if m.in_order:
            return ALONE.and_one(first, m).and_one(second, m)
        return ALONE.and_one(second, m).and_one(first, m)

    taken, more, is_last = ALONE, ALONE, np.zeros(count.shape, np.bool_)
    for level in reversed(range(int(np.max(depth)))):
        few = np.floor(last / 2.0**level)  # on the last level below each rank; `more` has one more
        is_last = np.asarray(level == depth - 1.0)
        both, one = joined(ALONE, ALONE), ALONE.and_one(ALONE, m)
        odd = np.asarray(few % 2 == 1)
        same = joined(more, taken).where(odd, joined(taken, taken))
        one_more = joined(more, more).where(odd, joined(more, taken))
        leaves = both.where(np.asarray(few >= 2), one.where(np.asarray(few == 1), ALONE))
        more_leaves = both.where(np.asarray(few >= 1), one)
        here = np.asarray(level < depth)
        taken = leaves.where(is_last, same).where(here, taken)
        more = more_leaves.where(is_last, one_more).where(here, more)
    return taken


def cut_subtrees(ranks: FloatOrArray) -> list[tuple[int, Bools, FloatOrArray]]:
    """Return the subtrees of a halving tree that end with the last rank, from the smallest on.

    For each binary digit whether there is one of more than 2^bit ranks, and how many ranks its farthest child has below
    and including it.
    """
    last = np.asarray(ranks, dtype=np.float64) - 1.0
    depth = int(np.max(ceil_log2(ranks)))
    return [(bit, np.floor(last / 2**bit) % 2 == 1, last % 2**bit + 1.0) for bit in range(depth)]


def _halved(ranks: FloatOrArray) -> list[tuple[Bools, Floats]]:
    """From the smallest trees of a doubling tree on: whether floor(P / 2^q) is odd, and the half of it rounded down."""
    count = np.asarray(ranks, dtype=np.float64)
    levels = reversed(range(int(np.max(ceil_log2(ranks)))))
    return [(np.floor(count / 2.0**q) % 2 == 1, np.floor(count / 2.0 ** (q + 1))) for q in levels]
