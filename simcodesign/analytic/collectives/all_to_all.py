"""Closed forms of all-to-all and all-broadcast: every rank sends to every other, different bytes or the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.messages import ordered_steps
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.posted_together import SHORT, posted_together_s
from simcodesign.analytic.messages.rounds import equal_rounds, growing_rounds, numbers_with_digit
from simcodesign.analytic.pipelining.succession import SYMMETRIC, Succession
from simcodesign.analytic.rank_by_rank.sizes_by_rank import burst_s, longest_times, pairwise_s
from simcodesign.core.units import FloatOrArray
from simcodesign.fitting.collective_shapes import COLLECTIVES


def all_to_all_pairwise(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 steps of one message each way."""
    return equal_rounds(p.ranks - 1, size, p)


def exchange_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Every rank sends n = P - 1 times and then receives n times, its right neighbour first.

    In order, the receives are paced by v from the last own send or the first arrival on, or the last one waits for its
    arrival; for LogGOPS see ``posted_together``.
    """
    m, steps = p.message(size), p.ranks - 1
    if not m.in_order:
        return Cost(posted_together_s(m, steps), p.ranks * steps, p.ranks * steps * size)
    paced = m.flight_s + np.maximum(m.next_send_s, m.next_receive_s) * (steps - 1)
    time = m.send_s + m.receive_s + np.maximum((steps - 1) * (m.next_send_s + m.next_receive_s), paced)
    return Cost(np.where(steps > 0, time, 0.0), p.ranks * steps, p.ranks * steps * size)


def pairwise_of_sizes(sizes: FloatOrArray, p: MessageCosts) -> Cost:
    """Pairwise exchange of (..., P) bytes by the rank that sends them."""
    return all_of_sizes(pairwise_s(sizes, p), sizes)


def linear_of_sizes(sizes: FloatOrArray, p: MessageCosts) -> Cost:
    """Return a burst, (..., P) bytes by the rank that sends them.

    If it is not followed rank by rank, as if all took the longest times of any, which in LogGOPS is an estimate.
    """
    time_s = burst_s(sizes, p)
    if time_s is None:
        longest = longest_times(p.message(sizes))
        time_s = exchange_linear(0.0, replace(p, message=lambda _: longest)).time_s
    return all_of_sizes(time_s, sizes)


def all_of_sizes(time_s: FloatOrArray, sizes: FloatOrArray) -> Cost:
    """Cost of a whole operation in which every rank sends P - 1 messages of its size, (..., P) bytes.

    With an axis of length 1 instead of the ranks.
    """
    others = np.shape(sizes)[-1] - 1.0
    return Cost(time_s, (others + 1.0) * others, others * np.sum(sizes, axis=-1, keepdims=True))


def all_to_all_bruck(size: FloatOrArray, p: MessageCosts) -> Cost:
    """ceil(log2 P) rounds.

    In round k go the blocks whose distance 1..P-1 has bit k set, packed into one message and unpacked. All P blocks are
    copied into the order of distances before, and of ranks after.
    """

    def blocks(k: int) -> FloatOrArray:
        return numbers_with_digit(p.ranks, k)

    def copied(k: int, is_last: NDArray[np.bool_]) -> tuple[FloatOrArray, FloatOrArray]:
        return blocks(k) + (p.ranks if k == 0 else 0.0), blocks(k) + np.where(is_last, p.ranks, 0.0)

    return growing_rounds(size, p, blocks, copied)


def all_broadcast_linear(size: FloatOrArray, p: MessageCosts) -> Cost:
    """Price a broadcast of every rank's data, to ranks 0, 1, 2, ... in order.

    All n = P - 1 messages of the last rank are the last of their senders. In LogGOPS that is a lower bound, as is what
    a processor works. More than 8 messages of a rank are sent in another order: the last ones of all ranks then go to
    two ranks, one of which gets half of them.
    """
    m, steps = p.message(size), p.ranks - 1
    last = steps if m.in_order else np.where(np.asarray(steps) > SHORT, np.ceil(np.asarray(p.ranks) / 2), steps)
    time = m.whole_s + (steps - 1) * m.next_send_s + (last - 1) * m.next_receive_s
    if not m.in_order:
        time = np.maximum(time, steps * (m.send_s + m.receive_s))
    return Cost(np.where(steps > 0, time, 0.0), p.ranks * steps, p.ranks * steps * size)


def sent_to_each_other(ranks: FloatOrArray) -> FloatOrArray:
    """All of the bytes to P - 1 others."""
    sent: FloatOrArray = np.asarray(ranks) - 1.0
    return sent


def sent_pairwise(ranks: FloatOrArray) -> FloatOrArray:
    """Messages sent by pairwise exchange, as in models of requirements."""
    return COLLECTIVES["Alltoall"].numeric(np.asarray(ranks, dtype=np.float64))


def sent_by_bruck(ranks: FloatOrArray) -> FloatOrArray:
    """Half of the P blocks in each of log2 P rounds."""
    return 0.5 * np.asarray(ranks) * np.log2(ranks)


register_algorithm_form(
    "all_to_all",
    "pairwise",
    AlgorithmForm(
        all_to_all_pairwise,
        ordered_steps.pairwise,
        "P - 1",
        "P - 1",
        sent_pairwise,
        "Alltoall",
        synchronises=True,
        succession=Succession(ends_together=True, rounds=lambda size, ranks: (ranks - 1, size)),
        of_sizes=pairwise_of_sizes,
    ),
)
register_algorithm_form(
    "all_to_all",
    "linear",
    AlgorithmForm(
        exchange_linear,
        ordered_steps.burst_to_the_right,
        "P - 1",
        "P - 1",
        sent_pairwise,
        "Alltoall_linear",
        succession=SYMMETRIC,
        of_sizes=linear_of_sizes,
    ),
)
register_algorithm_form(
    "all_to_all",
    "bruck",
    AlgorithmForm(
        all_to_all_bruck,
        ordered_steps.bruck_exchange,
        "log2(P)",
        "log2(P)*P/2",
        sent_by_bruck,
        "Alltoall_bruck",
        copies_in_turn="P*(log2(P) + 2)*min(P - 1, 1)",
        synchronises=True,
        succession=SYMMETRIC,
    ),
)
register_algorithm_form(
    "all_broadcast",
    "linear",
    AlgorithmForm(
        all_broadcast_linear,
        ordered_steps.burst_by_number,
        "P - 1",
        "P - 1",
        sent_to_each_other,
        least_in_loggops=lambda ranks: np.asarray(ranks) > 2,
    ),
)
