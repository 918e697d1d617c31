"""Trains: messages of an exchange that a simulation takes as one transfer, and where it may do so."""

from __future__ import annotations

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_parts import Network
from simcodesign.describe.workload import Exchange


def check_train(step: Exchange, train: FloatOrArray, network: Network) -> None:
    """InputError unless ``train`` is a whole number, at least 1, and 1 where a train is not the same as its messages.

    A train is received once. That is the same only where a receive takes no time, and where messages have no gaps.
    """
    place, value = step.train.place or step.place, np.asarray(train)
    bad = ~np.isfinite(value) | (value != np.floor(value)) | (value < 1)
    if np.any(bad):
        what = f"train = {step.train.text} is no number of messages"
        raise InputError(what, place, value=float(value[bad].flat[0]), allowed="a whole number, 1 or above")
    several = value > 1
    reason = None
    if np.any(several) and network.model != "hockney":
        reason = f"messages of the network model {network.model} have gaps and overheads of their own"
    elif np.any(several & (np.asarray(network.receive_overhead_s) != 0)):
        reason = "each message has a receive_overhead of its own, but a train is received once"
    if reason is not None:
        what = f"train = {step.train.text} cannot be used here: {reason}"
        raise InputError(what, place, value=float(value.max()), allowed="1, or Hockney's model with receive_overhead 0")
