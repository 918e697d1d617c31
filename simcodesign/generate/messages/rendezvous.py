"""Senders that wait for their receivers, in Hockney's model: messages above S bytes (``network.S``).

A sender is held as by any message. What comes after the messages that were posted together with this one then waits
until its receiver takes it up: when it has arrived and its receive is the receiver's turn. LogGOPS has rules of its
own.
"""

from __future__ import annotations

import numpy as np

from simcodesign.generate.dependencies import Dependencies, with_edges
from simcodesign.generate.plan import NONE, Int32s
from simcodesign.generate.segment import Segment


def with_rendezvous(
    others: Dependencies | None, segment: Segment, rank: Int32s, match: Int32s
) -> tuple[Dependencies, Int32s | None]:
    """Return the dependencies of a program with those of rendezvous.

    From the beginning of each receive above S to what waits for its send; and of sends to a mailbox, whose receives are
    not known before the simulation, what waits for them (``Plan.taken_by``).
    """
    sends = np.flatnonzero(segment.fields["rendezvous"])
    target = segment.first[rank[sends]] + segment.fields["until"][sends]
    boxed, taken_by = match[sends] == NONE, None
    if boxed.any():
        taken_by = np.full(len(match), NONE, np.int32)
        taken_by[sends[boxed]] = target[boxed]
    receives = match[sends[~boxed]].astype(np.int64)
    return with_edges(others, len(match), receives, target[~boxed], early=True), taken_by
