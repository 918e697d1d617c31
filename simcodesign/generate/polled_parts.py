"""Parts of ranks that are polled: what begins, ends and polls them, in the operations of a program.

A polled part is written as any started part (``side_chains.py``), with an operation of no time before it and one after
it. The rank polls by an operation of no time, and by one more for its wait. All of these have the name of the part and
their role in the column ``polled``, since polls may be in blocks that are repeated within the block of the part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import HELD, RECEIVE
from simcodesign.generate.plan import NONE, Int32s, Int64s, Polls
from simcodesign.generate.segment import Segment

#: Roles of operations, of which ``polled`` has the number of the name times ROLES and the role; 0 for all others.
ROLES = 8
BEGINS, ENDS, POLLS, WAITS = range(1, 5)


def role(names: Sequence[str], name: str, which: int) -> int:
    """Return the value of ``polled`` for an operation that has a role in the part of this name."""
    return ROLES * names.index(name) + which


def polls_of(segment: Segment, rank: Int32s) -> Polls | None:
    """Return what the polls of a program poll: the part of their rank begun last under this name, until its wait."""
    polled = segment.fields.get("polled")
    if polled is None or not polled.any():
        return None
    operations = np.flatnonzero(polled)
    count = len(polled)
    part, end, receive = (np.full(count, NONE, np.int32) for _ in range(3))
    polls = Polls(part, end, receive, np.zeros(count, bool))
    names, roles = polled[operations] // ROLES, polled[operations] % ROLES
    for name in np.unique(names):
        same = names == name
        _find(operations[same], roles[same], segment.first[rank[operations[same]]], polls)
    kind, begins = segment.fields["kind"], operations[roles == BEGINS]
    first = begins + 1 + (kind[begins + 1] == HELD)
    receive[begins] = np.where(kind[first] == RECEIVE, first, NONE)
    return polls


def _find(ops: Int64s, roles: NDArray[np.int16], first: Int64s, polls: Polls) -> None:
    """Enter the polls of one name; ``first``: (len(ops),) first operation of the rank of each."""
    begins, waits = _latest(ops, roles == BEGINS, first), _latest(ops, roles == WAITS, first)
    ends = roles == ENDS
    polls.end[begins[ends]] = ops[ends]
    waited = np.concatenate([[NONE], waits[:-1]])  # before this operation
    asks = ((roles == POLLS) | (roles == WAITS)) & (begins != NONE) & (begins > waited)
    polls.part[ops[asks]] = begins[asks]
    polls.waits[ops[asks & (roles == WAITS)]] = True


def _latest(ops: Int64s, chosen: NDArray[np.bool_], first: Int64s) -> Int64s:
    """Return the last chosen operation up to each, NONE if its rank has none."""
    latest = np.maximum.accumulate(np.where(chosen, ops, NONE))
    return np.where(latest >= first, latest, NONE)
