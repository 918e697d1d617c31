"""Sends and receives of each rank in a collective operation, for all ranks together: the registry of algorithms.

Every registered function appends the columns of one algorithm for ``size_bytes`` per rank (or per pair of ranks).
Algorithms as in Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from simcodesign.core.errors import InputError
from simcodesign.core.registry import Registry
from simcodesign.describe.demands.collective import ENTRY_POINTS, Collective
from simcodesign.describe.machine import Machine

Writer = Callable[..., None]
WriterT = TypeVar("WriterT", bound=Writer)


@dataclass(frozen=True)
class Messages:
    """The messages of an algorithm: ``write(ranks, size_bytes)``, and at most how many of them P ranks send.

    If it has segments, ``write(ranks, size_bytes, segments)``, and as many of each. ``packs``: whether ranks copy
    blocks to pack or unpack them. ``most_on(P, machine)``: a smaller number for some machines.
    """

    write: Writer
    most: Callable[[int], int]
    packs: bool = False
    most_on: Callable[[int, Machine], int] | None = None

    def at_most(self, ranks: int, machine: Machine) -> int:
        """Return how many messages so many ranks of a machine send at most."""
        return self.most(ranks) if self.most_on is None else self.most_on(ranks, machine)


#: Messages by operation and algorithm.
MESSAGES: Registry[tuple[str, str], Messages] = Registry("collective algorithm", __name__, ENTRY_POINTS)


def register_messages(
    operation: str,
    algorithm: str,
    most: Callable[[int], int],
    *,
    packs: bool = False,
    most_on: Callable[[int, Machine], int] | None = None,
) -> Callable[[WriterT], WriterT]:
    """Return a decorator: the function writes the messages of this algorithm.

    P ranks send ``most(P)`` of them at most, or ``most_on(P, machine)``. ``packs``: they copy blocks to pack or unpack
    them.
    """

    def decorate(write: WriterT) -> WriterT:
        MESSAGES.add((operation, algorithm), Messages(write, most, packs, most_on))
        return write

    return decorate


def messages_of(step: Collective) -> Messages:
    """Return the messages of a demand. InputError if none are registered."""
    if step.key not in MESSAGES:
        what = "the messages of this algorithm are not known, so that it cannot be simulated"
        raise InputError(what, step.place, value=f"{step.name}: {step.algorithm}", allowed="forecast it")
    return MESSAGES[step.key]
