"""Which of the several interfaces of a node its messages take, by the ranks between which they are sent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Machine
from simcodesign.generate.export_schedule import within
from simcodesign.generate.passes.draft import Draft
from simcodesign.generate.plan import NONE

Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


def interface_turns(machine: Machine, draft: Draft, route: Int32s, used: Int16s | None) -> tuple[Int64s, Int64s] | None:
    """Return the interfaces of their nodes by which messages leave and arrive, (N,) each, 0 where ``route`` is NONE.

    None if ranks have no choice of interfaces. ``used``: (N,) how many of its interfaces a rank uses, None: all of
    them.

    A rank counts the messages that it sends to other nodes in program order, and those that it receives in the order of
    its receives; messages whose receive is found while the program runs come after these, in the order of their sends.
    Where ranks of a schedule in LogGOPS name several network interfaces, the number of a message is the place of its
    own among those that its sender uses.
    """
    own = machine.interfaces_of(draft.ranks)
    if own is None:
        return None
    sends = np.flatnonzero(route != NONE)
    source, target = draft.rank[sends].astype(np.int64), draft.peer[sends].astype(np.int64)
    leaves = comes = np.zeros(len(sends), np.int64)
    if not own.is_fixed:
        leaves, comes = _numbers(draft, sends)
    if used is not None:
        leaves, comes = leaves % used[sends], comes % used[sends]
    turns = np.zeros((2, len(draft)), np.int64)
    turns[0, sends] = own.leaving(source, leaves)
    turns[1, sends] = own.coming(target, turns[0, sends], comes)
    return turns[0], turns[1]


def _numbers(draft: Draft, sends: Int64s) -> tuple[Int64s, Int64s]:
    """Return the number of each message among those that its sender sends.

    Also return its number among those that its receiver receives.
    """
    source, target = draft.rank[sends], draft.peer[sends]
    named = None if draft.loggops is None else within(draft.rank, draft.loggops.interface)
    if named is not None and named.any():
        return named[sends], named[sends]
    received = np.where(draft.match[sends] == NONE, len(draft), draft.match[sends])
    order = np.lexsort((sends, received, target))
    comes = np.empty(len(sends), np.int64)
    comes[order] = _counted(target[order])
    return _counted(source), comes


def _counted(owner: Int32s) -> Int64s:
    """Return the number of each element among its owner's elements; the owners ascend."""
    numbers: Int64s = np.arange(len(owner)) - np.searchsorted(owner, owner)
    return numbers
