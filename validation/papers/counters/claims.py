"""Hardware-counter models (APMT): what the paper claims of kernels, volumes and sizes, against its own numbers.

Source: Ding et al., APMT, an automatic performance modeling tool. These cases test no reading: ``expected`` is what is
printed, ``own`` follows from other printed numbers or from an equation of the paper. What only its figures hold cannot
be recovered, and the claims say so.
"""

from __future__ import annotations

import math

from simcodesign.counters.prediction import volume_ratio
from simcodesign.studies.validation.case import Case, Derived, Label, Tolerance, Values

from ...published.tables import SOURCE_ALONE, half_unit, number, table

PAPER = "Ding et al., APMT: an automatic hardware counter-based performance modeling tool (CCF Transactions on High Performance Computing, 2020)"
ROUNDING = Tolerance("rounding of double precision, over a few operations", relative=1e-9)
EXACT = "whole numbers, or a bound that holds or does not"
#: Loop-level kernels were counted for these.
CODES = ("EP", "MG", "FT", "SP", "LU", "BT", "CG")
#: Processes at which the volumes of LU and SP are compared; the profiled ones are below the crossover.
BELOW, ABOVE = (2, 4, 8, 9, 11), (12, 16, 32, 64, 128)


def stated(name: str) -> float:
    """A number of the text."""
    return number("counters-statements", "value", statement=name)


def source_case(
    name: str,
    claim: str,
    where: str,
    unit: str,
    expected: Values,
    own: Values,
    tolerance: Tolerance,
    derivation: tuple[Derived, ...] = (),
    axis: str = "",
    chosen: str = "",
) -> Case:
    """Compare what is printed with what follows from other printed numbers. ``chosen``: what we read into it."""
    return Case(
        name=f"hardware-counters/{name}",
        claim=f"{claim} {SOURCE_ALONE}",
        source=f"{PAPER}, {where}",
        unit=unit,
        expected=expected,
        own=own,
        printed=True,
        inputs={"numbers and equations of the derivation": "published"} | ({chosen: "chosen"} if chosen else {}),
        tolerance=tolerance,
        reading="source",
        derivation=derivation,
        axis=axis,
        quick=True,
    )


# Kernels.


def kernel_count_cases() -> list[Case]:
    """Table 3: loop-level kernels over all kernels found, which is to be more than ten."""
    cases = []
    for code in CODES:
        counts = {name: number("counters-table-3", name, code=code) for name in ("loop_kernels", "kernels")}
        own = Derived("ratio", "loop_kernels/kernels", counts, "ratio", f"Table 3, {code}")
        cases.append(
            source_case(
                f"kernel-count/{code.lower()}",
                f"The kernels of {code} are fewer than loop-level ones by more than an order of magnitude.",
                "section 4.2 and Table 3",
                "ratio",
                {code: stated("order-of-magnitude")},
                {code: own.value},
                Tolerance(EXACT, sense="at_least"),
                (own,),
                chosen="that the claim, which is of the method, is of each code",
            )
        )
    return cases


def function_case() -> Case:
    """Kernels are functions, and the rest taken as one."""
    counts = table("counters-table-3").set_index("code")
    most: dict[Label, float] = {code: float(counts.functions[code]) for code in counts.index}
    own: dict[Label, float] = {code: float(counts.kernels[code]) for code in counts.index}
    return source_case(
        "kernels-are-functions",
        "Functions are the candidates for kernels, so that there are no more kernels than functions; CG has 6 of 3.",
        "section 3.2 and Table 3",
        "kernels",
        most,
        own,
        Tolerance(EXACT, sense="at_most"),
        (Derived("kernels", "counted", {"counted": own["CG"]}, "kernels", "CG"),),
    )


def platform_case() -> Case:
    """CICE: two kernels of the one machine are none on the other."""
    own = Derived("kernels", "seven - two", {"seven": stated("kernels-four-nodes"), "two": 2.0}, "kernels")
    return source_case(
        "cice-kernels",
        "Of the kernels of CICE on four nodes, all but two are kernels on the cluster in Wuxi.",
        "section 4.2",
        "kernels",
        {"Wuxi": stated("kernels-wuxi")},
        {"Wuxi": own.value},
        Tolerance(EXACT),
        (own,),
    )


def share_case(name: str, place: str, above: bool) -> Case:
    """The fraction of a function, which makes it a kernel or not."""
    key = f"{name}-{place}"
    claim = (
        "is a kernel: its share is above the threshold" if above else "is no kernel: its share is below the threshold"
    )
    return source_case(
        f"share/{key}",
        f"The function of CICE called {name} {claim}, as far as its printed digits say.",
        "section 4.2",
        "%",
        {"share": stated("threshold")},
        {"share": stated(key)},
        Tolerance(
            "half a unit of the last printed digit of the share",
            absolute=half_unit("counters-statements", "value", statement=key),
            sense="at_least" if above else "at_most",
        ),
        (Derived("share", "printed", {"printed": stated(key)}, "%"),),
    )


# Communication volumes.


def volume(code: str, processes: float) -> float:
    """Bytes of all processes together."""
    return stated(f"{code}-volume-slope") * processes + stated(f"{code}-volume-constant")


def volume_case(name: str, counts: tuple[int, ...]) -> Case:
    """LU against SP."""
    values = {
        f"{code}_{part}": stated(f"{code}-volume-{word}")
        for code in ("lu", "sp")
        for part, word in (("a", "slope"), ("b", "constant"))
    }
    ratios: dict[Label, float] = {P: volume("lu", P) / volume("sp", P) for P in counts}
    line = Derived(
        "ratio", "(lu_a*P + lu_b)/(sp_a*P + sp_b)", values | {"P": float(counts[0])}, "ratio", f"P = {counts[0]}"
    )
    return source_case(
        f"volume/lu-below-sp-{name}",
        "The total communication volume of LU is smaller than that of SP.",
        "section 4.2",
        "ratio",
        dict.fromkeys(counts, 1.0),
        ratios,
        Tolerance(EXACT, sense="at_most"),
        (line,),
        "processes",
        "numbers of processes at which the volumes are compared",
    )


def crossover_case() -> Case:
    """The claim for all numbers of processes, against the first for which the printed lines bear it out."""
    slope = stated("sp-volume-slope") - stated("lu-volume-slope")
    crossing = (stated("lu-volume-constant") - stated("sp-volume-constant")) / slope
    own = Derived(
        "P", "first", {"first": float(math.ceil(crossing))}, "processes", f"the lines cross at P = {crossing:.2f}"
    )
    return source_case(
        "volume/crossover",
        "The volume of LU is smaller than that of SP from the smallest profiled run, P = 4, on.",
        "section 4.2",
        "processes",
        {"least P": 4.0},
        {"least P": own.value},
        Tolerance(EXACT, sense="at_most"),
        (own,),
        chosen="that the claim holds from the smallest profiled run on",
    )


# A larger problem.


def grid_case() -> Case:
    """Cells of a process of the larger HOMME."""
    values = {"edge": stated("edge-large"), "faces": stated("faces"), "P": stated("processes")}
    own = Derived("cells", "edge*edge*faces/P", values, "cells")
    return source_case(
        "larger-size/cells",
        "The larger size of HOMME has 256*256*6/1536 = 16 cells on a process.",
        "section 4.2",
        "cells",
        {"cells": stated("grids-per-process")},
        {"cells": own.value},
        Tolerance(EXACT),
        (own,),
    )


def ratio_cases() -> list[Case]:
    """The factor of the volumes: a ratio of sizes, as it is called, or of edges, as it is computed."""
    values = {"large": stated("edge-large"), "small": stated("edge-small")}
    cells = Derived("ratio", "(large/small)**2", values, "ratio", "cells")
    edges = Derived("ratio", "((large/small)**2)**(1/2)", values, "ratio", "halo of a size divided in two dimensions")
    printed = {"factor": stated("volume-factor")}
    return [
        source_case(
            "larger-size/ratio-of-cells",
            "Volumes grow by the ratio of the problem sizes, ne256/ne32.",
            "section 4.2",
            "ratio",
            printed,
            {"factor": cells.value},
            ROUNDING,
            (cells,),
            chosen="ne256/ne32 as a ratio of cells; as a ratio of edges it is the printed factor",
        ),
        source_case(
            "larger-size/ratio-of-edges",
            "Volumes grow by 256/32: as the halo of a grid that is divided in two dimensions.",
            "section 4.2",
            "ratio",
            printed,
            {"factor": volume_ratio(cells.value, 2)},
            ROUNDING,
            (edges,),
        ),
    ]


CASES: list[Case] = [
    *kernel_count_cases(),
    function_case(),
    platform_case(),
    share_case("shortwave", "four-nodes", above=True),
    share_case("gradient", "four-nodes", above=True),
    share_case("shortwave", "wuxi", above=False),
    share_case("gradient", "wuxi", above=False),
    volume_case("few", BELOW),
    volume_case("many", ABOVE),
    crossover_case(),
    grid_case(),
    *ratio_cases(),
]
