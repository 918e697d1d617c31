"""Constants of simulated messages that are piecewise by their size: looked up by the bytes of each message."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.network.message_models.base import MessageModel
from simcodesign.describe.network.network import LocalMessages

#: Sizes that are the same except for rounding: three of 15 parts of 40 KiB are 8 KiB.
ROUNDING = 1e-12


def constant(part: MessageModel | LocalMessages, name: str, size_bytes: FloatOrArray) -> FloatOrArray:
    """Return the constant of messages of a size: of one message, or of each (n,).

    0 if the model has none of this name.

    A segment has the sizes above the end of the previous one, up to and including its own end. NaN for an unknown
    size, if the constant depends on it.
    """
    whole: FloatOrArray = getattr(part, name, 0.0)
    if not part.segments:
        return whole
    stated = [getattr(segment, name, 0.0) for segment in part.segments]
    values = np.array([whole if value is None else value for value in stated], dtype=np.float64)
    if (values == values[0]).all():
        return float(values[0])
    found = values[_number(part, size_bytes)]
    return np.where(np.isnan(size_bytes), np.nan, found) if found.ndim else _known(float(found), size_bytes)


def has_rendezvous(model: MessageModel, size_bytes: FloatOrArray) -> bool | NDArray[np.bool_]:
    """Whether senders of messages of a size wait for their receivers: beyond S, or by their segment."""
    if model.rendezvous_above_bytes is not None:
        return np.asarray(size_bytes) > model.rendezvous_above_bytes
    if not model.segments:
        return False
    waits = np.array([segment.rendezvous for segment in model.segments])
    return np.asarray(waits[_number(model, size_bytes)])


def _number(part: MessageModel | LocalMessages, size_bytes: FloatOrArray) -> NDArray[np.int64]:
    """Return the numbers of the segments, from 0 on, that have these sizes."""
    ends = np.array([segment.up_to_bytes for segment in part.segments[:-1]], dtype=np.float64)
    return np.asarray(np.searchsorted(ends * (1 + ROUNDING), size_bytes, side="left"))


def _known(value: float, size_bytes: FloatOrArray) -> float:
    return float("nan") if np.isnan(size_bytes) else value
