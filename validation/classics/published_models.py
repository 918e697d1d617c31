"""SPECseis96 by its resource usage (Armstrong and Eigenmann), iterations of conjugate gradients (Bhatele et al.; Hendrickson,
Leland and Plimpton)."""

from __future__ import annotations

from simcodesign.describe.yaml.files import load_machine

from .formula_cases import FormulaRuns, formula_case

SEISMIC = "Armstrong and Eigenmann, SPECseis96, equations 1 to 4 and Tables 5 and 6"
T_ITER = "Bhatele et al., IPDPS 2011, T_setup and T_iter"
EXPAND_AND_FOLD = (
    "Hendrickson, Leland and Plimpton, Int. J. High Speed Computing 7 (1995), and dot products as in T_iter"
)
LEFT_OUT = "left out of the formula"

#: All messages to a neighbouring node are simulated as one transfer that pays every startup.
CG = {"train": 1e9}
ON_16 = {"P = 16": {"P": 16}}
ONE_DISK = load_machine("power-challenge", {"disk.spindles": 1})
TORUS_OF_64 = load_machine("exascale-cg", {"nodes": 64})

_SEISMIC_CASES = (
    formula_case(
        "resource-usage/power-challenge",
        "What a processor uses of itself, messages and disks, one after another, is the time that all of them need.",
        FormulaRuns("seismic", "usage", "power-challenge", {p: {"P": p} for p in (4, 8, 16)}),
        source=SEISMIC,
        axis="P",
    ),
    formula_case(
        "resource-usage/one-disk",
        "The disk time of a processor does not depend on what the others do.",
        FormulaRuns("seismic", "usage", ONE_DISK, ON_16, phase="stacking"),
        source=SEISMIC,
        fails="16 processors that read and write at the same time wait for one disk",
        largest="disks",
    ),
    formula_case(
        "resource-usage/tree",
        "The time of a message does not depend on the way that it goes.",
        FormulaRuns("seismic", "usage", "power-challenge-tree", ON_16, phase="depth-migration"),
        source=SEISMIC,
        fails="every hop repeats the startup, with the log P that the text announces and equation 3 does not have",
        largest=LEFT_OUT,
    ),
)

_CG_CASES = (
    *(
        formula_case(
            f"conjugate-gradients/{topology}",
            "A node pays for the messages of its cores on the surface, one after another, and waits for nothing else.",
            FormulaRuns("cg", "T_iter", f"exascale-cg-{topology}", {p: {"P": p} for p in (8, 64)}, constants=CG),
            source=T_ITER,
            axis="P",
        )
        for topology in ("hypercube", "fat-tree")
    ),
    formula_case(
        "conjugate-gradients/torus-of-its-size",
        "The same on a torus whose nodes lie as the blocks of the mesh do.",
        FormulaRuns("cg", "T_iter", TORUS_OF_64, {"P = 64": {"P": 64}}, constants=CG),
        source=T_ITER,
    ),
    formula_case(
        "conjugate-gradients/row-of-a-torus",
        "The same on 64 nodes in a row of a torus of 128 x 128 x 64.",
        FormulaRuns("cg", "T_iter", "exascale-cg", {"P = 64": {"P": 64}}, constants=CG),
        source=T_ITER,
        fails="blocks that are neighbours in y and z are many hops apart, and their messages share the links of the row",
        largest="links",
    ),
    formula_case(
        "conjugate-gradients/merged-messages",
        "The same where all that goes to a neighbouring node is one message.",
        FormulaRuns(
            "cg", "T_iter", "exascale-cg-hypercube", {"P = 64": {"P": 64}}, constants={"aggregated": 1, "train": 1}
        ),
        source=T_ITER,
        fails="it charges a startup for each of the S cores on the surface, where each neighbouring node costs one",
        largest=LEFT_OUT,
    ),
    formula_case(
        "conjugate-gradients/large-cubes",
        "With a core on a node, an iteration takes its flops, both reductions, and the shared values twice.",
        FormulaRuns(
            "cg-iteration",
            "T_iter",
            "torus-cluster",
            {f"{edge}^3, P = {p}": {"P": p, "n_i": edge**3} for edge in (65, 129) for p in (8, 64)},
        ),
        source=T_ITER,
    ),
    formula_case(
        "conjugate-gradients/small-cubes",
        "The same with the 17^3 degrees of freedom of the paper.",
        FormulaRuns(
            "cg-iteration", "T_iter", "torus-cluster", {f"17^3, P = {p}": {"P": p, "n_i": 17**3} for p in (8, 64)}
        ),
        source=T_ITER,
        fails="reductions by recursive doubling take half the messages, and the completion of dot products sends nothing here",
        largest=LEFT_OUT,
    ),
)

_GRID_CASES = (
    formula_case(
        "expand-and-fold/many-entries",
        "Expanding and folding take log2(P) messages, of n (sqrt(P) - 1)/P values each way.",
        FormulaRuns(
            "cg-2d",
            "expand_and_fold",
            "hypercube-256",
            {p: {"P": p} for p in (16, 64)},
            constants={"entries": 2000, "iterations": 2},
        ),
        source=EXPAND_AND_FOLD,
        axis="P",
    ),
    formula_case(
        "expand-and-fold/few-entries",
        "The same with 27 entries in a row, on a torus.",
        FormulaRuns(
            "cg-2d", "expand_and_fold", "torus-cluster", {p: {"P": p} for p in (16, 64)}, constants={"iterations": 2}
        ),
        source=EXPAND_AND_FOLD,
        axis="P",
        fails="messages of different rows, columns and of the transpose meet on the links of the torus",
        largest="links",
    ),
)

CASES = (*_SEISMIC_CASES, *_CG_CASES, *_GRID_CASES)
