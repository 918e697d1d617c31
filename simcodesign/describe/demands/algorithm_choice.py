"""``algorithm: auto``: which algorithm a collective operation takes, by its ranks and its bytes.

The rules are those of MPICH: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations
in MPICH", IJHPCA 19 (2005), section 4, with the bounds that MPICH has as defaults of its control variables
(``MPIR_CVAR_BCAST_SHORT_MSG_SIZE`` and others): 12288 bytes and 8 ranks of a broadcast, 2048 bytes of an allreduce,
81920 and 524288 bytes of an allgather in all, 256 and 32768 bytes of an all-to-all to each rank, 524288 of a
reduce-scatter. There, a reduce beyond 2048 bytes is a reduce-scatter and a gather, which is no algorithm here, and a
broadcast of 12288 to 524288 bytes among 2^k ranks gathers by recursive doubling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.expressions.expression import parse
from simcodesign.core.units import FloatOrArray

#: Stands for the algorithm that the rules choose.
AUTO = "auto"
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """An algorithm, and the ``condition`` on which it is taken: on P ranks and n, the ``bytes`` of the operation."""

    algorithm: str
    condition: str = "1"

    def holds(self, ranks: FloatOrArray, size_bytes: FloatOrArray) -> Bools:
        """Where it holds."""
        shape = np.broadcast_shapes(np.shape(ranks), np.shape(size_bytes))
        value = parse(self.condition).evaluate({"P": np.float64(ranks), "n": np.float64(size_bytes)})
        return np.broadcast_to(np.asarray(value) != 0, shape)


#: By operation; of several rules that hold the first one counts.
RULES: Mapping[str, tuple[Rule, ...]] = {
    "broadcast": (Rule("binomial", "max(n < 12288, P < 8)"), Rule("scatter_allgather")),
    "reduce": (Rule("binomial"),),
    "scatter": (Rule("binomial"),),
    "gather": (Rule("binomial"),),
    "allreduce": (Rule("recursive_doubling", "n <= 2048"), Rule("rabenseifner")),
    "reduce_scatter": (Rule("recursive_halving", "n < 524288"), Rule("pairwise")),
    "scan": (Rule("recursive_doubling"),),
    "allgather": (
        Rule("recursive_doubling", "(n * P < 524288) * (log2(P) % 1 == 0)"),
        Rule("bruck", "n * P < 81920"),
        Rule("ring"),
    ),
    "all_to_all": (Rule("bruck", "(n <= 256) * (P >= 8)"), Rule("linear", "n <= 32768"), Rule("pairwise")),
    "all_broadcast": (Rule("linear"),),
    "barrier": (Rule("dissemination"),),
}


def chosen_algorithms(operation: str, ranks: FloatOrArray, size_bytes: FloatOrArray) -> list[tuple[str, Bools]]:
    """The algorithms that are taken for any of these ranks and bytes, and where each is."""
    rules = RULES[operation]
    which = np.argmax([rule.holds(ranks, size_bytes) for rule in rules], axis=0)
    every = [(rule.algorithm, np.asarray(which == number)) for number, rule in enumerate(rules)]
    return [(algorithm, where) for algorithm, where in every if where.any()]
