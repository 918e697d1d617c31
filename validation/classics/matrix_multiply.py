"""Products of two matrices: where the run times of textbooks hold, and what explains it where they fail."""

from __future__ import annotations

from collections.abc import Mapping

from simcodesign.studies.validation.case import Label

from .formula_cases import FormulaRuns, formula_case

BOOK = "A. Grama, A. Gupta, G. Karypis, V. Kumar, Introduction to Parallel Computing, 2nd ed. (2003), section 8.2"
WATTS = "van de Geijn and Watts, SUMMA: Scalable universal matrix multiplication algorithm, Concurrency 9 (1997)"
LEFT_OUT, LINKS = "left out of the formula", "links"
HYPERCUBE, MESH, TORUS = "hypercube-256", "mesh-256", "torus-cluster"
SQUARES, CUBES = (4, 16, 64, 256), (8, 64)


def ranks_of_matrices(ranks: tuple[int, ...], n: int, **others: object) -> Mapping[Label, Mapping[str, object]]:
    """A point for each number of ranks, on matrices of n rows."""
    return {count: {"P": count, "n": n, **others} for count in ranks}


def rows_on(ranks: int, *rows: int) -> Mapping[Label, Mapping[str, object]]:
    """A point for each size of the matrices, on so many ranks."""
    return {n: {"P": ranks, "n": n} for n in rows}


CASES = (
    formula_case(
        "matrix-multiply/simple/hypercube",
        "Two all-to-all broadcasts of blocks on hypercubes of sqrt(P) processes: 2 (t_s log2 q + t_w n^2/P (q - 1)).",
        FormulaRuns("simple-matmul", "every_step", HYPERCUBE, ranks_of_matrices(SQUARES, 128)),
        source=f"{BOOK}.1, before lower orders are dropped",
        axis="P",
    ),
    formula_case(
        "matrix-multiply/simple/few-processes",
        "The same with lower orders dropped, t_s log2 P + 2 t_w n^2/sqrt(P), on four processes.",
        FormulaRuns("simple-matmul", "textbook", HYPERCUBE, ranks_of_matrices((4,), 128)),
        source=f"{BOOK}.1",
        axis="P",
        fails="a process sends itself nothing: of q blocks it receives q - 1, here one in place of two",
        largest=LEFT_OUT,
    ),
    formula_case(
        "matrix-multiply/simple/mesh",
        "The run time on a hypercube also holds on a mesh, where messages go through other nodes.",
        FormulaRuns("simple-matmul", "every_step", MESH, rows_on(256, 128, 256, 512)),
        source=f"{BOOK}.1, formula of a hypercube",
        axis="n",
        fails="recursive doubling sends i blocks over i links in each round, and i such messages share a link",
        largest=LINKS,
    ),
    formula_case(
        "matrix-multiply/cannon/hypercube",
        "Cannon's algorithm: 2 sqrt(P) messages of a block, alignment included.",
        FormulaRuns("cannon", "textbook", HYPERCUBE, ranks_of_matrices(SQUARES, 512)),
        source=f"{BOOK}.2",
        axis="P",
    ),
    formula_case(
        "matrix-multiply/cannon/mesh/small-blocks",
        "The same on a mesh without wraparound, with blocks of 4 x 4 to 16 x 16 numbers.",
        FormulaRuns("cannon", "textbook", MESH, rows_on(256, 64, 128, 256)),
        source=f"{BOOK}.2, of a mesh with wraparound",
        axis="n",
        fails="latencies of hops, which the formula has not: a rotation brings one block of each row back over 15 links",
        largest=LEFT_OUT,
        quick=False,
    ),
    formula_case(
        "matrix-multiply/cannon/mesh/large-blocks",
        "The same with blocks of 32 x 32 numbers.",
        FormulaRuns("cannon", "textbook", MESH, rows_on(256, 512)),
        source=f"{BOOK}.2, of a mesh with wraparound",
        axis="n",
        fails="the alignment counts as one message, and up to eight of a row want the same link in it",
        largest=LINKS,
    ),
    formula_case(
        "matrix-multiply/cannon/nodes-of-four",
        "The same on a torus in three dimensions whose nodes have four processes each.",
        FormulaRuns("cannon", "textbook", TORUS, rows_on(64, 128, 512, 1024)),
        source=f"{BOOK}.2, of a mesh with wraparound",
        axis="n",
        fails="processes of a node send over the same links, and neighbours of the process grid are not next to each other",
        largest=LINKS,
    ),
    formula_case(
        "matrix-multiply/dns/hypercube",
        "The algorithm of Dekel, Nassimi and Sahni: two messages, two broadcasts and a reduction, (2 + log2 P) messages "
        "of a block.",
        FormulaRuns("dns-matmul", "every_step", HYPERCUBE, ranks_of_matrices(CUBES, 128)),
        source=f"{BOOK}.3, before lower orders are dropped",
        axis="P",
    ),
    formula_case(
        "matrix-multiply/dns/log-p-messages",
        "The same as printed, with log2 P messages of a block.",
        FormulaRuns("dns-matmul", "textbook", HYPERCUBE, ranks_of_matrices(CUBES, 128)),
        source=f"{BOOK}.3",
        axis="P",
        fails="the two messages that bring the blocks to their planes are not small beside log2 P others",
        largest=LEFT_OUT,
    ),
    formula_case(
        "matrix-multiply/dns/mesh",
        "The run time on a hypercube also holds on a mesh.",
        FormulaRuns("dns-matmul", "every_step", MESH, rows_on(64, 128, 512)),
        source=f"{BOOK}.3, formula of a hypercube",
        axis="n",
        fails="broadcasts of all rows and columns, and reductions between planes, meet on the links of the mesh",
        largest=LINKS,
    ),
    formula_case(
        "matrix-multiply/summa/hypercube",
        "SUMMA with broadcasts by trees: 2 n/b log2 q messages of a panel, one panel after another.",
        FormulaRuns("summa", "tree", HYPERCUBE, ranks_of_matrices(SQUARES, 512, b=32)),
        source=WATTS,
        axis="P",
    ),
    formula_case(
        "matrix-multiply/summa/mesh",
        "The same on a mesh.",
        FormulaRuns("summa", "tree", MESH, {32: {"P": 256, "n": 512, "b": 32}}),
        source=WATTS,
        axis="b",
    ),
    formula_case(
        "matrix-multiply/summa/mesh/narrow-panels",
        "The same with panels of two and eight columns.",
        FormulaRuns("summa", "tree", MESH, {b: {"P": 256, "n": 512, "b": b} for b in (2, 8)}),
        source=WATTS,
        axis="b",
        fails="latencies of hops, which the formula has not, for each of many small messages",
        largest=LEFT_OUT,
        quick=False,
    ),
)
