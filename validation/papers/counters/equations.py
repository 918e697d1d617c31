"""Hardware-counter models (APMT): what equations 4 to 6 give.

Source: Ding et al., APMT, an automatic performance modeling tool. As in ``claims``, no reading is tested.
"""

from __future__ import annotations

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


CASES: list[Case] = [*refinement_cases(), deviation_case()]
