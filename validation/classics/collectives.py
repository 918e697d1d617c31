"""Published costs of collective operations: where they hold in the simulation with all effects, and what they leave out.

Sources: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005); E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, CCPE
19 (2007); J. Pjesivac-Grbovic et al., Cluster Computing 10 (2007); R. Hockney, Parallel Computing 20 (1994). The formulas
are those of the workload collective-costs.
"""

from __future__ import annotations

from simcodesign.studies.validation.case import Case

from .formula_cases import FormulaRuns, formula_case

THAKUR = "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005), as also in the comments of MPICH's algorithms"
CHAN = "E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, CCPE 19 (2007), lower bounds"
PJESIVAC = (
    "J. Pjesivac-Grbovic et al., Cluster Computing 10 (2007), trees, chains and linear algorithms in Hockney's model"
)
HOCKNEY = "R. Hockney, Parallel Computing 20 (1994), messages one after another"
MEBIBYTE = float(2**20)


def points(*ranks: int, size: float = 65536.0) -> dict[int, dict[str, float]]:
    """Numbers of ranks, at one size of the whole vector."""
    return {count: {"P": count, "size": size} for count in ranks}


def words(phase: str) -> str:
    """A phase of the workload, in words."""
    return phase.replace("-", " ")


def costs(formula: str, machine: str, phase: str, at: dict[int, dict[str, float]], **constants: object) -> FormulaRuns:
    """A formula of one phase of collective-costs."""
    renamed = {name.replace("__", "."): value for name, value in constants.items()}
    return FormulaRuns("collective-costs", formula, machine, at, phase, constants=renamed)


# --- Where they hold ------------------------------------------------------------------------------------------------

CROSSBAR = {
    "thakur": (
        "broadcast-binomial",
        "broadcast-scatter-allgather",
        "reduce-binomial",
        "scatter-binomial",
        "gather-binomial",
        "allreduce-recursive-doubling",
        "allreduce-rabenseifner",
        "allreduce-reduce-broadcast",
        "reduce-scatter-recursive-halving",
        "reduce-scatter-pairwise",
        "allgather-ring",
        "allgather-recursive-doubling",
        "allgather-bruck",
        "all-to-all-bruck",
    ),
    "hockney": (
        "broadcast-chain",
        "broadcast-linear",
        "reduce-chain",
        "scatter-linear",
        "allreduce-ring",
        "reduce-scatter-ring",
        "scan-linear",
        "allgather-neighbour-exchange",
        "allgather-linear",
        "barrier-dissemination",
    ),
}
SOURCES = {"thakur": THAKUR, "hockney": f"{PJESIVAC}; {HOCKNEY}"}
#: Those whose partners are neighbours on a hypercube, or whose messages do not meet there.
HYPERCUBE = (
    "broadcast-binomial",
    "scatter-binomial",
    "gather-binomial",
    "allreduce-recursive-doubling",
    "allreduce-rabenseifner",
    "reduce-scatter-recursive-halving",
    "allgather-recursive-doubling",
    "all-to-all-bruck",
)
#: A binomial tree in order of ranks: no two of its messages meet on a mesh of rows.
TREES = ("broadcast-binomial", "scatter-binomial", "gather-binomial")

HOLD = [
    *(
        formula_case(
            f"collectives/crossbar/{phase}",
            f"On a crossbar, with time to combine, the published cost of {words(phase)} is that of its messages.",
            costs(formula, "crossbar-16", phase, points(4, 16), network__reduction_per_byte=5e-9),
            source=SOURCES[formula],
            axis="ranks",
        )
        for formula, phases in CROSSBAR.items()
        for phase in phases
    ),
    *(
        formula_case(
            f"collectives/hypercube/{phase}",
            f"On a hypercube of 16 and 64 nodes with 1 MiB, {words(phase)} takes what it costs on a crossbar: no two of its "
            "messages wait for each other, and hops are short against bytes.",
            costs("thakur", "hypercube-256", phase, points(16, 64, size=MEBIBYTE)),
            source=THAKUR,
            axis="ranks",
        )
        for phase in HYPERCUBE
    ),
    *(
        formula_case(
            f"collectives/mesh/{phase}",
            f"On a mesh of 16 columns with 1 MiB, {words(phase)} takes what it costs on a crossbar: its tree never uses a "
            "link twice at a time.",
            costs("thakur", "mesh-256", phase, points(16, 64, size=MEBIBYTE)),
            source=THAKUR,
            axis="ranks",
        )
        for phase in TREES
    ),
    formula_case(
        "collectives/torus/allgather-ring",
        "On a torus of 4 processors a node, a ring in order of ranks goes from node to node: links are shared by no two.",
        costs("thakur", "torus-cluster", "allgather-ring", points(64, size=MEBIBYTE)),
        source=THAKUR,
        axis="ranks",
    ),
    formula_case(
        "collectives/crossbar/broadcast-binary-tree",
        "Where a binary tree is full, its published cost is that of its messages.",
        costs("hockney", "crossbar-16", "broadcast-binary-tree", points(3, 7, 15)),
        source=PJESIVAC,
        axis="ranks",
    ),
    formula_case(
        "collectives/any-number/reduce-binomial",
        "Of any number of ranks a binomial reduce counts ceil(lg p) messages. Nothing keeps small subtrees from sending "
        "early, but the root's interface takes one message after another.",
        costs("thakur_any_p", "crossbar-16", "reduce-binomial", points(3, 7, 12)),
        source=THAKUR,
        axis="ranks",
    ),
    *(
        formula_case(
            f"collectives/bound/{phase}",
            f"With 64 MiB, {words(phase)} reaches the bound of bandwidth of its operation.",
            costs("lower_bound", "crossbar-16", phase, points(4, 16, size=64 * MEBIBYTE)),
            source=CHAN,
            axis="ranks",
        )
        for phase in (
            "scatter-binomial",
            "gather-binomial",
            "reduce-scatter-recursive-halving",
            "allgather-recursive-doubling",
            "allgather-ring",
            "allreduce-rabenseifner",
            "allreduce-ring",
        )
    ),
    formula_case(
        "collectives/bound/gather-linear",
        "A linear gather reaches the bound of bandwidth, since the root's interface takes one message after another. The "
        "forecast, in which the root takes all messages at once, is below the bound: a third of it among 4 ranks.",
        costs("lower_bound", "crossbar-16", "gather-linear", points(4, 16, size=MEBIBYTE)),
        source=CHAN,
        axis="ranks",
    ),
]

# --- Where they fail, and why ---------------------------------------------------------------------------------------

#: On a mesh of 16 columns: partners that are far apart use links together.
MEET = (
    "allreduce-recursive-doubling",
    "allreduce-rabenseifner",
    "reduce-scatter-recursive-halving",
    "reduce-scatter-pairwise",
    "allgather-recursive-doubling",
    "allgather-bruck",
    "all-to-all-bruck",
    "all-to-all-pairwise",
)
LEFT_OUT = "left out of the formula"

FAIL = [
    *(
        formula_case(
            f"collectives/{kind}/{phase}",
            f"On a {kind} of 64 ranks with 1 MiB, {words(phase)} takes what it costs on a crossbar.",
            costs("thakur", machine, phase, points(64, size=MEBIBYTE)),
            source=THAKUR,
            axis="ranks",
            fails="The formula lets every pair exchange at full speed; here, messages of a round wait for links.",
            largest="links",
        )
        for kind, machine in (("mesh", "mesh-256"), ("torus", "torus-cluster"))
        for phase in MEET
    ),
    formula_case(
        "collectives/mesh/allgather-ring",
        "On a mesh with 1 MiB, a ring takes what it costs on a crossbar.",
        costs("thakur", "mesh-256", "allgather-ring", points(64, size=MEBIBYTE)),
        source=THAKUR,
        axis="ranks",
        fails="Each of its many steps crosses hops, which the formula leaves out against the derived model.",
        largest=LEFT_OUT,
    ),
    *(
        formula_case(
            f"collectives/own-part/{phase}",
            f"In the {words(phase)} a rank sends n bytes.",
            costs("thakur", "crossbar-16", phase, points(8, 16)),
            source=f"{THAKUR}, read with n as in all its other formulas, the bytes of all P parts",
            axis="ranks",
            fails="A rank keeps one of the P parts: the formula counts size/P bytes too many, 5 % of P = 16.",
            largest=LEFT_OUT,
        )
        for phase in ("all-to-all-pairwise", "all-to-all-linear")
    ),
    formula_case(
        "collectives/any-number/reduce-scatter-recursive-halving",
        "Reduce-scatter by recursive halving folds other numbers of ranks than powers of two onto one.",
        costs("thakur_any_p", "crossbar-16", "reduce-scatter-recursive-halving", points(3, 7, 12)),
        source=THAKUR,
        axis="ranks",
        fails="Here it does not fold: it is Bruck's allgather backwards, which needs neither the first step nor the last.",
        largest=LEFT_OUT,
    ),
    formula_case(
        "collectives/any-number/all-to-all-bruck",
        "Bruck's all-to-all among any number of ranks sends n/2 lg p bytes.",
        costs("thakur_any_p", "crossbar-16", "all-to-all-bruck", points(5, 12)),
        source=THAKUR,
        axis="ranks",
        fails="n/2 lg p is of powers of two: a rank sends as many parts as the numbers 1 to P - 1 have digits 1.",
        largest=LEFT_OUT,
    ),
    formula_case(
        "collectives/crossbar/all-broadcast-linear",
        "All ranks broadcast to all others in P - 1 messages of each.",
        costs("hockney", "crossbar-16", "all-broadcast-linear", points(8, 16)),
        source=HOCKNEY,
        axis="ranks",
        fails="All send to the ranks in the same order: those messages wait at one interface after another.",
        largest="interfaces",
    ),
    formula_case(
        "collectives/crossbar/scan-recursive-doubling",
        "A scan by recursive doubling combines n bytes in each of its rounds.",
        costs(
            "hockney",
            "crossbar-16",
            "scan-recursive-doubling",
            points(4, 16),
            network__reduction_per_byte=5e-9,
        ),
        source="By hand: an allreduce by recursive doubling, of which each rank keeps a part",
        axis="ranks",
        fails="The upper rank of a pair combines twice, into its result and into what it passes on.",
        largest=LEFT_OUT,
    ),
    formula_case(
        "collectives/bound/broadcast-binomial",
        "With 1 MiB, a binomial broadcast reaches the bound of bandwidth of its operation.",
        costs("lower_bound", "crossbar-16", "broadcast-binomial", points(4, 16, size=MEBIBYTE)),
        source=CHAN,
        axis="ranks",
        fails="It sends all bytes log2 P times: the tree is for short messages.",
        largest=LEFT_OUT,
    ),
]

CASES: list[Case] = [*HOLD, *FAIL]
