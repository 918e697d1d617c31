"""Time of Open MPI's split binary tree: each half of the data down one half of the tree, then to the other half.

The root sends segments of the first half of the data to its left child and of the second half to its right one, by
turns, and these pass down their subtrees as in ``any_tree``. Then ranks 2 i - 1 and 2 i exchange their halves; where P
is even, the last rank has no partner and gets the second half from the root. With f(v) for when rank v has passed on
its last segment, and c, a, r those of half of the data:

    T = max over all pairs of f + max(c, a) + r; of the last rank without a partner max(f(0) + a, f(P - 1)) + r

In LogGOPS this is an estimate; in more than one segment, there and with rendezvous it has no closed form.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simcodesign.analytic.collectives.pipelines.any_tree import ancestry, check_in_order, pace_down_s
from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.ordered_steps import Step, Steps, interleaved_tree
from simcodesign.core.units import FloatOrArray


class _Row(NamedTuple):
    """A rank of a split tree.

    Messages on the path from the root, sends to others before these and to its own children, and most children of a
    rank on the path but the root.
    """

    messages: int
    turns: int
    busiest: int


@lru_cache(maxsize=256)
def _rows(count: int) -> tuple[int, tuple[_Row, ...], tuple[_Row, ...]]:
    """Count the children of the root; list the ranks that exchange as far as they differ, and the last rank alone."""
    tree = ancestry(interleaved_tree, count, False)
    every = np.stack([tree.messages, tree.turns + tree.children, tree.busiest]).T
    paired, alone = every[1 : count - 1 + count % 2], every[count - 1 + count % 2 :]
    several = (tuple(_Row(*row) for row in np.unique(part, axis=0).tolist()) for part in (paired, alone))
    return int(tree.children[0]), next(several), next(several)


def parts_of_half(segments: FloatOrArray) -> FloatOrArray:
    """Return the number of parts of each half if the whole has ``segments``."""
    return np.ceil(np.asarray(segments) / 2.0)


def split_tree_s(ranks: FloatOrArray, parts: FloatOrArray, piece: Message, half: Message) -> FloatOrArray:
    """Return the seconds of a broadcast whose halves go in ``parts`` of one ``piece`` each.

    Raises InputError for more than one in LogGOPS, and where senders wait.
    """
    if np.any(np.asarray(parts) > 1):
        check_in_order(piece)
    time_s: FloatOrArray = np.zeros(())
    for count in np.unique(np.asarray(ranks)).tolist():
        time_s = np.where(np.asarray(ranks) == count, _of_count(int(count), parts, piece, half), time_s)
    return time_s + 0.0


def _of_count(count: int, parts: FloatOrArray, piece: Message, half: Message) -> FloatOrArray:
    if count == 1:
        return 0.0
    root, paired, alone = _rows(count)

    def done_s(row: _Row) -> FloatOrArray:
        first_s = row.messages * piece.whole_s + row.turns * piece.apart_s
        return first_s + (parts - 1.0) * pace_down_s(root, row.busiest, piece)

    time_s: FloatOrArray = 0.0
    for row in paired:
        time_s = np.maximum(time_s, done_s(row) + half.exchange_s)
    for row in alone:
        there_s = root * parts * piece.apart_s + half.arrival_s
        time_s = np.maximum(time_s, np.maximum(there_s, done_s(row)) + half.receive_s)
    return time_s


def split_tree_steps(count: int, segments: int = 1) -> Steps:
    """Yield the messages: down the tree, then between pairs, and from the root to a last rank without a partner."""
    parts = int(parts_of_half(segments))
    for _ in range(parts):
        for step in interleaved_tree(count):
            assert isinstance(step, Step)
            yield Step(step.source, step.target, 0.5 / parts)
    odd = np.arange(1, count - 1, 2)
    both, others = np.concatenate([odd, odd + 1]), np.concatenate([odd + 1, odd])
    order = np.argsort(both)
    yield Step(both[order], others[order], 0.5)
    if count % 2 == 0:
        yield Step(np.array([0]), np.array([count - 1]), 0.5)
