"""Senders that wait for their receivers, in Hockney's model: messages above S bytes (``network.S``).

A sender is held as by any message. What comes after the messages that were posted together with this one then waits
until its receiver takes it up: when it is there and its receive is the receiver's turn. LogGOPS has rules of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.generate.dependencies import Dependencies
from simcodesign.generate.plan import NONE, Int32s
from simcodesign.generate.programs.segment import Segment


def with_rendezvous(
    others: Dependencies | None, segment: Segment, rank: Int32s, match: Int32s, place: Place
) -> Dependencies:
    """The dependencies of a program with those from the beginning of each receive above S to what waits for its send.

    InputError for such a message to a receive from anyone, which is not known before the simulation.
    """
    sends = np.flatnonzero(segment.fields["rendezvous"])
    receives: NDArray[np.int64] = match[sends].astype(np.int64)
    if (receives == NONE).any():
        what = "a message above network.S comes to a receive from anyone"
        allowed = "receives from named ranks, model: loggop, or no network.S"
        raise InputError(what, place, value=segment.fields["size_bytes"][sends[receives == NONE][0]], allowed=allowed)
    target = segment.first[rank[sends]] + segment.fields["until"][sends]
    early = np.ones(len(sends), bool)
    if others is None:
        follows_previous, none = np.ones(len(match), bool), np.full(len(match), NONE, np.int32)
        return Dependencies(follows_previous, receives, target, early, none, 0)
    return replace(
        others,
        source=np.concatenate([others.source, receives]),
        target=np.concatenate([others.target, target]),
        early=np.concatenate([others.early, early]),
    )
