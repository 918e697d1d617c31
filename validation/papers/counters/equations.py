"""Hardware-counter models (APMT): what equations 4 to 6 give.

Source: Ding et al., APMT, an automatic performance modeling tool. As in ``claims``, no reading is tested.
"""

from __future__ import annotations

import math
from dataclasses import replace

from simcodesign.counters.frequency_refinement import Refined, refine, refine_as_printed
from simcodesign.counters.kernels import cpi_variance
from simcodesign.studies.validation.case import Case, Derived, Tolerance

from ...published.tables import number
from .claims import ROUNDING, source_case, stated

#: T_mem of two runs in cycles per instruction: memory alone, which takes as many seconds at either frequency.
SECONDS = 1.0


def two_runs(truth: Refined) -> tuple[tuple[float, float], tuple[float, float]]:
    """CPI and T_mem that equation 5 gives at the two frequencies of section 4.2."""
    accesses = (SECONDS * stated("frequency-high"), SECONDS * stated("frequency-low"))
    return (truth.cpi(accesses[0]), truth.cpi(accesses[1])), accesses


def line_case(kernel: int) -> Case:
    """Table 4 put through equation 5 to two runs, and back by the line of Figure 10."""
    truth = refined_in_table_4(kernel)
    cpi, accesses = two_runs(truth)
    line = refine(cpi, accesses)
    values = {"CPI_1": cpi[0], "CPI_2": cpi[1], "T_1": accesses[0], "T_2": accesses[1]}
    slope = "(CPI_1 - CPI_2)/(T_1 - T_2)"
    case = source_case(
        f"refinement/figure-10-kernel-{kernel}",
        "The slope of CPI over T_mem is BF_mem, its intercept CPI_core (caption of Figure 10).",
        "equations 5 and 6, Table 4",
        "cycles or ratio",
        {"CPI_core": truth.cpi_core, "BF_mem": truth.blocking_factor},
        {"CPI_core": line.cpi_core, "BF_mem": line.blocking_factor},
        Tolerance(
            "rounding of double precision: BF_mem is what is left of a CPI of about 2", relative=1e-6, absolute=1e-14
        ),
        (Derived("BF_mem", slope, values), Derived("CPI_core", f"CPI_1 - {slope}*T_1", values)),
    )
    return replace(case, printed=False)  # the times of the two runs were made up


def equation_6_case() -> Case:
    """The slope that equation 6 takes for CPI_core is BF_mem by equation 5, whatever the times of the two runs are."""
    truths = {f"kernel {kernel}": refined_in_table_4(kernel) for kernel in (1, 2, 3)}
    first = truths["kernel 1"]
    return source_case(
        "refinement/equation-6",
        "Equation 6 gives the CPI_core of Table 4 for runs that equation 5 describes.",
        "equations 5 and 6, Table 4",
        "cycles",
        {name: truth.cpi_core for name, truth in truths.items()},
        {name: refine_as_printed(*two_runs(truth)).cpi_core for name, truth in truths.items()},
        Tolerance("rounding of double precision, of a difference of two CPI of about 2", relative=1e-6, absolute=1e-14),
        (
            Derived(
                "CPI_core",
                "BF_mem*(T_1 - T_2)/(T_1 - T_2)",
                {"BF_mem": first.blocking_factor, "T_1": 3.0, "T_2": 2.0},
                about="kernel 1; any T_1 and T_2 cancel",
            ),
        ),
    )


def refined_in_table_4(kernel: int) -> Refined:
    """Return CPI_core and BF_mem after the refinement."""
    return Refined(*(number("counters-table-4", f"{name}_after", kernel=kernel) for name in ("cpi_core", "bf_mem")))


def deviation_case() -> Case:
    """Equation 4 without a root: it grows as the square of the values, whatever the values are."""
    cpi = [number("counters-table-4", "cpi_core_after", kernel=kernel) for kernel in (1, 2, 3)]
    degree = math.log2(cpi_variance([2 * one for one in cpi]) / cpi_variance(cpi))
    own = Derived("degree", "log(factor**2)/log(factor)", {"factor": 2.0}, about="any factor cancels")
    return source_case(
        "equation-4",
        "Equation 4 is a standard deviation: it grows as the first power of the values.",
        "equation 4",
        "power",
        {"degree": 1.0},
        {"degree": degree},
        ROUNDING,
        (own,),
    )


CASES: list[Case] = [*map(line_case, (1, 2, 3)), equation_6_case(), deviation_case()]
