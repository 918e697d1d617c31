"""All-broadcast in LogGOPS: every rank sends to ranks 0, 1, 2, ... in turn, so that some are sent to before others."""

from __future__ import annotations

import functools

import numpy as np

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.posted_together import times_of
from simcodesign.analytic.rank_by_rank.posted import Floats, Posted, finish_s
from simcodesign.analytic.rank_by_rank.queue_order import order_of_sends
from simcodesign.core.units import FloatOrArray

#: Ranks up to which the time is that of all ranks' turns, 2 P^2 in each iteration.
MOST_RANKS = 64


def all_broadcast_s(message: Message, ranks: FloatOrArray) -> Floats:
    """Seconds of an all-broadcast, exact for up to ``MOST_RANKS`` ranks; beyond, an estimate: as if sends left no gaps
    and came into the queue in the order in which they are posted."""
    steps = np.asarray(ranks) - 1.0
    later_s = (steps - 1.0) * (message.next_send_s + message.next_receive_s)
    time_s: Floats = np.where(steps > 0, message.exchange_s + later_s, 0.0)
    exact = np.broadcast_to((steps > 1) & (steps < MOST_RANKS), time_s.shape)
    for count in np.unique(np.broadcast_to(ranks, time_s.shape)[exact]):
        here = exact & (np.asarray(ranks) == count)
        times_s = np.array([[np.broadcast_to(part, time_s.shape)[here] for part in times_of(message)]])
        time_s[here] = finish_s(_posted(int(count)), times_s)
    return time_s


@functools.lru_cache(maxsize=MOST_RANKS)
def _posted(ranks: int) -> Posted:
    order = order_of_sends(ranks - 1)
    return Posted.of_sends([[(target + (target >= rank), 0) for target in order] for rank in range(ranks)])
