"""Sweep3D: the wavefront model of Hoisie, Lubeck and Wasserman, and the one of Sundaram-Stukel, Vernon, Mudalige and Jarvis."""

from __future__ import annotations

from simcodesign.describe.yaml.files import load_machine

from .formula_cases import FormulaRuns, formula_case

HOISIE = "Hoisie, Lubeck and Wasserman, IJHPCA 14 (2000)"
PLUG_AND_PLAY = "Mudalige, Vernon and Jarvis, IPDPS 2008; Sundaram-Stukel and Vernon, PPoPP 1999"
LEFT_OUT = "left out of the formula"

#: torus-cluster where a receive takes as long as a send.
BOTH_ENDS = load_machine("torus-cluster", {"network.receive_overhead": "2 us"})
ONE = {"iterations": 1}
GRIDS = {16: {"P": 16, "px": 4}, 64: {"P": 64, "px": 8}}
SHORT = ONE | {"planes": 100}

CASES = (
    formula_case(
        "wavefront/overlapping-corners",
        "An iteration is two diagonal and two full fills of the pipeline, and eight stacks of blocks.",
        FormulaRuns("sweep3d", "plug_and_play", "torus-cluster", GRIDS, constants=ONE),
        source=PLUG_AND_PLAY,
        axis="P",
    ),
    formula_case(
        "wavefront/receives",
        "The same where a receive takes as long as a startup.",
        FormulaRuns("sweep3d", "plug_and_play", BOTH_ENDS, {16: GRIDS[16]}, constants=SHORT),
        source=PLUG_AND_PLAY,
        axis="P",
    ),
    formula_case(
        "wavefront/few-large-blocks",
        "The same with 200 planes in a block, on 64 processes.",
        FormulaRuns(
            "sweep3d", "plug_and_play", "torus-cluster", {64: GRIDS[64]}, constants=ONE | {"mk": 200, "mmi": 6}
        ),
        source=PLUG_AND_PLAY,
        axis="P",
        fails="large messages of one wavefront meet on the links of the torus",
        largest="links",
    ),
    formula_case(
        "wavefront/large-blocks",
        "A sweep is px + py - 1 stages and one for each further block; messages come to two of them and four.",
        FormulaRuns(
            "sweep3d", "pipeline", "torus-cluster", {16: GRIDS[16]}, constants=ONE | {"columns_x": 50, "columns_y": 50}
        ),
        source=HOISIE,
        axis="P",
        quick=False,
    ),
    formula_case(
        "wavefront/small-blocks",
        "The same with 5 x 5 columns of cells.",
        FormulaRuns("sweep3d", "pipeline", "torus-cluster", GRIDS, constants=ONE),
        source=HOISIE,
        axis="P",
        fails="here a receive costs nothing, corners overlap, and only one message of two is on the longest path",
        largest=LEFT_OUT,
    ),
)
