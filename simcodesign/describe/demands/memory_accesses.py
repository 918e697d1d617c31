"""Loads and stores as a demand describes them. ``served_accesses`` finds which cache serves them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from simcodesign.core.expressions.expression import Expression
from simcodesign.describe.demands.base import ONE, Demand
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.locality.profile import StackDistanceProfile

#: Caches as hardware counters tell them apart: the first, those between, and the last of two or more.
CACHE_ROLES = ("l1", "l2", "llc")


@dataclass(frozen=True)
class MemoryAccesses(Demand):
    """Loads and stores in memory, of which caches serve what their locality lets them.

    One of these describes their locality: a ``kernel`` with its ``sizes``, which ``times`` executions repeat; a
    measured ``profile``; ``distances``, pairs of a fraction of the accesses and its stack distance in elements of
    ``element_bytes``; or ``hits``, the measured share that each of ``CACHE_ROLES`` serves, whatever its size (the rest
    always goes to memory). ``accesses``: how many in all; None for those
    of the kernel or profile. ``blocking`` (BF_mem of hardware-counter models) is the part of the access times for which
    the processor stalls: None for one part in ``Memory.outstanding``. ``remote``: the fraction of the accesses to
    memory that go to other controllers of the node than the processor's own; None for the fraction of the machine's
    policy.
    """

    kernel: str = ""
    sizes: tuple[tuple[str, Expression | str], ...] = ()
    profile: StackDistanceProfile | None = field(default=None, repr=False)
    distances: tuple[tuple[Expression, Expression], ...] = ()
    hits: tuple[tuple[str, Expression], ...] = ()
    element_bytes: int = 8
    accesses: Expression | None = None
    times: Expression = ONE
    blocking: Expression | None = None
    remote: Expression | None = None
    varies: Distribution | None = None
    works_on = "memory"

    def amounts(self) -> Iterator[Expression]:
        yield from (size for _, size in self.sizes if isinstance(size, Expression))
        for pair in self.distances:
            yield from pair
        yield from (share for _, share in self.hits)
        yield from (part for part in (self.accesses, self.times, self.blocking, self.remote) if part is not None)
