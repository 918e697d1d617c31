"""Hardware-counter models (APMT): what the paper computes or claims, against its own numbers and equations.

Source: Ding et al., APMT, an automatic performance modeling tool. These cases test no reading: ``expected`` is what is
printed, ``own`` follows from other printed numbers or from an equation of the paper. What only its figures hold cannot
be recovered, and the claims say so.
"""

from __future__ import annotations

import math

from simcodesign.counters.frequency_refinement import Refined, refine, refine_as_printed
from simcodesign.counters.kernels import cpi_variance
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
) -> Case:
    """What is printed, against what follows from what else is printed."""
    return Case(
        name=f"hardware-counters/{name}",
        claim=f"{claim} {SOURCE_ALONE}",
        source=f"{PAPER}, {where}",
        unit=unit,
        expected=expected,
        own=own,
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
    """The share of a function, which makes it a kernel or not."""
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


# Equations.

#: T_mem of two runs in cycles per instruction: memory alone, which takes as many seconds at either frequency.
SECONDS = 1.0


def two_runs(truth: Refined) -> tuple[tuple[float, float], tuple[float, float]]:
    """CPI and T_mem that equation 5 gives at the two frequencies of section 4.2."""
    accesses = (SECONDS * stated("frequency-high"), SECONDS * stated("frequency-low"))
    return (truth.cpi(accesses[0]), truth.cpi(accesses[1])), accesses


def refinement_cases() -> list[Case]:
    """Table 4 put through equation 5 to two runs, and back: by the line of Figure 10, and by equation 6."""
    cases = []
    for kernel in (1, 2, 3):
        truth = Refined(
            *(number("counters-table-4", f"{name}_after", kernel=kernel) for name in ("cpi_core", "bf_mem"))
        )
        cpi, accesses = two_runs(truth)
        expected = {"CPI_core": truth.cpi_core, "BF_mem": truth.blocking_factor}
        values = {"CPI_1": cpi[0], "CPI_2": cpi[1], "T_1": accesses[0], "T_2": accesses[1]}
        line, printed = refine(cpi, accesses), refine_as_printed(cpi, accesses)
        slope = "(CPI_1 - CPI_2)/(T_1 - T_2)"
        for name, refined, claim, steps in (
            (
                "figure-10",
                line,
                "The slope of CPI over T_mem is BF_mem, its intercept CPI_core (caption of Figure 10).",
                (Derived("BF_mem", slope, values), Derived("CPI_core", f"CPI_1 - {slope}*T_1", values)),
            ),
            (
                "equation-6",
                printed,
                "Equation 6 gives CPI_core and BF_mem of runs that equation 5 describes.",
                (Derived("CPI_core", slope, values), Derived("BF_mem", f"(CPI_1 - {slope})/T_1", values)),
            ),
        ):
            cases.append(
                source_case(
                    f"refinement/{name}-kernel-{kernel}",
                    claim,
                    "equations 5 and 6, Table 4",
                    "cycles or ratio",
                    expected,
                    {"CPI_core": refined.cpi_core, "BF_mem": refined.blocking_factor},
                    Tolerance(
                        "rounding of double precision: BF_mem is what is left of a CPI of about 2",
                        relative=1e-6,
                        absolute=1e-14,
                    ),
                    steps,
                )
            )
    return cases


def deviation_case() -> Case:
    """Equation 4 without a root."""
    cpi = [number("counters-table-4", "cpi_core_after", kernel=kernel) for kernel in (1, 2, 3)]
    ratio = cpi_variance([2 * one for one in cpi]) / cpi_variance(cpi)
    own = Derived(
        "ratio", "factor**2", {"factor": 2.0}, "ratio", "equation 4 of twice the values, over that of the values"
    )
    return source_case(
        "equation-4",
        "Equation 4 is a standard deviation: of values twice as large it is twice as large.",
        "equation 4",
        "ratio",
        {"ratio": 2.0},
        {"ratio": ratio},
        ROUNDING,
        (own,),
    )


# Errors.


def error_case() -> Case:
    """Two average errors."""
    own = Derived("error", "printed", {"printed": stated("error-required")}, "%", "section 5")
    return source_case(
        "errors/average",
        "The average error is around 15 % (abstract, section 6); section 5 has around 10 %.",
        "abstract, sections 5 and 6",
        "%",
        {"error": stated("error-average")},
        {"error": own.value},
        Tolerance("'around': half a unit of the first of two digits", absolute=0.5),
        (own,),
    )


def unrecoverable(name: str, claim: str, where: str, unit: str, expected: Values, missing: str) -> Case:
    """What only a figure or an unpublished measurement could show."""
    return Case(
        name=f"hardware-counters/{name}",
        claim=f"{claim} {SOURCE_ALONE}",
        source=f"{PAPER}, {where}",
        unit=unit,
        expected=expected,
        needs={missing: None},
        tolerance=Tolerance("nothing to compare it with was published"),
        reading="source",
        quick=True,
    )


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
    *refinement_cases(),
    deviation_case(),
    error_case(),
    unrecoverable(
        "errors/strong-scaling",
        "At 128 processes errors are up to 25 % less than those of a size/P + b, and "
        "up to 52 % less than those of a/P + b P^c + d.",
        "section 5",
        "%",
        {"analytic": stated("gain-analytic"), "empirical": stated("gain-empirical")},
        "errors of Figure 11",
    ),
    unrecoverable(
        "errors/larger-size",
        "Errors for the larger size are 50 % less on average than those of a size/P + b.",
        "section 5",
        "%",
        {"analytic": stated("gain-larger-size")},
        "errors of Figure 12",
    ),
    unrecoverable(
        "errors/bt",
        "Refinement brings the error of BT from 18 % below 7 %.",
        "section 4.2",
        "%",
        {"before": stated("bt-error-before"), "after": stated("bt-error-after")},
        "times of BT",
    ),
    unrecoverable(
        "errors/nrmse",
        "Sampled shares agree with instrumented ones: NRMSE is around 1e-4.",
        "section 2",
        "ratio",
        {"NRMSE": stated("nrmse")},
        "shares of the functions",
    ),
    unrecoverable(
        "errors/r-squared",
        "The forms explain about 0.9 of the variance of the counters of CICE.",
        "Figure 6",
        "ratio",
        {"R squared": stated("r-squared")},
        "counters of Figure 6",
    ),
    unrecoverable(
        "errors/overhead",
        "Profiling with counters costs 3 % on average.",
        "abstract",
        "%",
        {"overhead": stated("overhead")},
        "times with and without profiling",
    ),
]
