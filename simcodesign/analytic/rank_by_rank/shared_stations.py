"""Parts that ranks of a node share while messages are in flight: its memory, and its interfaces to the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Load(NamedTuple):
    """Number of concurrent messages at a part that a message passes.

    A memory controller of its node, or an interface of it.
    """

    memory: float = 0.0
    interface: float = 0.0


@dataclass(frozen=True)
class Shared:
    """The node, memory controller and interface of each member of groups.

    The ``node`` (G, n), its ``memory`` controller, by its number among all, and the ``interface`` by which messages of
    the member leave and reach its node: one, or ``parts`` that take them alternately. Interfaces send and receive at
    the same time if ``is_full_duplex``.
    """

    node: Ints
    memory: Ints
    interface: Ints
    parts: int = 1
    is_full_duplex: bool = True

    def loads(self, source: Ints, target: Ints) -> Floats:
        """(G, m, 2) the loads of concurrent messages between members (m,).

        Half of a message within a node loads the memory controller of either end.
        """
        is_inside = self.node[:, source] == self.node[:, target]
        ends = self.memory[:, source], self.memory[:, target]
        half = _count(ends[0][is_inside], self.memory) + _count(ends[1][is_inside], self.memory)
        of_memory = np.maximum(half[ends[0]], half[ends[1]]) / 2
        leaves, comes = self.interface[:, source], self.interface[:, target]
        left, came = (_count(side[~is_inside], self.interface) for side in (leaves, comes))
        if not self.is_full_duplex:
            left = came = left + came
        of_interface = np.maximum(left[leaves], came[comes]) / self.parts
        return np.stack([np.where(is_inside, of_memory, 0.0), np.where(is_inside, 0.0, of_interface)], axis=-1)


def _count(ends: Ints, units: Ints) -> NDArray[np.int64]:
    """How often each unit is one of the ends."""
    return np.bincount(ends.ravel(), minlength=int(units.max(initial=0)) + 1)
