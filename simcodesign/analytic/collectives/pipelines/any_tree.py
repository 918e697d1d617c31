"""Time of a tree of any shape down or up which ranks pass what they receive, segment after segment.

For each of n segments of one size, a rank receives from its parent and sends to its children (down), or receives from
its children and sends to its parent (up), always in the same order. With c, a and r as in ``message_costs``, in
Hockney's model without rendezvous: no rank waits for those that it sends to, and all segments are alike. So a rank
begins its k-th segment when it has arrived and the previous one is done: a line of machines with equal jobs. Each
of the n - 1 further segments keeps the busiest rank on a path busy once more:

    down  T = max over paths of h (a + r) + s c + (n - 1) max(d0 c, r + d c)
    up    T = max over paths of h a + q r + (n - 1) max(d0 r, d r + c)

for a path between the root and a leaf: h messages, s sends to earlier children before them, q receives, d0 children of
the root, and at most d children of another rank.

The paths that differ are few (some log2(P)^2), and are found once for a number of ranks, by following all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collectives.pipelines.tree import NO_PATH, Path
from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.ordered_steps import Ints, Step, Steps
from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray

TreeSteps = Callable[[int], Steps]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ancestry:
    """Ranks of a tree, (P,) each.

    ``messages`` on the path from the root; ``turns`` of the earlier children on it (down), or of the same and later
    ones (up); ``busiest``: most children of a rank on it but the root, with this one; ``children`` of each rank."""

    messages: Ints
    turns: Ints
    busiest: Ints
    children: Ints


def check_in_order(m: Message) -> None:
    """Raise InputError where trees in segments have no closed form: in LogGOPS, and where senders wait."""
    if not m.in_order or np.any(m.waits):
        what = "segments of a tree have a closed form only in Hockney's model without rendezvous"
        raise InputError(what, allowed="algorithm: chain; or simulate it")


class Row(NamedTuple):
    """A path: ``messages`` on it, the ``turns`` before them, and most children of a rank on it but the root."""

    messages: int
    turns: int
    busiest: int


@lru_cache(maxsize=256)
def ancestry(steps: TreeSteps, count: int, up: bool) -> Ancestry:
    """Follow the path from every rank to the root of a tree of ``count`` ranks, whose messages come in this order."""
    parent, place, children = (np.zeros(count, np.int64) for _ in range(3))
    for step in steps(count):
        assert isinstance(step, Step)
        above, below = (step.target, step.source) if up else (step.source, step.target)
        parent[below], place[below] = above, children[above]
        children[above] += 1
    turn = children[parent] - place if up else place
    messages, turns, busiest, here = (np.zeros(count, np.int64) for _ in range(4))
    here[:] = np.arange(count)
    while here.any():
        below_root = here > 0
        messages += below_root
        turns += np.where(below_root, turn[here], 0)
        busiest = np.where(below_root, np.maximum(busiest, children[here]), busiest)
        here = parent[here]
    return Ancestry(messages, turns, busiest, children)


@lru_cache(maxsize=256)
def _leaves(steps: TreeSteps, count: int, up: bool) -> tuple[int, tuple[Row, ...]]:
    """Count the children of the root, and list the paths to leaves that differ."""
    tree = ancestry(steps, count, up)
    ends = tree.children == 0
    rows = np.unique(np.stack([tree.messages, tree.turns, tree.busiest])[:, ends], axis=1).T
    return int(tree.children[0]), tuple(Row(*row) for row in rows.tolist())


def tree_in_segments(
    steps: TreeSteps, ranks: FloatOrArray, segments: FloatOrArray, m: Message, up: bool = False
) -> Path:
    """Return the longest path of ``segments`` of this message in the tree of these steps.

    Its seconds, and the messages received on it (up). Raises InputError in LogGOPS, and where senders wait.
    """
    check_in_order(m)
    longest = NO_PATH
    for count in np.unique(np.asarray(ranks)).tolist():
        path = _of_count(steps, int(count), segments, m, up)
        longest = path.where(np.asarray(ranks == count), longest)
    return Path(longest.time_s + 0.0, longest.received + 0.0)


def _of_count(steps: TreeSteps, count: int, segments: FloatOrArray, m: Message, up: bool) -> Path:
    root, rows = _leaves(steps, count, up)
    more = np.maximum(segments - 1.0, 0.0)
    longest = NO_PATH
    for row in rows:
        path = _up(row, root, more, m) if up else _down(row, root, more, m)
        longest = longest.or_longer(path)
    return longest


def _down(row: Row, root: int, more: FloatOrArray, m: Message) -> Path:
    time_s = row.messages * m.whole_s + row.turns * m.apart_s + more * pace_down_s(root, row.busiest, m)
    return Path(time_s, 0.0)


def pace_down_s(root: int, busiest: int, m: Message) -> FloatOrArray:
    """Return the time that a further segment adds to a path whose root has ``root`` children, others ``busiest``."""
    if root == 0:
        return 0.0
    return np.maximum(root * m.apart_s, m.receive_s + busiest * m.apart_s)


def _up(row: Row, root: int, more: FloatOrArray, m: Message) -> Path:
    if root == 0:
        return Path(0.0, 0.0)
    at_root, above = root * m.receive_s, row.busiest * m.receive_s + m.send_s
    time_s = row.messages * m.arrival_s + row.turns * m.receive_s + more * np.maximum(at_root, above)
    return Path(time_s, row.turns + more * np.where(at_root >= above, float(root), float(row.busiest)))
