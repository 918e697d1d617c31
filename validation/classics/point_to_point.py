"""A message to and fro: Hockney's time, his half-performance length, cut-through routing and LogGP."""

from __future__ import annotations

from simcodesign.studies.validation.case import Case

from .formula_cases import FormulaRuns, formula_case

HOCKNEY = "R. Hockney, Parallel Computing 20 (1994)"
GRAMA = "A. Grama, A. Gupta, G. Karypis, V. Kumar, Introduction to Parallel Computing, 2nd ed. (2003), section 2.5.1"
#: Bytes of a message: none, the half-performance length of crossbar-16, and many.
SIZES = (0, 1000, 10**6)


def _case(name: str, claim: str, formula: str, machine: str, source: str, **values: object) -> Case:
    at = {size: {"m": float(size), "turns": 3, **values} for size in SIZES if size or formula != "loggp"}
    runs = FormulaRuns("ping-pong", formula, machine, at)
    return formula_case(f"ping-pong/{name}", claim, runs, source=source, axis="bytes")


CASES: list[Case] = [
    _case("hockney", "A message takes its startup and its bytes.", "hockney", "crossbar-16", HOCKNEY, P=2),
    _case(
        "half-performance",
        "A message takes (m + n_1/2)/r_inf, with the size n_1/2 = t_s/t_w at which half of the bandwidth is reached.",
        "half_performance",
        "crossbar-16",
        HOCKNEY,
        P=2,
    ),
    _case(
        "cut-through-mesh",
        "From one corner of a 16 x 16 mesh to the other, 30 hops are paid once each, whatever the size.",
        "cut_through",
        "mesh-256",
        GRAMA,
        P=256,
        hops=30,
    ),
    _case(
        "cut-through-hypercube",
        "Between opposite corners of a hypercube of 256 nodes there are 8 hops.",
        "cut_through",
        "hypercube-256",
        GRAMA,
        P=256,
        hops=8,
    ),
    _case(
        "loggp",
        "A message takes 2o + L + (m - 1)G, above S as well: its sender has nothing else to do.",
        "loggp",
        "loggop-64",
        "A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, LogGP, SPAA 1995",
        P=2,
    ),
]
