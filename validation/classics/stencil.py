"""The 2-D 5-point stencil on one socket of Sandy Bridge: the Execution-Cache-Memory model and the roofline.

Stengel, Treibig, Hager and Wellein give cycles for the update of one line of 8 doubles. In the core, 8 loads of 32 bytes
take T_nOL = 8 cycles, 6 additions of 4 doubles T_OL = 6. Three lines go between two levels where the layer condition is
met, five where it is not: 2 cycles each between caches, 64 B x 2.7 GHz / 40 GB/s = 4.3 from memory. They are of a steady
state: here what a grid with more rows, or more sweeps, takes longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import simcodesign as sc
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..later import Later
from .formula_cases import FormulaRuns, formula_case

WORKLOAD, MACHINE = "stencil", "sandy-bridge"
ECM = (
    "H. Stengel, J. Treibig, G. Hager, G. Wellein, Quantifying performance bottlenecks of stencil computations using the "
    "Execution-Cache-Memory model, ICS 2015 (arXiv:1410.5010), 2-D Jacobi in double precision"
)
ROOFLINE = "S. Williams, A. Waterman, D. Patterson, Roofline, CACM 52(4), 2009"
CLOCK_HZ = 2.7e9
#: No constant of the machine is changed.
NONE: Mapping[str, float] = MappingProxyType({})
#: Where the layer condition is met -> grids in memory for which it is: points of a row, and fewer and more rows.
GRIDS = {"L1": (600, 6000, 12_000), "L2": (4000, 1000, 2000), "L3": (50_000, 60, 120), "nowhere": (800_000, 12, 22)}
#: Where a grid lies -> points of a row, rows, and fewer and more sweeps.
CACHED_GRIDS = {"in L1": (32, 32, 2, 4), "in L2": (100, 100, 2, 4), "in L3": (250, 300, 2, 4)}
#: Of the cases that look at several cores: large enough to be nearly steady.
LONG = {"n": 600, "rows": 6000, "sweeps": 3}
#: T_nOL, T_L1L2, T_L2L3 and T_L3Mem as published, in cycles.
CONTRIBUTIONS = {"L1": (8, 6, 6, 13), "L2": (8, 10, 6, 13), "L3": (8, 10, 10, 13), "nowhere": (8, 10, 10, 22)}
#: Constants of the machine behind each contribution.
TRANSFERS = ("caches.L1.per_byte", "caches.L2.per_byte", "caches.L3.per_byte", "memory.per_byte")
NAMES = ("T_nOL", "T_L1L2", "T_L2L3", "T_L3Mem")
#: The whole prediction, which is their sum; for grids in caches up to the transfers that there are.
TOTALS = {name: float(sum(parts)) for name, parts in CONTRIBUTIONS.items()} | {
    name: float(sum(CONTRIBUTIONS["L1"][:parts])) for parts, name in enumerate(CACHED_GRIDS, start=1)
}


def points(name: str) -> tuple[dict[str, float], dict[str, float]]:
    """The parameters of less and more work on the same caches."""
    if name in GRIDS:
        n, *every = GRIDS[name]
        less, more = ({"P": 1.0, "n": n, "rows": rows, "sweeps": 1} for rows in every)
    else:
        n, rows, *every = CACHED_GRIDS[name]
        less, more = ({"P": 1.0, "n": n, "rows": rows, "sweeps": sweeps} for sweeps in every)
    return less, more


def cycles(reading: str, name: str, constants: Mapping[str, float] = NONE) -> float:
    """For the update of one line more, by a reading; the simulation sends every access through the caches."""
    results = [
        sc.forecast(WORKLOAD, MACHINE, {**one, **constants})
        if reading == "forecast"
        else sc.simulate(WORKLOAD, MACHINE, {**one, **constants}, effects="caches")
        for one in points(name)
    ]
    less, more = ((float(one.makespan_s), float(one.values["lines"])) for one in results)
    return (more[0] - less[0]) * CLOCK_HZ / (more[1] - less[1])


def contribution(reading: str, name: str, path: str) -> float:
    """What one transfer takes alone: all others, and arithmetic, in no time."""
    return cycles(reading, name, {"processor.rate": 1e60} | {other: 0.0 for other in TRANSFERS if other != path})


def totals() -> Readings:
    """Cycles of every grid."""
    return Readings(
        forecast=Later({name: partial(cycles, "forecast", name) for name in TOTALS}),
        simulation=Later({name: partial(cycles, "simulation", name) for name in TOTALS}),
    )


def contributions() -> Readings:
    """Cycles of every transfer of the grids in memory."""

    def of(reading: str) -> Later:
        parts = zip(NAMES, TRANSFERS, strict=True)
        pairs = [(name, short, path) for short, path in parts for name in GRIDS]
        return Later({f"{short}, {name}": partial(contribution, reading, name, path) for name, short, path in pairs})

    return Readings(forecast=of("forecast"), simulation=of("simulation"))


CASES = [
    Case(
        name="classics/ecm-contributions",
        claim="Transfers of a line of updates take 2 cycles per line between caches, 4.3 from memory; three lines or five.",
        source=ECM,
        unit="cycles",
        expected={
            f"{short}, {name}": float(CONTRIBUTIONS[name][place]) for place, short in enumerate(NAMES) for name in GRIDS
        },
        tolerance=Tolerance("published as whole cycles", absolute=0.5),
        reading="both",
        measure=contributions,
        workload=WORKLOAD,
        machine=MACHINE,
        axis="transfer, and where the layer condition is met",
        quick=False,
    ),
    Case(
        name="classics/ecm",
        claim="The update of a line takes the sum of the transfers: 33 to 50 cycles from memory, 8 to 20 in caches.",
        source=ECM,
        unit="cycles",
        expected=TOTALS,
        tolerance=Tolerance("published as whole cycles", absolute=0.5),
        reading="both",
        measure=totals,
        workload=WORKLOAD,
        machine=MACHINE,
        axis="where the layer condition is met, or the grid lies",
        quick=False,
    ),
    formula_case(
        "ecm-cores",
        "Cores of a socket do not hold each other up until memory is busy all the time, from three cores on.",
        FormulaRuns(WORKLOAD, "ecm", MACHINE, {cores: LONG | {"P": cores} for cores in (1, 2, 3, 4, 8)}),
        source=ECM,
        axis="cores",
        quick=False,
    ),
    formula_case(
        "roofline-of-few-cores",
        "The roofline of bytes from memory is reached by one or two cores.",
        FormulaRuns(WORKLOAD, "roofline", MACHINE, {cores: LONG | {"P": cores} for cores in (1, 2)}),
        source=ROOFLINE,
        axis="cores",
        quick=False,
        fails="it takes transfers between the levels for hidden behind those of memory; here they come in turn",
        largest="left out of the formula",
    ),
    formula_case(
        "roofline",
        "The roofline of bytes from memory is reached where the cores of the socket fill it.",
        FormulaRuns(WORKLOAD, "roofline", MACHINE, {cores: LONG | {"P": cores} for cores in (3, 4, 8)}),
        source=ROOFLINE,
        axis="cores",
        quick=False,
    ),
]
