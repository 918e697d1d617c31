"""Hardware-counter models (APMT): errors that the paper states, most of which cannot be recovered.

Source: Ding et al., APMT, an automatic performance modeling tool. As in ``claims``, no reading is tested.
"""

from __future__ import annotations

from simcodesign.studies.validation.case import Case, Derived, Tolerance, Values

from ...published.tables import SOURCE_ALONE
from .claims import PAPER, source_case, stated


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
        chosen="the required accuracy of section 5 as an average error",
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
