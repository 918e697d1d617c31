"""Which of the several interfaces of a node its messages take in turn (``Interfaces``: round robin)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Machine
from simcodesign.generate.export_schedule import within
from simcodesign.generate.plan import NONE, Plan

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


def interface_turns(machine: Machine, plan: Plan, route: Int32s) -> tuple[Int64s, Int64s]:
    """The interfaces of their nodes by which messages leave and arrive, (N,) each, 0 where ``route`` is NONE.

    A rank counts the messages that it sends to other nodes in program order, and those that it receives in the order of
    its receives; messages whose receive is found while the program runs come after these, in the order of their sends.
    Where ranks of a schedule in LogGOPS name several network interfaces, the number of a message is the place of its
    own among those that its sender uses.
    """
    sends = np.flatnonzero(route != NONE)
    source, target = plan.rank[sends], plan.peer[sends]
    named = None if plan.loggops is None else within(plan.rank, plan.loggops.interface)
    if named is not None and named.any():
        leaves = comes = named[sends]
    else:
        received = np.where(plan.match[sends] == NONE, len(plan), plan.match[sends])
        order = np.lexsort((sends, received, target))
        leaves, comes = _counted(source), np.empty(len(sends), np.int64)
        comes[order] = _counted(target[order])
    place, turns = machine.place_of(plan.ranks), np.zeros((2, len(plan)), np.int64)
    count = machine.network.interfaces.count
    turns[0, sends] = (place[source] + leaves) % count
    # Interface i of every node is on the same rail, so that a message comes by the interface of the same number.
    turns[1, sends] = turns[0, sends] if machine.network.rails > 1 else (place[target] + comes) % count
    return turns[0], turns[1]


def _counted(owner: Int32s) -> Int64s:
    """The number of each element among those of its owner; the owners ascend."""
    numbers: Int64s = np.arange(len(owner)) - np.searchsorted(owner, owner)
    return numbers
