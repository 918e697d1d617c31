"""The constants of messages of one size, if the network's are piecewise by size, for closed forms.

Every closed form requests the price of a message by the bytes that it really sends, so that this is the only place
that handles segments: at one size, a network with segments is one without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.message_models.base import MessageModel, SizeSegment
from simcodesign.describe.network.network import LocalMessages, Network

#: A part of some bytes is as large as the end of a segment except for rounding.
ROUNDING = 1e-12


def at_size(network: Network, size_bytes: FloatOrArray) -> Network:
    """Return the network without segments whose messages all cost what messages of ``size_bytes`` do.

    There is one cost for every design point.
    """
    if not network.has_segments:
        return network
    model, changes = network.message_model, dict[str, Any]()
    if model.segments:
        changes["message_model"] = _model_at_size(model, size_bytes)
        if network.link_per_byte_s is None:
            changes["link_per_byte_s"] = model.least_s_per_byte
        if network.interfaces.per_byte_s is None:
            changes["interfaces"] = replace(network.interfaces, per_byte_s=model.least_s_per_byte)
    node, socket = (part and local_at_size(part, size_bytes) for part in (network.node, network.socket))
    return replace(network, node=node, socket=socket, **changes)


def _model_at_size(model: MessageModel, size_bytes: FloatOrArray) -> MessageModel:
    """Return the model of messages without segments."""
    segments, changes = model.segments, dict[str, Any]()
    for name, _ in model.constants_by_size().values():
        values = [getattr(segment, name) for segment in segments]
        common = getattr(model, name)  # the model's value, used if a segment has none
        changes[name] = _of_size([common if value is None else value for value in values], segments, size_bytes)
    if any(segment.rendezvous for segment in segments):
        waits = _of_size([float(segment.rendezvous) for segment in segments], segments, size_bytes)
        changes["rendezvous_above_bytes"] = np.where(np.asarray(waits) > 0, -1.0, np.inf)
    return replace(model, segments=(), **changes)


def local_at_size(part: LocalMessages, size_bytes: FloatOrArray) -> LocalMessages:
    """Messages within a node or a socket that all cost what messages of ``size_bytes`` do."""
    if not part.segments:
        return part
    startup_s = _of_size([segment.startup_s for segment in part.segments], part.segments, size_bytes)
    per_byte_s = _of_size([segment.per_byte_s for segment in part.segments], part.segments, size_bytes)
    return LocalMessages(startup_s, per_byte_s)


def _of_size(values: Sequence[FloatOrArray], segments: Sequence[SizeSegment], size_bytes: FloatOrArray) -> FloatOrArray:
    """Return the value of the segment to which this many bytes belong.

    A message of ``up_to`` bytes still belongs to it.
    """
    ends = [np.asarray(size_bytes <= segment.up_to_bytes * (1 + ROUNDING)) for segment in segments[:-1]]
    if not ends:
        return values[-1]
    *inner, last = np.broadcast_arrays(*ends, *values)
    chosen: NDArray[np.float64] = np.select(inner[: len(ends)], inner[len(ends) :], last)
    return chosen if chosen.ndim else float(chosen)
