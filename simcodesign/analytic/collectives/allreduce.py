"""Closed forms of allreduce: every rank gets the reduction of the bytes of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.collectives.broadcast import broadcast_binomial
from simcodesign.analytic.collectives.reduce import reduce_binomial
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.even_sharing import Doubling
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts, ceil_log2, floor_log2
from simcodesign.analytic.messages.rounds import Round, equal_rounds, rounds_of, row_s
from simcodesign.analytic.pipelining.succession import SYMMETRIC, Ranks, Succession
from simcodesign.core.units import FloatOrArray
from simcodesign.fitting.collective_shapes import COLLECTIVES


def allreduce_recursive_doubling(size: FloatOrArray, p: MessageCosts) -> Cost:
    """k = floor(log2 P) exchanges, and one message before and one after when P is no power of two.

    The P - 2^k ranks that receive before the exchanges and send after them are numbered from 0 in the hypercube:
    between two of them at most h = ceil(log2(P - 2^k)) rounds lead to another rank and take D; the other rounds stay on
    a rank and take s. What comes in is reduced, except for the message after. In LogGOPS that is a lower bound: ranks
    that fold in reach the rounds later than others, whose messages they may take up first. What follows a message on
    another rank then waits for sends alone.
    """
    m, out, rounds = p.reduced(size), p.message(size), floor_log2(p.ranks)
    power: FloatOrArray = np.exp2(rounds)
    rest = p.ranks - power
    work_s = size * p.reduction_s_per_byte
    held = np.where(m.waits, m.arrival_s + work_s, 0.0)  # operators wait for both messages
    sends = np.maximum(np.maximum(held, m.next_send_s), m.send_s + work_s)
    stay = np.maximum(np.maximum(sends, m.next_receive_s), m.send_s + m.receive_s)
    base = stay if m.in_order else sends
    between = rounds * base + ceil_log2(np.maximum(rest, 1.0)) * np.maximum(m.whole_s - base, 0.0)
    between = np.maximum(between, rounds * stay)
    folded = m.whole_s + np.maximum(between + out.whole_s, rounds * m.whole_s)
    messages, reductions = power * rounds + 2 * rest, rounds + (rest > 0)
    return Cost(
        np.where(rest > 0, folded, row_s(rounds, m.exchange_s, m.round_s)),
        messages,
        messages * size,
        reductions * size * p.reduction_s_per_byte,
        (messages - rest) * size,
    )


def allreduce_rabenseifner(size: FloatOrArray, p: MessageCosts) -> Cost:
    """k = floor(log2 P) exchanges of a half, a quarter, ... of the data, and as many back, the largest last.

    One message before and one after when P is no power of two: a way that changes the corner in every round comes back
    to its own."""
    cube = floor_log2(p.ranks)
    power: FloatOrArray = np.exp2(cube)
    places, rest = range(int(np.max(cube))), p.ranks - power
    halving = [Round(size / 2.0 ** (place + 1), place < cube, reduces=True) for place in places]
    rounds = rounds_of(p, [*halving, *(one._replace(reduces=False) for one in reversed(halving))])
    folded = p.reduced(size).whole_s + rounds.time_s + p.message(size).whole_s
    corners, is_folded = power / p.ranks, rest > 0
    return Cost(
        np.where(is_folded, folded, rounds.time_s),
        rounds.messages * corners + 2 * rest,
        rounds.message_bytes * corners + 2 * rest * size,
        rounds.reduction_s + np.where(is_folded, size * p.reduction_s_per_byte, 0.0),
        rounds.reduced_bytes * corners + rest * size,
    )


def allreduce_ring(size: FloatOrArray, p: MessageCosts) -> Cost:
    """2 (P - 1) steps with a P-th of the data, which is reduced in the first half of them."""
    rounds, part = p.ranks - 1, size / p.ranks
    gathered = equal_rounds(rounds, part, p)
    reduced = rounds * p.reduced(part).round_s
    sent, reduction_s = 2 * gathered.messages, rounds * part * p.reduction_s_per_byte
    return Cost(reduced + gathered.time_s, sent, sent * part, reduction_s, gathered.message_bytes)


def allreduce_reduce_broadcast(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Up the binomial tree, then a broadcast."""
    up, down = reduce_binomial(size, p), broadcast_binomial(size, p)
    sent, sent_bytes = 2 * down.messages, 2 * down.message_bytes
    return Cost(up.time_s + down.time_s, sent, sent_bytes, up.reduction_s, up.reduced_bytes)


def folded(ranks: int, flies: bool) -> Ranks:
    """Return the ranks that fold in and out, unless messages fly.

    Each takes its way in, all rounds, which all take as long whether they stay on a rank or lead to another, and the
    way out.
    """
    rest = ranks - 2 ** (ranks.bit_length() - 1)
    every: Ranks = np.zeros(ranks, dtype=np.bool_)
    every[0 : 2 * rest : 2] = not flies
    return every


def deepest(ranks: int, flies: bool) -> Ranks:
    """Return the rank from which, and to which, the longest path through the tree leads.

    Its number is all ones, in as many bits that the rank exists. Where P is no power of two it has one step less, and
    the root's other child is served before it.
    """
    every: Ranks = np.zeros(ranks, dtype=np.bool_)
    every[2 ** (ranks.bit_length() - 1) - 1] = True
    return every


def sent_by_doubling(ranks: FloatOrArray) -> FloatOrArray:
    """All of the bytes in each of log2 P rounds."""
    return COLLECTIVES["Allreduce"].numeric(np.asarray(ranks, dtype=np.float64))


def some_fold(ranks: FloatOrArray) -> NDArray[np.bool_]:
    """Whether some ranks only fold in and out: P is no power of two."""
    return np.asarray(np.exp2(floor_log2(ranks)) != ranks)


def sent_both_ways(ranks: FloatOrArray) -> FloatOrArray:
    """Twice P - 1 messages of all of the bytes, over P processes."""
    sent: FloatOrArray = 2.0 * (np.asarray(ranks) - 1.0) / np.asarray(ranks)
    return sent


_DOUBLING = AlgorithmForm(
    allreduce_recursive_doubling,
    ordered_steps.hypercube,
    "log2(P)",
    "log2(P)",
    sent_by_doubling,
    "Allreduce",
    least_in_loggops=some_fold,
    synchronises=True,
    folds=True,
    succession=Succession(
        ends_together=True, whole_time=folded, rounds=lambda size, ranks: (float(floor_log2(ranks)), size)
    ),
)
register_algorithm_form("allreduce", "recursive_doubling", replace(_DOUBLING, doubling=Doubling.EXCHANGE))
register_algorithm_form("allreduce", "bine", replace(_DOUBLING, steps=ordered_steps.bine_exchange))
register_algorithm_form(
    "allreduce",
    "rabenseifner",
    AlgorithmForm(
        allreduce_rabenseifner,
        ordered_steps.halving_and_doubling,
        "2*log2(P)",
        "2*(P - 1)/P",
        sent_both_ways,
        synchronises=True,
        folds=True,
        succession=SYMMETRIC,
    ),
)
register_algorithm_form(
    "allreduce",
    "ring",
    AlgorithmForm(
        allreduce_ring,
        ordered_steps.ring_twice,
        "2*(P - 1)",
        "2*(P - 1)/P",
        sent_both_ways,
        "Allreduce_ring",
        synchronises=True,
        succession=Succession(ends_together=True, rounds=lambda size, ranks: (2 * (ranks - 1), size / ranks)),
    ),
)
register_algorithm_form(
    "allreduce",
    "reduce_broadcast",
    AlgorithmForm(
        allreduce_reduce_broadcast,
        ordered_steps.tree_up_and_down,
        "2*log2(P)",
        "2*log2(P)",
        sent_both_ways,
        "Allreduce_reduce_broadcast",
        succession=Succession(whole_time=deepest),
    ),
)
