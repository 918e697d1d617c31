"""Which algorithms Open MPI takes, and the libraries whose rules a machine may name.

The fixed decisions of Open MPI's component tuned, as Open MPI 2.0 to 4.0 have them (open-mpi/ompi,
``ompi/mca/coll/tuned/coll_tuned_decision_fixed.c``): measured on up to 64 nodes with Myrinet, for operators that
commute and more than one element. Bounds are in bytes and ranks, segments in bytes. Open MPI 4.1 and later have other
tables (``OPEN_MPI_4_1_RULES``), averages over measurements of several clusters by the package ompi-collectives-tuning.
Allgather, all-to-all and broadcast are the same since Open MPI 1.2 (commit afbd032f).

These differ from the library: its reduce-scatter by recursive halving folds ranks where P is no power of two; above
1 MiB per rank its ring of an allreduce goes in segments; its barrier has recursive doubling where P = 2^k; a gather by
``linear_synchronised`` has a first part of at most the segment, there of exactly the segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from simcodesign.describe.network.algorithm_choice import NCCL_RULES, RULES, Decisions, Rule

KIB = 1024.0
#: Rules by operation; the first rule that holds counts.
OPEN_MPI_RULES: Decisions = {
    "broadcast": (
        Rule("binomial_near", "n < 2048"),
        Rule("split_binary_tree", "n < 370728", KIB),
        Rule("chain", "P < 1.6134e-6*n + 2.1102", 128 * KIB),
        Rule("split_binary_tree", "P < 13", 8 * KIB),
        Rule("chain", "P < 2.3679e-6*n + 1.1787", 64 * KIB),
        Rule("chain", "P < 3.2118e-6*n + 8.7936", 16 * KIB),
        Rule("chain", segment_bytes=8 * KIB),
    ),
    "reduce": (
        Rule("linear", "(P < 8) * (n < 512)"),
        Rule("binomial", "max((P < 8) * (n < 20480), n < 2048)"),
        Rule("binomial", "P > 0.6016/1024*n + 1.3496", KIB),
        Rule("chain", "P > 0.0410/1024*n + 9.7128", KIB),
        Rule("interleaved_binary_tree", "P > 0.0422/1024*n + 1.1614", 32 * KIB),
        Rule("chain", "P > 0.0033/1024*n + 1.6761", 32 * KIB),
        Rule("chain", segment_bytes=64 * KIB),
    ),
    "scatter": (Rule("binomial", "(P > 10) * (n < 300)"), Rule("linear")),
    "gather": (
        Rule("linear_synchronised", "n > 92160", 32 * KIB),
        Rule("linear_synchronised", "n > 6000", KIB),
        Rule("binomial", "max(P > 60, (P > 10) * (n < 1024))"),
        Rule("linear"),
    ),
    "reduce_scatter": (
        Rule("recursive_halving", "max(n <= 12288, (n <= 262144) * (log2(P) % 1 == 0), P >= 0.0012*n + 8)"),
        Rule("ring"),
    ),
    "allreduce": (Rule("recursive_doubling", "n < 10000"), Rule("ring")),
    "allgather": (
        Rule("recursive_doubling", "(n * P < 50000) * (log2(P) % 1 == 0)"),
        Rule("bruck", "n * P < 50000"),
        Rule("neighbour_exchange", "P % 2 == 0"),
        Rule("ring"),
    ),
    "all_to_all": (Rule("bruck", "(n < 200) * (P > 12)"), Rule("linear", "n < 3000"), Rule("pairwise")),
}
_ALLREDUCES = {
    2: "reduce_broadcast",
    3: "recursive_doubling",
    4: "ring",
    5: "ring",
    6: "rabenseifner",
}
_ALLGATHERS = {2: "bruck", 3: "recursive_doubling", 4: "ring", 5: "neighbour_exchange"}
#: Upper bound of ranks of a row: upper bounds of bytes, and the number of the algorithm in the source.
_ALLREDUCE_4_1 = {
    4: {8: 4, 4096: 3, 8192: 4, 16384: 3, 65536: 4, 262144: 5, inf: 6},
    8: {16: 4, 8192: 3, inf: 6},
    16: {8192: 3, inf: 6},
    32: {64: 5, 4096: 3, inf: 6},
    64: {128: 5, inf: 6},
    128: {262144: 3, inf: 6},
    256: {131072: 2, 262144: 3, inf: 6},
    512: {4096: 2, inf: 6},
    2048: {2048: 2, 16384: 3, inf: 6},
    4096: {2048: 2, 4096: 5, 16384: 3, inf: 6},
    inf: {2048: 2, 16384: 5, 32768: 3, inf: 6},
}
_ALLGATHER_4_1 = {
    32: {inf: 3},
    64: {1024: 3, 65536: 5, inf: 4},
    128: {512: 3, 65536: 5, inf: 4},
    256: {512: 3, 131072: 5, 524288: 4, 1048576: 5, inf: 4},
    512: {32: 3, 128: 2, 1024: 3, 131072: 5, 524288: 4, 1048576: 5, inf: 4},
    1024: {64: 3, 256: 2, 2048: 3, inf: 5},
    2048: {4: 3, 8: 2, 16: 3, 32: 2, 256: 3, 512: 2, 4096: 3, inf: 5},
    4096: {32: 2, 128: 3, 512: 2, 4096: 3, inf: 5},
    inf: {2: 3, 8: 2, 16: 3, 512: 2, 4096: 3, inf: 5},
}


def _rules(table: Mapping[float, Mapping[float, int]], names: Mapping[int, str]) -> tuple[Rule, ...]:
    """Return a table as rules: a row and a column hold that no earlier one holds for."""
    return tuple(
        Rule(
            names[number],
            " * ".join(f"({name} < {end})" for name, end in (("P", ranks), ("n", size)) if end < inf) or "1",
        )
        for ranks, columns in table.items()
        for size, number in columns.items()
    )


#: The rules of Open MPI 4.1 and later for what is an algorithm here. Its ring in segments of no size is the ring, and
#: its reduction and broadcast of an allreduce go by whatever it takes for these.
OPEN_MPI_4_1_RULES: Decisions = {
    "allreduce": _rules(_ALLREDUCE_4_1, _ALLREDUCES),
    "allgather": _rules(_ALLGATHER_4_1, _ALLGATHERS),
}
#: The rules that a machine may have for ``auto``, by the name of a library.
LIBRARIES: Mapping[str, Decisions] = {
    "mpich": RULES,
    "nccl": NCCL_RULES,
    "open_mpi": OPEN_MPI_RULES,
    "open_mpi_4_1": OPEN_MPI_4_1_RULES,
}
