"""Closed form of a hierarchical allreduce in chunks, in which all ranks do alike.

On N nodes of q ranks, a chunk takes q - 1 rounds of a reduce-scatter within nodes, 2 (N - 1) of an allreduce between
the ranks of the same number, and q - 1 of an allgather within nodes; the next one begins max(q - 1, 2 (N - 1)) rounds
later, so that at most one chunk is in each stage. In a round, a rank sends a message for each stage that has a chunk,
between nodes first, and then receives them in this order:

    t = sum of c;  t = max(t, the c of those before + a) + r + w for each

The time is the sum over all rounds, counted by their stages. That is exact in Hockney's model. On nodes with different
numbers of ranks, the algorithm is the ring of all ranks. In LogGOPS, whose gaps are left out, it is an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from simcodesign.analytic.collectives.accelerators import on_rails
from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, Ints, OnNodes, register_algorithm_form
from simcodesign.analytic.collectives.allreduce import allreduce_ring, sent_both_ways
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.node_levels import LevelCosts, NodeLevels
from simcodesign.analytic.messages.ordered_steps import Joint, NodeMembers, Step, Steps
from simcodesign.core.units import FloatOrArray

#: In how many chunks the data are passed on.
CHUNKS = 4
#: Stages of a round in the order of their messages: between nodes, reduced and gathered, and within nodes likewise.
FAR_REDUCED, FAR_GATHERED, NEAR_REDUCED, NEAR_GATHERED = range(4)


@lru_cache(maxsize=256)
def rounds_of_chunks(nodes: int, each: int) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return the stages of rounds, and how many rounds in a row have these."""
    far, near = nodes - 1, each - 1
    begin = {NEAR_REDUCED: (0, near), FAR_REDUCED: (near, far), FAR_GATHERED: (near + far, far)}
    begin[NEAR_GATHERED] = (near + 2 * far, near)
    later = max(near, 2 * far)
    turn = np.arange(2 * near + 2 * far + (CHUNKS - 1) * later)
    has = np.zeros((4, len(turn)), bool)
    for chunk in range(CHUNKS):
        for stage, (first, length) in begin.items():
            has[stage] |= (turn >= chunk * later + first) & (turn < chunk * later + first + length)
    runs = np.flatnonzero(np.any(has[:, 1:] != has[:, :-1], axis=0)) + 1
    bounds = [0, *runs.tolist(), len(turn)] if len(turn) else [0]
    return tuple((tuple(np.flatnonzero(has[:, low]).tolist()), high - low) for low, high in pairwise(bounds))


def _flat(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Where every rank has a node for itself."""
    return _in_chunks(size, NodeLevels(p.ranks, replace(p, ranks=1.0), p)).whole


def _in_chunks(size: FloatOrArray, levels: NodeLevels) -> LevelCosts:
    nodes, each = (np.asarray(one, dtype=np.float64) for one in (levels.between.ranks, levels.within.ranks))
    near_bytes = size / (CHUNKS * each)
    far_bytes = near_bytes / nodes
    times, works = np.zeros((2, *np.broadcast_shapes(np.shape(far_bytes), nodes.shape)))
    prices = {True: (levels.between, far_bytes), False: (levels.within, near_bytes)}
    known: dict[tuple[int, ...], tuple[FloatOrArray, FloatOrArray]] = {}
    pairs = np.stack([one.ravel() for one in np.broadcast_arrays(nodes, each)]).astype(np.int64)
    for one in np.unique(pairs, axis=1).T.tolist():
        here = (nodes == one[0]) & (each == one[1])
        for stages, count in rounds_of_chunks(*one):
            if stages not in known:
                known[stages] = _round(stages, prices)
            times, works = (
                total + np.where(here, count * of_round, 0.0)
                for total, of_round in zip((times, works), known[stages], strict=True)
            )
    near_sent, far_sent = 2 * CHUNKS * levels.ranks * (each - 1), 2 * CHUNKS * levels.ranks * (nodes - 1)
    within = Cost(0.0, near_sent, near_sent * near_bytes, works, near_sent * near_bytes / 2)
    return LevelCosts(times, within, Cost(0.0, far_sent, far_sent * far_bytes, 0.0, far_sent * far_bytes / 2))


def _round(
    stages: tuple[int, ...], prices: Mapping[bool, tuple[MessageCosts, FloatOrArray]]
) -> tuple[FloatOrArray, FloatOrArray]:
    """Return the time of a round with these stages, and for how long operators are at work on its longest path."""
    messages = []
    for stage in stages:
        p, size = prices[stage in (FAR_REDUCED, FAR_GATHERED)]
        work_s = size * p.reduction_s_per_byte if stage in (FAR_REDUCED, NEAR_REDUCED) else 0.0
        messages.append((p.message(size), work_s))
    now: FloatOrArray = sum((m.send_s for m, _ in messages), start=np.zeros(()))
    before, worked = np.zeros(()), np.zeros(())
    for m, work_s in messages:
        there = before + m.arrival_s
        worked = np.where(there > now, 0.0, worked) + work_s
        now, before = np.maximum(now, there) + m.receive_s + work_s, before + m.send_s
    return now, worked


def _steps(node: Ints) -> Steps:
    nodes = NodeMembers.of(node)
    if not nodes.are_even:
        yield from ordered_steps.ring_twice(len(node))
        return
    inside = np.stack(nodes.members)
    yield from _rounds(len(nodes.members), inside.shape[1], inside)


def _rounds(nodes: int, each: int, inside: Ints) -> Iterator[Joint]:
    def ring(rings: Ints, parts: int, reduced: bool) -> Step:
        return Step(rings.ravel(), np.roll(rings, -1, axis=1).ravel(), 1.0, float(reduced), parts)

    near, far = CHUNKS * each, CHUNKS * each * nodes
    steps = {
        FAR_REDUCED: ring(inside.T, far, True),
        FAR_GATHERED: ring(inside.T, far, False),
        NEAR_REDUCED: ring(inside, near, True),
        NEAR_GATHERED: ring(inside, near, False),
    }
    for stages, count in rounds_of_chunks(nodes, each):
        for _ in range(count):
            yield Joint(tuple(steps[stage] for stage in stages))


def _alone(count: int) -> Steps:
    yield from _rounds(count, 1, np.arange(count)[:, None])


register_algorithm_form(
    "allreduce",
    "hierarchical_chunks",
    AlgorithmForm(
        _flat,
        _alone,
        f"{2 * CHUNKS}*(P - 1)",
        "2*(P - 1)/P",
        sent_both_ways,
        on_nodes=OnNodes(on_rails(allreduce_ring, _in_chunks), _steps),
    ),
)
