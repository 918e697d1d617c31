"""The model of High Performance Linpack, of its dominant terms and summed over panels."""

from __future__ import annotations

from .formula_cases import FormulaRuns, formula_case

SOURCE = "Petitet, Whaley, Dongarra and Cleary, HPL, netlib.org/benchmark/hpl/scalability.html"
LEFT_OUT = "left out of the formula"
#: No look-ahead, and as many rows and columns for every process, as in the model.
ONE_BY_ONE = {"lookahead": 0, "layout": 0}

CASES = (
    formula_case(
        "linpack/by-panel",
        "The factorisation of panels, the updates and one message of each broadcast follow one another.",
        FormulaRuns(
            "hpl",
            "by_panel",
            "torus-cluster",
            {
                "2 x 2, n = 4000": {"P": 4, "q": 2, "n": 4000},
                "2 x 2, n = 8000": {"P": 4, "q": 2},
                "2 x 8, n = 4000": {"P": 16, "q": 8, "n": 4000},
            },
            constants=ONE_BY_ONE,
        ),
        source=SOURCE,
    ),
    formula_case(
        "linpack/by-panel/one-column",
        "The same on a process grid of one column.",
        FormulaRuns("hpl", "by_panel", "torus-cluster", {"16 x 1": {"P": 16, "q": 1, "n": 4000}}, constants=ONE_BY_ONE),
        source=SOURCE,
        fails="in every round of a swap others wait for the process of the diagonal, and rows meet on the links of the torus",
        largest="dependencies and waiting",
    ),
    formula_case(
        "linpack/by-panel/look-ahead",
        "The same with look-ahead.",
        FormulaRuns(
            "hpl", "by_panel", "torus-cluster", {"4 x 4": {"P": 16, "n": 4000}}, constants={"lookahead": 1, "layout": 0}
        ),
        source=SOURCE,
        fails="the factorisation of the next panel and its broadcast go on beside the update",
        largest=LEFT_OUT,
    ),
    formula_case(
        "linpack/dominant",
        "Only the dominant terms in gamma, beta and alpha matter.",
        FormulaRuns("hpl", "dominant", "torus-cluster", {"2 x 2": {"P": 4, "q": 2}}, constants=ONE_BY_ONE),
        source=SOURCE,
    ),
    formula_case(
        "linpack/dominant/small-problem",
        "The same with 4000 rows, on 4 x 4 and 2 x 8 processes.",
        FormulaRuns(
            "hpl",
            "dominant",
            "torus-cluster",
            {"4 x 4": {"P": 16, "n": 4000}, "2 x 8": {"P": 16, "q": 8, "n": 4000}},
            constants=ONE_BY_ONE,
        ),
        source=SOURCE,
        fails="the flops of panels and triangular solves, b n^2 (1/p + 1/q)/2, are no small part",
        largest=LEFT_OUT,
    ),
)
