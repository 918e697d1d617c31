"""``algorithm: auto`` and ``nccl``: which algorithm a collective operation takes, by its ranks and its bytes.

A machine may have rules of its own for ``auto`` (its key ``collectives``): a decision table, or the rules of a library.

The rules of ``auto`` are MPICH's: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective
Communication Operations in MPICH", IJHPCA 19 (2005), section 4, with the bounds that MPICH has as defaults of its
control variables (``MPIR_CVAR_BCAST_SHORT_MSG_SIZE`` and others): 12288 bytes and 8 ranks of a broadcast, 2048 bytes of
an allreduce, 81920 and 524288 bytes of an allgather in all, 256 and 32768 bytes of an all-to-all to each rank, 524288
of a reduce-scatter. There, a reduce beyond 2048 bytes is a reduce-scatter and a gather, which is no algorithm here, and
a broadcast of 12288 to 524288 bytes among 2^k ranks gathers by recursive doubling.

The rules of ``nccl`` for an allreduce are where NCCL's own model of latency and bandwidth (NVIDIA/nccl, commit
01afd20a, ``src/graph/tuning.cc``) gives the fastest protocol of its tree less time than of its ring, evaluated at
powers of two for nodes of 8 A100, whose rings have 192 GB/s between more than two nodes and 235 GB/s on one or two.
That is an approximation: NCCL measures the machine, and later versions have other constants. A reduce-scatter and an
allgather have the ring alone there; sends and receives of an all-to-all are posted together.

The rules of Open MPI are in ``open_mpi_rules``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.expressions.expression import parse
from simcodesign.core.units import FloatOrArray

#: Stand for the algorithm that rules choose: of an MPI library, and of NCCL.
AUTO, NCCL = "auto", "nccl"
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """An algorithm, and the ``condition`` on which it is taken: on P ranks and n, the ``bytes`` of the operation.

    It passes them on in the fewest equal parts of at most ``segment_bytes``, in one if that is None.
    """

    algorithm: str
    condition: str = "1"
    segment_bytes: float | None = None

    def holds(self, ranks: FloatOrArray, size_bytes: FloatOrArray) -> Bools:
        """Where it holds."""
        shape = np.broadcast_shapes(np.shape(ranks), np.shape(size_bytes))
        value = parse(self.condition).evaluate({"P": np.float64(ranks), "n": np.float64(size_bytes)})
        return np.broadcast_to(np.asarray(value) != 0, shape)


#: Rules by operation; the first one that holds counts.
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


#: Maximum size that trees take in an allreduce among 2, 4 to 8, and 16 or more nodes of 8 ranks each.
_NCCL_TREES = "(P > 8)*where(P <= 16, n <= 32768, where(P < 128, n <= 131072*P, n <= 262144*P))"
#: Rules of NCCL.
NCCL_RULES: Mapping[str, tuple[Rule, ...]] = {
    "allreduce": (Rule("double_tree", _NCCL_TREES), Rule("ring_channels")),
    "reduce_scatter": (Rule("ring_channels"),),
    "allgather": (Rule("ring_channels"),),
    "all_to_all": (Rule("linear"),),
}
#: Rules by their name in a demand.
ALL_RULES: Mapping[str, Mapping[str, tuple[Rule, ...]]] = {AUTO: RULES, NCCL: NCCL_RULES}
#: The rules that a machine may have for ``auto``: by operation, and by the name of a library.
Decisions = Mapping[str, tuple[Rule, ...]]


def chosen_rules(rules: Sequence[Rule], ranks: FloatOrArray, size_bytes: FloatOrArray) -> list[tuple[Rule, Bools]]:
    """Return the rules that hold first for any of these ranks and bytes, and a mask for each."""
    which = np.argmax([rule.holds(ranks, size_bytes) for rule in rules], axis=0)
    every = [(rule, np.asarray(which == number)) for number, rule in enumerate(rules)]
    return [(rule, where) for rule, where in every if where.any()]
