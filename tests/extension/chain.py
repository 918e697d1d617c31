"""A collective algorithm that the package does not have: a broadcast that goes from each rank to the one before."""

from __future__ import annotations

import numpy as np

from simcodesign.analytic.collectives.algorithm_form import AlgorithmForm, register_algorithm_form
from simcodesign.analytic.messages.message_costs import Cost, MessageCosts
from simcodesign.analytic.messages.ordered_steps import Step, Steps
from simcodesign.analytic.pipelining.succession import Succession
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.collective import register_algorithm
from simcodesign.generate.columns import Ranks
from simcodesign.generate.messages.collectives.algorithm_messages import register_messages

register_algorithm("broadcast", "backwards")


@register_messages("broadcast", "backwards", lambda p: p - 1)
def broadcast_backwards(ranks: Ranks, size_bytes: float) -> None:
    """Rank 0 sends to the last rank, and every rank passes on to the one before it what it has received."""
    order = -ranks.rank % ranks.count
    for place in range(ranks.count - 1):
        sender, receiver = order[place : place + 1], order[place + 1 : place + 2]
        ranks.send(receiver, size_bytes, sender)
        ranks.receive(sender, size_bytes, who=receiver)


def cost(size: FloatOrArray, p: MessageCosts) -> Cost:
    """P - 1 whole messages one after another."""
    hops = p.ranks - 1
    return Cost(hops * p.message(size).whole_s, hops, hops * size)


def repeated(size: FloatOrArray, p: MessageCosts, times: FloatOrArray) -> FloatOrArray:
    """A line of machines: all but the first wait for it, or for the busiest, which receives and sends."""
    m = p.message(size)
    busiest = np.where(p.ranks > 2, m.receive_s + m.send_s, np.maximum(m.send_s, m.receive_s))
    return (p.ranks - 1) * m.whole_s + np.where(p.ranks > 1, (times - 1) * busiest, 0.0)


def steps(count: int) -> Steps:
    order = -np.arange(count) % count
    for place in range(count - 1):
        yield Step(order[place : place + 1], order[place + 1 : place + 2])


def sent_per_byte(ranks: FloatOrArray) -> FloatOrArray:
    return 1 - 1 / np.asarray(ranks)


register_algorithm_form(
    "broadcast",
    "backwards",
    AlgorithmForm(
        cost, steps, "P - 1", "P - 1", sent_per_byte, "Bcast_backwards", succession=Succession(repeated=repeated)
    ),
)
