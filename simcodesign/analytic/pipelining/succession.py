"""Properties of an operation beyond its time when all ranks begin together: how it follows others.

An operation of P ranks is a matrix M: rank i ends at max over j of (begin of j + M[i, j]), where M[i, j] is the longest
chain of work and messages from j's begin to i's end, -infinity where i waits for nothing of j's. Its closed form is the
largest entry, T = max M. Operations that follow one another are the product of their matrices in the algebra of maximum
and sum, and a rank's own work, alike on all ranks, is a number that every rank adds. From this follow the rules of
``sequences``:

- The time of a program is at most the sum of the closed forms: no chain is longer than its longest parts.
- Where all ranks end together if they begin together, the next operation begins as its closed form assumes.
- Where M[i, i] = T for one rank i and all operations of a sequence, the sum is exact: the chain that stays on i takes
  all of it. A rank that works for T on its messages is one; all are if all together work for P T.
- If M[i, j] = T for all i and j, a sequence is cut into the operations before and after: all ranks leave together.

All this is about messages without gaps that outlast them: Hockney's model; for LogGOPS see ``lockstep``. Source of the
algebra: F. Baccelli, G. Cohen, G. Olsder, J.-P. Quadrat, "Synchronization and Linearity", Wiley 1992, section 2.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message_costs import MessageCosts
from simcodesign.analytic.pipelining.pace import Carry
from simcodesign.core.units import FloatOrArray

#: Some thousand additions and products.
ROUNDING = 1e-12
#: Values of P ranks (P,), or one for all of them.
Ranks = NDArray[np.bool_]


def no_rank(ranks: int, flies: bool) -> Ranks:
    """Nothing is known of any rank."""
    return np.asarray(False)


@dataclass(frozen=True)
class Succession:
    """How an algorithm follows itself and other operations.

    ``ends_together``: ranks that begin it together end it together.
    ``whole_time(ranks, flies)``: ranks i with M[i, i] = T, which end it no earlier than its whole time after they began
    themselves, in addition to ranks that work all the time; ``flies``: whether messages are in flight for some time
    after the sender is done with them. ``repeated(size_bytes, price, times)``: seconds of ``times`` of it in a row that
    all ranks begin together, if that is less than their sum; None if it has not been derived: in Hockney's model.
    ``row_with_gaps(size_bytes, price, times)``: the same in LogGOPS; None outside of the domain in which it is exact.
    ``rounds(size_bytes, ranks)``: how many rounds, in which every rank sends a message and receives one, and bytes of a
    message, for P that is a power of two where ranks fold in and out.
    """

    ends_together: bool = False
    whole_time: Callable[[int, bool], Ranks] = no_rank
    repeated: Callable[[FloatOrArray, MessageCosts, FloatOrArray], FloatOrArray] | None = None
    row_with_gaps: Callable[[float, MessageCosts, float], float | None] | None = None
    rounds: Callable[[float, float], tuple[float, float]] | None = None


#: Nothing is known.
UNKNOWN = Succession()

#: All ranks do the same.
SYMMETRIC = Succession(ends_together=True)


def takes_all(work_s: FloatOrArray, time_s: FloatOrArray) -> bool:
    """Whether ``work_s`` leaves nothing of a time but rounding."""
    return bool(np.all(np.asarray(work_s) >= np.asarray(time_s) * (1 - ROUNDING)))


@dataclass(frozen=True)
class Operation:
    """An operation with messages at its place in a program; equal ``key``: the same operation again.

    ``waits_for_all``: M[i, j] = T for all ranks i and j. ``carry``: clock of every rank after it in LogGOPS if all
    have equal clocks before it, None if that is not known; ``is_work``: own work of the ranks, of which only LogGOPS
    needs to know. The other fields as in ``Succession``.
    """

    phase: str
    label: str
    time_s: float
    key: object = field(default_factory=object)
    ends_together: bool = False
    waits_for_all: bool = False
    whole_time: Callable[[], Ranks] = lambda: np.asarray(False)
    repeated_s: Callable[[float], float] | None = None
    row_with_gaps_s: Callable[[float], float | None] | None = None
    carry: Carry | None = None
    is_work: bool = False
