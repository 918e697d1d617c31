"""The laws of Amdahl and Gustafson: where they hold, and why they fail elsewhere."""

from __future__ import annotations

from .formula_cases import FormulaRuns, formula_case

AMDAHL = (
    "G. Amdahl, Validity of the single processor approach to achieving large scale computing capabilities, AFIPS Spring "
    "Joint Computer Conference (1967)"
)
GUSTAFSON = "J. Gustafson, Reevaluating Amdahl's law, Comm. ACM 31 (1988)"
LEFT_OUT = "left out of the formula"
HYPERCUBE, TORUS = "hypercube-256", "torus-cluster"
RANKS = (4, 16, 64, 256)
SCALED = {"size": "scaled"}

CASES = (
    formula_case(
        "laws/amdahl",
        "Of 1 s of work 1 % is serial: the time is s + (1 - s)/P of it.",
        FormulaRuns("serial-fraction", "amdahl", HYPERCUBE, {p: {"P": p, "flops": 1e8} for p in RANKS}),
        source=AMDAHL,
        axis="P",
    ),
    formula_case(
        "laws/amdahl/little-work",
        "Amdahl's law of 1 ms of work, of which 1 % is serial, on up to 256 processes.",
        FormulaRuns("serial-fraction", "amdahl", HYPERCUBE, {p: {"P": p, "flops": 1e5} for p in RANKS}),
        source=AMDAHL,
        axis="P",
        fails="handing out the serial result and collecting takes 2 log2 P messages, which grow where the law falls",
        largest=LEFT_OUT,
    ),
    formula_case(
        "laws/gustafson",
        "With 10 ms of work on each process, 1 % of it serial, the time stays as it is: the scaled speedup is s + (1 - s) P.",
        FormulaRuns(
            "serial-fraction", "gustafson", HYPERCUBE, {p: {"P": p, "flops": 1e6} for p in RANKS}, constants=SCALED
        ),
        source=GUSTAFSON,
        axis="P",
    ),
    formula_case(
        "laws/gustafson/noise",
        "The same with 125 ms of work in 100 turns, where computing takes 2 % more or less at random.",
        FormulaRuns(
            "serial-fraction",
            "gustafson",
            TORUS,
            {p: {"P": p, "flops": 1e9} for p in RANKS},
            constants={**SCALED, "stretches": 100},
        ),
        source=GUSTAFSON,
        axis="P",
        fails="in every turn all wait for the slowest process, and the more there are, the slower it is",
        largest="noise",
    ),
)
