"""Halo exchanges, and where a simulation may take some of their messages as one transfer: a train."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import MESSAGES, ONE, Evaluate, grid_error
from simcodesign.describe.demands.footprint import MessageDemand, exchange_footprint_bytes
from simcodesign.describe.network.network import Network
from simcodesign.describe.topology.grid_shape import balanced_shape


@dataclass(frozen=True)
class Exchange(MessageDemand):
    """Halo exchange with both neighbours in each of ``dims`` dimensions of a process grid; ``bytes`` per dimension.

    ``messages`` of this many bytes go to each neighbour, by dimension (one if it is None). Up to ``train`` of them are
    simulated as one transfer if that gives the same times (``take_trains``). The process grid covers each ``group``, if
    it names one.
    """

    dims: int
    bytes: tuple[Expression, ...]
    grid: tuple[Expression, ...] | None = None
    periodic: bool = True
    messages: tuple[Expression, ...] | None = None
    train: Expression = ONE
    group: str | None = None
    alike_on_all_ranks = True
    can_be_started = True
    uses_parts = MESSAGES

    @property
    def label(self) -> str:
        return f"exchange (halo{self.dims}d)" + ("" if self.group is None else f" in {self.group}")

    @property
    def messages_by_dim(self) -> tuple[Expression, ...]:
        """Messages to each neighbour in every dimension."""
        return (ONE,) * self.dims if self.messages is None else self.messages

    def sizes_bytes(self, evaluate: Evaluate) -> list[FloatOrArray]:
        """Bytes of a message in every dimension."""
        return [evaluate(size, "bytes") for size in self.bytes]

    def message_counts(self, evaluate: Evaluate) -> list[FloatOrArray]:
        """Messages to each neighbour in every dimension."""
        return [evaluate(count, "messages") for count in self.messages_by_dim]

    def extents(self, ranks: FloatOrArray, evaluate: Evaluate) -> list[FloatOrArray]:
        """Ranks in every dimension of the process grid: as written, or balanced."""
        if self.grid is None:
            return balanced_grid(ranks, self.dims)
        return [evaluate(extent, "grid") for extent in self.grid]

    def checked_extents(self, ranks: FloatOrArray, evaluate: Evaluate) -> list[FloatOrArray]:
        """Return the extents. InputError unless these are whole and their product is ``ranks``."""
        grid = self.extents(ranks, evaluate)
        whole = all(np.all(extent == np.floor(extent)) for extent in grid)
        if not (whole and np.all(functools.reduce(np.multiply, grid) == ranks)):
            raise grid_error(ranks, self.grid or (), grid, self.place)
        return grid

    def touched_bytes(self, ranks: FloatOrArray, evaluate: Evaluate) -> FloatOrArray:
        counts, extents = self.message_counts(evaluate), self.extents(ranks, evaluate)
        return exchange_footprint_bytes(self.sizes_bytes(evaluate), counts, extents, self.periodic)

    def amounts(self) -> Iterator[Expression]:
        yield from self.bytes
        yield from self.grid or ()
        yield from (*(self.messages or ()), self.train)
        yield from super().amounts()


def balanced_grid(ranks: FloatOrArray, dims: int) -> list[FloatOrArray]:
    """Extents of the balanced process grid of every number of ranks."""
    several, where = np.unique(ranks, return_inverse=True)
    shapes = np.array([balanced_shape(int(count), dims) for count in several], dtype=np.float64)
    return [shapes[where.reshape(np.shape(ranks)), dim] for dim in range(dims)]


def check_train(step: Exchange, train: FloatOrArray) -> None:
    """InputError unless ``train`` is a whole number, at least 1."""
    value = np.asarray(train)
    bad = ~np.isfinite(value) | (value != np.floor(value)) | (value < 1)
    if np.any(bad):
        what, place = f"train = {step.train.text} is no number of messages", step.train.place or step.place
        raise InputError(what, place, value=float(value[bad].flat[0]), allowed="a whole number, 1 or above")


def take_trains(levels: Sequence[Network]) -> bool:
    """Return whether a train is the same as its messages on all levels of a machine's networks.

    A train is received once, and it is one message of the packets that nodes store. It differs from its messages where
    these have gaps, or each a receive_overhead, or packets of their own that are stored.
    """
    return all(
        network.message_model.goes_in_trains
        and not network.message_model.has_receive_overhead
        and not (network.is_stored and np.isfinite(network.sharing.stored_bytes))
        for network in levels
    )
