"""The time of an allreduce by two binary trees, each of which has a half of the data, passed on in chunks.

Ranks 1 to P - 1 are in the first tree in the order of their numbers, below rank 0: of every interval of ranks, the root
is the one whose number has the most factors of 2. The second tree is the first one mirrored, or
shifted by one rank if P is odd. In a round, every level of a tree passes a chunk on to the next, up and down.

The time is a recursion over the rounds: a rank sends what it has in a round, of the first tree up and down, then of the
second, to its first children before its second ones, and then receives in this order. In Hockney's model that is exact
(without rendezvous, or with it, since all of a round is posted together); in LogGOPS, where gaps are left out, it is an
estimate. On nodes with as many ranks, it is the sum of a reduce-scatter and an allgather within nodes and of the trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collectives.accelerators import NOTHING, sum_of_parts
from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, Ints, OnNodes, register_algorithm_form
from simcodesign.analytic.collectives.allgather import allgather_ring
from simcodesign.analytic.collectives.allreduce import sent_both_ways
from simcodesign.analytic.collectives.reduce_scatter import reduce_scatter_in_steps
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.node_levels import LevelCosts, NodeLevels
from simcodesign.analytic.messages.ordered_steps import Joint, NodeMembers, Step, Steps
from simcodesign.core.units import FloatOrArray

Floats = NDArray[np.float64]
#: In how many chunks each tree passes its half on.
CHUNKS = 8
#: Number of times of ranks at all design points held together.
MOST_TIMES = 2**22


def _below(low: int, high: int, parent: int, is_first: bool, level: int) -> Iterator[tuple[int, int, bool, int]]:
    """Child, parent, whether it is the first child, and level, of the tree of ranks low to high - 1."""
    if low < high:
        root = max(range(low, high), key=lambda rank: rank & -rank)
        yield root, parent, is_first, level
        yield from _below(low, root, root, True, level + 1)
        yield from _below(root + 1, high, root, False, level + 1)


@lru_cache(maxsize=32)
def rounds_of_trees(count: int) -> tuple[Joint, ...]:
    """Return the messages of ranks 0 to P - 1, round by round."""
    plain = [*_below(1, count, 0, True, 1)]
    height = max((level for *_, level in plain), default=0)
    several = [plain, [(_other(a, count), _other(b, count), is_first, level) for a, b, is_first, level in plain]]
    rounds = []
    for number in range(CHUNKS + 2 * height - 1 if height else 0):
        parts = []
        for edges in several:
            for up in (True, False):
                for first in (True, False):
                    here = [
                        (child, parent)
                        for child, parent, is_first, level in edges
                        if is_first == first and 0 <= number - (height - level if up else height + level - 1) < CHUNKS
                    ]
                    if here:
                        child, parent = np.array(here, np.int64).T
                        ends = (child, parent) if up else (parent, child)
                        parts.append(Step(*ends, 1.0, float(up), 2 * CHUNKS))
        rounds.append(Joint(tuple(parts)))
    return tuple(rounds)


def _other(rank: int, count: int) -> int:
    """Return the rank in the second tree instead of a rank of the first."""
    return (rank + 1) % count if count % 2 else count - 1 - rank


def two_trees(count: int) -> Steps:
    """Return the rounds among ``count`` ranks."""
    yield from rounds_of_trees(count)


def allreduce_two_trees(size: FloatOrArray, p: MessageCosts) -> Cost:
    """2 (P - 1) messages of each chunk of each tree, and the recursion over rounds."""
    each = size / (2 * CHUNKS)
    m, work = p.message(each), each * p.reduction_s_per_byte
    times = [m.arrival_s, m.send_s, m.receive_s, work, np.where(m.waits, 0.0, -np.inf), p.ranks]
    columns = np.broadcast_arrays(*times)
    shape, flat = columns[0].shape, np.array([column.ravel() for column in columns])
    (time, operated), ranks = np.zeros((2, flat.shape[1])), flat[-1].astype(np.int64)
    for count in np.unique(ranks).tolist():
        here = np.flatnonzero(ranks == count)
        for some in np.array_split(here, 1 + len(here) * count // MOST_TIMES):
            time[some], operated[some] = _followed_s(count, flat[:-1, some])
    messages = 4 * CHUNKS * (p.ranks - 1.0)
    sent = messages * each
    return Cost(time.reshape(shape), messages, sent, operated.reshape(shape), sent / 2)


def _followed_s(count: int, times: Floats) -> tuple[Floats, Floats]:
    """Return when the last of ``count`` ranks is done, and the seconds of operators on the longest path to it.

    (N,) each, by (5, N) times of a message.
    """
    arrival, send, receive, work, wait = times
    now, operated = np.zeros((2, count, times.shape[1]))
    for joint in rounds_of_trees(count):
        begun, taken = [], []
        for part in joint.parts:
            begun.append((now[part.source], operated[part.source]))
            now[part.source] += send
        for part, (before, operators) in zip(joint.parts, begun, strict=True):
            there, own_work = before + arrival, work if np.any(part.reduced) else 0.0
            operated[part.target] = np.where(there > now[part.target], operators, operated[part.target]) + own_work
            taken.append(np.maximum(now[part.target], there))
            now[part.target] = taken[-1] + receive + own_work
        for part, at in zip(joint.parts, taken, strict=True):
            now[part.source] = np.maximum(now[part.source], at + wait)
    last = now.argmax(axis=0)
    points = np.arange(len(last))
    return now[last, points], operated[last, points]


def allreduce_double_tree(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    """Return a reduce-scatter within nodes, trees of a part between them, an allgather within nodes."""
    alone, nodes = np.asarray(levels.between.ranks) == 1, levels.nodes
    if (nodes is not None and len({*nodes.tolist()}) > 1) or alone.all():
        prices = levels.within if alone.all() else replace(levels.between, ranks=levels.ranks)
        every = allreduce_two_trees(size, prices)
        return LevelCosts(every.time_s, every, NOTHING) if alone.all() else LevelCosts(every.time_s, NOTHING, every)
    part = size / levels.within.ranks
    first, last = reduce_scatter_in_steps(size, levels.within), allgather_ring(part, levels.within)
    whole = sum_of_parts([(first, False), (allreduce_two_trees(part, levels.between), True), (last, False)], levels)
    if not alone.any():
        return whole
    inside = allreduce_two_trees(size, levels.within)
    return whole.or_where(alone, LevelCosts(inside.time_s, inside, NOTHING))


def _steps(node: Ints) -> Steps:
    nodes = NodeMembers.of(node)
    if not nodes.are_even or len(nodes.members) == 1:
        yield from two_trees(len(node))
        return
    part = 1.0 / len(nodes.members[0])
    yield from nodes.within(ordered_steps.parts_around_the_ring)
    yield from nodes.across(two_trees, part)
    yield from nodes.within(ordered_steps.ring, part)


register_algorithm_form(
    "allreduce",
    "double_tree",
    AlgorithmForm(
        allreduce_two_trees,
        two_trees,
        "2*log2(P)",
        "1",
        sent_both_ways,
        on_nodes=OnNodes(allreduce_double_tree, _steps),
    ),
)
