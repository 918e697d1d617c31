"""Closed forms of broadcast: the bytes of rank 0 go to every other rank."""

from __future__ import annotations

from functools import partial

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.pipelines.any_tree import TreeSteps, tree_in_segments
from simcodesign.analytic.collectives.pipelines.chain import pipelined_chain_s
from simcodesign.analytic.collectives.pipelines.split_tree import parts_of_half, split_tree_s, split_tree_steps
from simcodesign.analytic.collectives.scatter import scatter_binomial
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.even_sharing import Doubling
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2
from simcodesign.analytic.messages.rounds import doubling_tree_s, equal_rounds, most_ones_up_to, row_s, tree_s
from simcodesign.analytic.messages.trees import binary_down_s, halving_down_s
from simcodesign.analytic.pipelining.succession import ROUNDING, Succession
from simcodesign.core.units import FloatOrArray
from simcodesign.fitting.collective_shapes import COLLECTIVES


def broadcast_binomial(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Down a binomial tree, the farthest child first, which has the largest subtree.

    log2 P (2o + L + (m - 1) G) for LogGP, P = 2^k and gaps that do not outlast a message; otherwise see ``tree_s``.
    """
    m = p.message(size)
    return Cost(tree_s(p.ranks, m.whole_s, m.apart_s), p.ranks - 1, (p.ranks - 1) * size)


def broadcast_binomial_near(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Down a binomial tree, the nearest child first; for P = 2^k the time with the farthest child first."""
    m = p.message(size)
    return Cost(doubling_tree_s(p.ranks, m.whole_s, m.apart_s), p.ranks - 1, (p.ranks - 1) * size)


def broadcast_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Return the root sends P - 1 times, ``apart_s`` apart; the last receiver receives."""
    m, others = p.message(size), p.ranks - 1
    return Cost(row_s(others, m.whole_s, m.apart_s), others, others * size)


def broadcast_binary_tree(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Down a binary tree; every rank sends to its left child first."""
    return Cost(binary_down_s(p.ranks, p.message(size)), p.ranks - 1, (p.ranks - 1) * size)


def broadcast_interleaved_binary_tree(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Down Open MPI's binary tree, in which rank 2^l - 1 + i of level l has the children i and i + 2^l of the next one.

    The ones of i are the messages that waited for another of their sender: with L levels below the root, of which the
    last has q ranks, and z the most ones in a number below q, it takes max(L D + z a, (L - 1) (D + a)) with D and a
    for ``whole_s`` and ``apart_s``.
    """
    m = p.message(size)
    levels = np.maximum(ceil_log2(p.ranks + 1.0) - 1.0, 0.0)
    last = np.maximum(p.ranks - np.exp2(levels), 0.0)  # q - 1
    above = np.maximum(levels - 1.0, 0.0)
    time = np.maximum(levels * m.whole_s + most_ones_up_to(last) * m.apart_s, above * (m.whole_s + m.apart_s))
    return Cost(time, p.ranks - 1, (p.ranks - 1) * size)


def broadcast_chains(size: FloatOrArray, p: MessageCosts, chains: int) -> Cost:
    """Price a broadcast from the root to the heads of chains, ``apart_s`` apart, and down each.

    Among P - 1 = c n + k ranks, k < c, the first k of c chains have n + 1, and the last of these or of all is done
    last.
    """
    m, others = p.message(size), np.asarray(p.ranks) - 1.0
    short, longer = np.floor(others / chains), others % chains
    of_longer = np.where(longer > 0, (short + 1.0) * m.whole_s + (longer - 1.0) * m.apart_s, 0.0)
    of_last = np.where(short > 0, short * m.whole_s + (chains - 1.0) * m.apart_s, 0.0)
    return Cost(np.maximum(of_longer, of_last), others, others * size)


def broadcast_chain(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 whole messages, from each rank to the next."""
    messages = p.ranks - 1
    return Cost(messages * p.message(size).whole_s, messages, messages * size)


def broadcast_tree_in_segments(size: FloatOrArray, p: MessageCosts, segments: FloatOrArray, steps: TreeSteps) -> Cost:
    """Down a tree of these steps, segment after segment. InputError in LogGOPS, and where senders wait."""
    path = tree_in_segments(steps, p.ranks, segments, p.message(size / segments))
    return Cost(path.time_s, (p.ranks - 1) * segments, (p.ranks - 1) * size)


def broadcast_split_binary_tree(size: FloatOrArray, p: MessageCosts, segments: FloatOrArray = 1.0) -> Cost:
    """Half of the data down each side of Open MPI's binary tree, in half of the segments.

    Then pairs of the two sides exchange their halves. InputError for more than two segments in LogGOPS, and where
    senders wait.
    """
    half, parts = size / 2.0, parts_of_half(segments)
    time_s = split_tree_s(p.ranks, parts, p.message(half / parts), p.message(half))
    return Cost(time_s, (p.ranks - 1) * (parts + 1.0), (p.ranks - 1) * size)


def broadcast_in_segments(size: FloatOrArray, p: MessageCosts, segments: FloatOrArray) -> Cost:
    """Price a broadcast from each rank to the next, segment after segment.

    (P - 2 + n) (startup + bytes / n x time per byte) in Hockney's model without receive overhead and hops.
    """
    time = pipelined_chain_s(p.ranks, segments, p.message(size / segments))
    return Cost(time, (p.ranks - 1) * segments, (p.ranks - 1) * size)


def broadcast_scatter_allgather(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Return a binomial scatter of P parts, then P - 1 rounds of an allgather around a ring (van de Geijn).

    In Hockney's model the ring takes as long after the last rank has reached it as if all had arrived then: what a rank
    sends late passes P - 1 ranks. In LogGOPS this is an estimate, since messages of the ring have the processor of
    ranks that are not there yet.
    """
    part = size / p.ranks
    first, then = scatter_binomial(part, p), equal_rounds(p.ranks - 1, part, p)
    ready_s = halving_down_s(p.ranks, lambda parts: p.message(parts * part), then_sends=True)
    return Cost(ready_s + then.time_s, first.messages + then.messages, first.message_bytes + then.message_bytes)


def broadcasts_binomial(size: FloatOrArray, p: MessageCosts, times: FloatOrArray) -> FloatOrArray:
    """k broadcasts down the same tree, Hockney's model: no rank waits for ranks below.

    With c, f, r as in ``message_costs``, a rank with l children works for r + l c on each broadcast, the root for B c
    with B = ceil(log2 P). That is a line of machines whose jobs are all alike: a rank begins its k-th broadcast k - 1
    times the most work of a rank on the path from the root to it after its first. Children have fewer children than
    their parents, so that this is the root's or its child's on that path. Two subtrees may be last: the first
    child's, of P - 2^(B - 1) ranks, and the second's, of 2^(B - 2), which is full. For P = 2^B that is B (c + f + r) +
    (k - 1) ((B - 1) c + max(c, r)).
    """
    m, depth = p.message(size), ceil_log2(p.ranks)
    below = np.maximum(p.ranks - np.exp2(depth - 1), 1.0)
    root = depth * m.next_send_s
    first = m.whole_s + tree_s(below, m.whole_s, m.apart_s)
    second = m.next_send_s + (depth - 1) * m.whole_s
    of_first = np.maximum(root, m.receive_s + ceil_log2(below) * m.next_send_s)
    of_second = np.maximum(root, m.receive_s + (depth - 2) * m.next_send_s)
    time = np.maximum(row_s(times, first, of_first), np.where(depth > 1, row_s(times, second, of_second), 0.0))
    return np.where(depth > 0, time, 0.0)


def broadcasts_binomial_with_gaps(size: float, p: MessageCosts, times: float) -> float | None:
    """k broadcasts down the same tree in LogGOPS, where ranks have done their part when the next message comes.

    The root begins a broadcast every B u with B = ceil(log2 P), and so all times below it are the times of the first
    broadcast and a multiple of B u: T + (k - 1) B u. A rank with l > 0 children takes up the message for r, sends l
    times, u apart, and is done after r + (l - 1) u + c. While that is no more than B u, no message finds its receiver
    busy; of ranks but the root, one has most children, l = B - 1 if P = 2^B. Up to three ranks, none has any, and
    a message may find the previous one, which then comes v earlier. Above S, senders are held until messages are taken
    up: for a, because that is immediate.
    """
    m, depth = p.message(size), float(ceil_log2(p.ranks))
    first = float(tree_s(p.ranks, m.whole_s, m.apart_s))
    if depth == 0 or times == 1:
        return first
    if times < 1 or times % 1:
        return None
    below = float(p.ranks) - 2.0 ** (depth - 1)
    children = max(float(ceil_log2(below)), depth - 2)
    period, apart, receive, held = depth * float(m.apart_s), float(m.apart_s), float(m.receive_s), float(m.send_s)
    held = max(held, float(m.arrival_s)) if bool(m.waits) else held
    if children == 0 and not bool(m.waits):
        period = max(period, float(m.next_receive_s))
    done = receive + ((children - 1) * apart + held if children else 0.0)
    if max(done, float(m.next_receive_s)) > period * (1 + ROUNDING):
        return None
    return first + (times - 1) * period


def broadcasts_linear(size: FloatOrArray, p: MessageCosts, times: FloatOrArray) -> FloatOrArray:
    """k broadcasts, Hockney's model: the last receiver waits for the root or is busy with the message before."""
    m, others = p.message(size), p.ranks - 1
    period = np.maximum(others * m.next_send_s, m.next_receive_s)
    return np.where(others > 0, row_s(times, row_s(others, m.whole_s, m.apart_s), period), 0.0)


def broadcasts_chain(size: FloatOrArray, p: MessageCosts, times: FloatOrArray) -> FloatOrArray:
    """k broadcasts, Hockney's model: a line of machines, all but the first of which wait for it or for the busiest."""
    m = p.message(size)
    busiest = np.where(p.ranks > 2, m.receive_s + m.send_s, np.maximum(m.send_s, m.receive_s))
    return (p.ranks - 1) * m.whole_s + np.where(p.ranks > 1, (times - 1) * busiest, 0.0)


def sent_per_byte(ranks: FloatOrArray) -> FloatOrArray:
    """P - 1 messages, over P processes."""
    return COLLECTIVES["Bcast"].numeric(np.asarray(ranks, dtype=np.float64))


def sent_in_parts(ranks: FloatOrArray) -> FloatOrArray:
    """P parts, each of which passes half of log2 P ranks and then all, over P processes."""
    sent: FloatOrArray = (0.5 * np.log2(ranks) + np.asarray(ranks) - 1.0) / np.asarray(ranks)
    return sent


register_algorithm_form(
    "broadcast",
    "binomial",
    AlgorithmForm(
        broadcast_binomial,
        ordered_steps.tree,
        "log2(P)",
        "log2(P)",
        sent_per_byte,
        "Bcast",
        succession=Succession(repeated=broadcasts_binomial, row_with_gaps=broadcasts_binomial_with_gaps),
        segmented=partial(broadcast_tree_in_segments, steps=ordered_steps.tree),
        pace_in_turn="log2(P)",
    ),
)
register_algorithm_form(
    "broadcast",
    "binomial_near",
    AlgorithmForm(
        broadcast_binomial_near,
        ordered_steps.near_tree,
        "log2(P)",
        "log2(P)",
        sent_per_byte,
        "Bcast",
        doubling=Doubling.TREE,
        segmented=partial(broadcast_tree_in_segments, steps=ordered_steps.near_tree),
        pace_in_turn="log2(P)",
    ),
)
register_algorithm_form(
    "broadcast",
    "binary_tree",
    AlgorithmForm(
        broadcast_binary_tree,
        ordered_steps.binary_tree,
        "max(2*log2(P) - 2, log2(P))",
        "max(2*log2(P) - 2, log2(P))",
        sent_per_byte,
        "Bcast",
        segmented=partial(broadcast_tree_in_segments, steps=ordered_steps.binary_tree),
        pace_in_turn="min(P - 1, 2)",
    ),
)
register_algorithm_form(
    "broadcast",
    "interleaved_binary_tree",
    AlgorithmForm(
        broadcast_interleaved_binary_tree,
        ordered_steps.interleaved_tree,
        "max(2*log2(P) - 2, log2(P))",
        "max(2*log2(P) - 2, log2(P))",
        sent_per_byte,
        "Bcast",
        segmented=partial(broadcast_tree_in_segments, steps=ordered_steps.interleaved_tree),
        pace_in_turn="min(P - 1, 2)",
    ),
)
register_algorithm_form(
    "broadcast",
    "split_binary_tree",
    AlgorithmForm(
        broadcast_split_binary_tree,
        split_tree_steps,
        "max(2*log2(P) - 1, min(2*log2(P), 2))",
        "max(2*log2(P) - 1, min(2*log2(P), 2))/2",
        sent_per_byte,
        "Bcast",
        segmented=broadcast_split_binary_tree,
        segmented_steps=split_tree_steps,
        estimate_in_loggops=True,
    ),
)
register_algorithm_form(
    "broadcast",
    "bine",
    AlgorithmForm(
        broadcast_binomial,
        ordered_steps.bine_tree,
        "log2(P)",
        "log2(P)",
        sent_per_byte,
        "Bcast",
        succession=Succession(repeated=broadcasts_binomial, row_with_gaps=broadcasts_binomial_with_gaps),
    ),
)
for _name, _chains in (("three_chains", 3), ("four_chains", 4)):
    register_algorithm_form(
        "broadcast",
        _name,
        AlgorithmForm(
            partial(broadcast_chains, chains=_chains),
            partial(ordered_steps.chains, several=_chains),
            f"min(floor((P - 1)/{_chains}) + {_chains - 1}, P - 1)",
            f"min(floor((P - 1)/{_chains}) + {_chains - 1}, P - 1)",
            sent_per_byte,
            "Bcast",
        ),
    )
register_algorithm_form(
    "broadcast",
    "chain",
    AlgorithmForm(
        broadcast_chain,
        ordered_steps.chain,
        "P - 1",
        "P - 1",
        sent_per_byte,
        "Bcast",
        succession=Succession(repeated=broadcasts_chain),
        segmented=broadcast_in_segments,
        pace_in_turn="1",
    ),
)
register_algorithm_form(
    "broadcast",
    "scatter_allgather",
    AlgorithmForm(
        broadcast_scatter_allgather,
        ordered_steps.scatter_and_ring,
        "log2(P) + P - 1",
        "2*(P - 1)/P",
        sent_in_parts,
    ),
)
register_algorithm_form(
    "broadcast",
    "linear",
    AlgorithmForm(
        broadcast_linear,
        ordered_steps.star,
        "P - 1",
        "P - 1",
        sent_per_byte,
        "Bcast_linear",
        succession=Succession(repeated=broadcasts_linear),
    ),
)
