"""Halo exchanges, and where a simulation may take some of their messages as one transfer: a train."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.machine_parts import Network


@dataclass(frozen=True)
class Exchange(Demand):
    """Halo exchange with both neighbours in each of ``dims`` dimensions of a process grid; ``bytes`` per dimension.

    ``messages`` of so many bytes go to each neighbour, by dimension (one if it is None). Up to ``train`` of them are
    simulated as one transfer.
    """

    dims: int
    bytes: tuple[Expression, ...]
    grid: tuple[Expression, ...] | None = None
    periodic: bool = True
    messages: tuple[Expression, ...] | None = None
    train: Expression = ONE
    alike_on_all_ranks = True

    @property
    def messages_by_dim(self) -> tuple[Expression, ...]:
        """Messages to each neighbour in every dimension."""
        return (ONE,) * self.dims if self.messages is None else self.messages

    def amounts(self) -> Iterator[Expression]:
        yield from self.bytes
        yield from self.grid or ()
        yield from (*(self.messages or ()), self.train)


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
