"""Collective demands of a workload, and the names of the algorithms that there are for each operation.

An algorithm is added in three places, by three calls with the same names: ``register_algorithm`` makes it known to
workload files, ``register_messages`` (generate/messages/collectives/algorithm_messages.py) says what each rank sends
and receives in a simulation, ``register_algorithm_form`` (analytic/collectives/algorithm_form.py) all that the forecast
knows of it.
Other packages put the three calls into a module and name it as an entry point::

    [project.entry-points."simcodesign.collectives"]
    chain = "chain_broadcast.algorithm"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simcodesign.core.expressions.expression import Expression
from simcodesign.core.registry import Registry
from simcodesign.describe.demands.base import Demand

#: Where other packages name the modules that register algorithms.
ENTRY_POINTS = "simcodesign.collectives"
#: Collective operations and their algorithms, the default first.
ALGORITHMS: Registry[str, list[str]] = Registry("collective operation", __name__, ENTRY_POINTS)
ALGORITHMS.add("broadcast", ["binomial", "binomial_nearest_first", "linear"])
ALGORITHMS.add("allreduce", ["recursive_doubling", "ring", "reduce_broadcast"])
ALGORITHMS.add("allgather", ["ring", "bruck", "linear"])
ALGORITHMS.add("all_to_all", ["pairwise", "linear", "bruck"])
ALGORITHMS.add("all_broadcast", ["linear"])
ALGORITHMS.add("barrier", ["dissemination"])
#: Operations that only signal: no rank contributes any bytes.
SIGNALS = frozenset({"barrier"})


def register_algorithm(operation: str, algorithm: str) -> None:
    """Make an algorithm known to workload files; the first one of a new operation is its default."""
    if operation not in ALGORITHMS:
        ALGORITHMS.add(operation, [])
    if algorithm not in ALGORITHMS[operation]:
        ALGORITHMS[operation].append(algorithm)


@dataclass(frozen=True)
class Collective(Demand):
    """A collective operation of all ranks; ``bytes`` is the size that each rank contributes (to each partner)."""

    name: str
    algorithm: str
    bytes: Expression
    alike_on_all_ranks = True

    @property
    def key(self) -> tuple[str, str]:
        """Operation and algorithm, under which both readings know it."""
        return self.name, self.algorithm

    @property
    def label(self) -> str:
        return f"{self.name} ({self.algorithm.replace('_', ' ')})"

    def amounts(self) -> Iterator[Expression]:
        yield self.bytes
