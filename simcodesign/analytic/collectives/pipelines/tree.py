"""Time of a binomial tree up which ranks pass what they receive, segment after segment.

For each of n segments of one size, a rank receives from its children, the nearest one first, and sends to its parent.
With c, a and r as in ``message_costs``, in Hockney's model without rendezvous: no rank waits for its parent, so that
the time is the longest path up the tree, and each of the n - 1 further segments keeps some rank on that path busy once
more. A rank with d children is busy for w = d r + c, the root, which sends nothing, for d r. Among all paths through a
rank, the best one spends all further segments at the busiest rank, so that

    T = max over all ranks of (longest path of one segment through the rank) + (n - 1) w

On P = 2^k ranks every path has k messages: T = k (a + r) + (n - 1) ((k - 1) r + max(c, r)). Other numbers of ranks
go by their binary digits: subtrees are full but those that end with the last rank, as in ``trees``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import ceil_log2
from simcodesign.analytic.messages.trees import Bools, cut_subtrees
from simcodesign.core.units import FloatOrArray


class Path(NamedTuple):
    """A path up a tree: its seconds, and how many messages are received on it."""

    time_s: FloatOrArray
    received: FloatOrArray

    def and_more(self, time_s: FloatOrArray, received: FloatOrArray) -> Path:
        """Return the path and what follows."""
        return Path(self.time_s + time_s, self.received + received)

    def where(self, condition: Bools, other: Path) -> Path:
        """Return this path where the condition holds, otherwise the other."""
        return Path(*(np.where(condition, mine, its) for mine, its in zip(self, other, strict=True)))

    def or_longer(self, other: Path) -> Path:
        """Return the longer of two paths."""
        return self.where(np.asarray(self.time_s >= other.time_s), other)


NO_PATH = Path(-np.inf, 0.0)


def pipelined_tree(ranks: FloatOrArray, segments: FloatOrArray, m: Message) -> Path:
    """Return the longest path of ``segments`` of this message up a binomial tree of ranks, all segments included."""
    done, children = Path(0.0, 0.0), np.zeros(np.shape(ranks))
    through = [NO_PATH] * int(np.max(ceil_log2(ranks)))  # by children: ranks of the cut subtree, without its root
    for bit, here, _ in cut_subtrees(ranks):
        full = Path(bit * m.whole_s, bit)
        below = [done.where(children == number, path) for number, path in enumerate(through)]
        for number, path in enumerate(below):
            longest = path.and_more(m.arrival_s, 0.0).or_longer(full if number < bit else NO_PATH)
            through[number] = longest.and_more(m.receive_s, 1.0).where(here, through[number])
        done = done.and_more(m.arrival_s, 0.0).or_longer(full).and_more(m.receive_s, 1.0).where(here, done)
        children = np.where(here, bit + 1.0, children)
    more = np.maximum(segments - 1.0, 0.0)
    longest = done.and_more(more * children * m.receive_s, more * children)
    for number, path in enumerate(through):
        longest = longest.or_longer(path.and_more(more * (number * m.receive_s + m.send_s), more * number))
    return longest
