"""The footprint of an operation with messages: the bytes of memory that a rank touches in all of it.

On a machine whose nodes have a ``memory`` for messages, messages of an operation with a larger footprint than a rank's
share of the cache pass through the memory of the node. It is the operation that counts, not the message: the blocks of
an all-to-all come from all over the buffers, so that no block is still in the cache when its turn comes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.base import Demand, Evaluate

#: From P, the n bytes that the demand states of a rank, and the bytes of all ranks together (P n if they are alike).
Form = Callable[[FloatOrArray, FloatOrArray, FloatOrArray], FloatOrArray]
#: Footprint by collective operation: what a rank reads and what it writes, in buffers of their own.
FORMS: dict[str, Form] = {
    "all_to_all": lambda ranks, own, total: ranks * own + total,  # n to every rank, n from every rank: 2 P n
    "allgather": lambda ranks, own, total: own + total,  # its own n, and the blocks of all: (P + 1) n
    "all_broadcast": lambda ranks, own, total: total,  # the blocks of all, its own in place
    "allreduce": lambda ranks, own, total: 2.0 * own,  # its own n, and the result
    "reduce": lambda ranks, own, total: 2.0 * own,  # its own n, and those that come, which it adds
    "reduce_scatter": lambda ranks, own, total: 2.0 * own,  # its own n, and the parts that come: all but a P-th of n
    "scan": lambda ranks, own, total: 2.0 * own,  # its own n, and the sum of those before
    "broadcast": lambda ranks, own, total: own,  # n are read from the receive buffer
    "scatter": lambda ranks, own, total: total,  # of the root, which has the blocks of all
    "gather": lambda ranks, own, total: total,
    "barrier": lambda ranks, own, total: 0.0 * own,  # signals have no bytes
}


def collective_footprint_bytes(
    operation: str, ranks: FloatOrArray, own_bytes: FloatOrArray, total_bytes: FloatOrArray | None = None
) -> FloatOrArray:
    """Return the bytes that a rank touches in a collective operation among ``ranks`` ranks: at the root, if it has one.

    ``own_bytes``: as the demand states them of a rank; ``total_bytes``: of all ranks together, None if they are
    alike. An operation of another package counts as 2 n: n to read and n to write.
    """
    total = ranks * own_bytes if total_bytes is None else total_bytes
    form = FORMS.get(operation)
    return 2.0 * own_bytes if form is None else form(ranks, own_bytes, total)


def exchange_footprint_bytes(
    sizes_bytes: list[FloatOrArray],
    messages: list[FloatOrArray],
    extents: list[FloatOrArray],
    periodic: bool,
) -> FloatOrArray:
    """Return the bytes that a rank touches in a halo exchange: what it sends to every neighbour, and as much from it.

    For each dimension: the bytes of a message, messages to each neighbour, ranks of the process grid. A rank inside a
    grid that is not ``periodic`` has most neighbours.
    """
    total: FloatOrArray = 0.0
    for size_bytes, count, extent in zip(sizes_bytes, messages, extents, strict=True):
        neighbours = np.where(np.asarray(extent) > 1, 2.0, 0.0) if periodic else np.minimum(np.asarray(extent) - 1, 2.0)
        total = total + 2.0 * size_bytes * count * neighbours
    return total


@dataclass(frozen=True)
class MessageDemand(Demand):
    """A demand of messages, whose ``footprint`` in bytes may be stated; None: by what the operation touches."""

    footprint: Expression | None = field(default=None, kw_only=True)

    @abstractmethod
    def touched_bytes(self, ranks: FloatOrArray, evaluate: Evaluate) -> FloatOrArray:
        """Return the bytes of memory that a rank touches, by the operation alone.

        ``ranks``: all ranks, or the ranks of the group that does it.
        """

    def footprint_bytes(self, ranks: FloatOrArray, evaluate: Evaluate) -> FloatOrArray:
        """Return the bytes of memory that a rank touches: as stated, otherwise by the operation."""
        if self.footprint is not None:
            return evaluate(self.footprint, "footprint")
        return self.touched_bytes(ranks, evaluate)

    def amounts(self) -> Iterator[Expression]:
        if self.footprint is not None:
            yield self.footprint
