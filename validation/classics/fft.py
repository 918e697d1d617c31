"""One-dimensional FFT: where the run times of binary exchange and transpose hold, and why they fail elsewhere."""

from __future__ import annotations

from .formula_cases import FormulaRuns, formula_case

BOOK = "A. Grama, A. Gupta, G. Karypis, V. Kumar, Introduction to Parallel Computing, 2nd ed. (2003), section 13"
LEFT_OUT, LINKS = "left out of the formula", "links"
HYPERCUBE, MESH = "hypercube-256", "mesh-256"
RANKS = (4, 16, 64, 256)

CASES = (
    formula_case(
        "fft/binary-exchange/hypercube",
        "Binary exchange: log2 P messages of all points of a process, each to a neighbour.",
        FormulaRuns("fft-binary-exchange", "hypercube", HYPERCUBE, {p: {"P": p, "n": 65536} for p in RANKS}),
        source=f"{BOOK}.2.1",
        axis="P",
    ),
    formula_case(
        "fft/binary-exchange/formula-of-a-hypercube-on-a-mesh",
        "The same on a mesh.",
        FormulaRuns("fft-binary-exchange", "hypercube", MESH, {2**k: {"P": 256, "n": 2**k} for k in (16, 18, 20)}),
        source=f"{BOOK}.2.1, formula of a hypercube",
        axis="n",
        fails="in step i up to 2^i messages want the same link",
        largest=LINKS,
    ),
    formula_case(
        "fft/binary-exchange/mesh/short-messages",
        "On a mesh, 2 sqrt(P) times the bytes of a process pass the most loaded links, with 16 points a process.",
        FormulaRuns("fft-binary-exchange", "mesh", MESH, {4096: {"P": 256, "n": 4096}}),
        source=f"{BOOK}.2.2",
        axis="n",
    ),
    formula_case(
        "fft/binary-exchange/mesh",
        "The same where bytes weigh more than startups.",
        FormulaRuns("fft-binary-exchange", "mesh", MESH, {2**k: {"P": 256, "n": 2**k} for k in (16, 18, 20)}),
        source=f"{BOOK}.2.2",
        axis="n",
        fails="the formula takes every step to last until its most loaded link is free, and rounds sqrt(P) - 1 up; the "
        "links, which our forecast has not, add less, as steps do not wait for one another",
        largest=LEFT_OUT,
    ),
    formula_case(
        "fft/transpose/hypercube",
        "Transpose: P - 1 messages, which are all points of a process together.",
        FormulaRuns("fft-transpose", "textbook", HYPERCUBE, {p: {"P": p, "n": 2**20} for p in (4, 16, 64)}),
        source=f"{BOOK}.3.1",
        axis="P",
    ),
    formula_case(
        "fft/transpose/short-messages",
        "The same on 256 processes, with 1 to 16 points a message.",
        FormulaRuns("fft-transpose", "textbook", HYPERCUBE, {2**k: {"P": 256, "n": 2**k} for k in (16, 18, 20)}),
        source=f"{BOOK}.3.1",
        axis="n",
        fails="latencies of hops, which the formula has not: four for each of 255 messages",
        largest=LEFT_OUT,
    ),
    formula_case(
        "fft/transpose/mesh",
        "The same on a mesh, with 64 points a message.",
        FormulaRuns("fft-transpose", "every_step", MESH, {2**22: {"P": 256, "n": 2**22}}),
        source=f"{BOOK}.3.1, formula of a hypercube",
        axis="n",
        fails="half of all points cross the middle of the mesh, over 16 links in each direction",
        largest=LINKS,
    ),
)
