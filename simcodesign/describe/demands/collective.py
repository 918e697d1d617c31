"""Collective operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simcodesign.core.expression import Expression
from simcodesign.describe.demands.base import Demand

#: Collective operations and their algorithms, the default first.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "broadcast": ("binomial", "linear"),
    "allreduce": ("recursive_doubling", "ring", "reduce_broadcast"),
    "allgather": ("ring", "bruck", "linear"),
    "all_to_all": ("pairwise", "linear", "bruck"),
    "all_broadcast": ("linear",),
    "barrier": ("dissemination",),
}


@dataclass(frozen=True)
class Collective(Demand):
    """A collective operation of all ranks; ``bytes`` is the size that each rank contributes (to each partner)."""

    name: str
    algorithm: str
    bytes: Expression
    alike_on_all_ranks = True

    def amounts(self) -> Iterator[Expression]:
        yield self.bytes
