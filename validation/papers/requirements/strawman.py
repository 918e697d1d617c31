"""Requirements co-design: Table VII entry by entry, with both bases of logarithms, and what section III-B says besides.

Source: Calotoiu et al., CLUSTER 2018. ``own`` is what the models of Table II give with log2, which equations 1 and 2 of
the paper print; with natural logarithms, and with a natural log n beside log2 p, in cases of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

from simcodesign.studies.requirements.strawman import StrawManStudy, straw_man_study
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ...published.tables import half_digit, half_unit, number, text
from . import models as own
from .upgrades import PAPER, SAME_MODEL

MACHINES = {name: f"strawman-{name}" for name in own.SYSTEMS}
APPS = ("kripke", "lulesh", "milc", "relearn")
CHOSEN = {
    "N": "the bytes used by MILC (their coefficient was chosen by this very number)",
    "time": "the flop of MILC (their coefficient was chosen by this very number)",
}
WORDS = {own.LOG2: "log2", own.NATURAL: "natural logarithms", own.MIXED: "natural log n and log2 p"}
HALF = "half a unit of the last printed digit (a bare power of ten counts as one digit), and rounding of doubles"


@cache
def study(
    app: str, bases: own.Bases = own.LOG2, preset: str | None = None, problem: float | None = None
) -> StrawManStudy:
    """By the system."""
    given = {} if app == "kripke" else {"n_base": bases[0], "p_base": bases[1]}
    return straw_man_study(app, list(MACHINES.values()), given, preset=preset, benchmark=problem)


def time_of(app: str, column: str, system: str, bases: own.Bases = own.LOG2, problem: float | None = None) -> float:
    """An entry of Table VII by the system; not a number where there is none."""
    system_result = study(app, bases, None, problem).systems[own.SYSTEMS.index(system)]
    if column == "N":
        return system_result.overall
    return math.nan if system_result.wall_time_s is None else system_result.wall_time_s


def computed(app: str, column: str, system: str, bases: own.Bases = own.LOG2, problem: float | None = None) -> float:
    """The same by the paper's models."""
    if column == "N":
        return own.overall(app, system, bases)
    return own.wall_time_s(app, system, own.benchmark(app, bases) if problem is None else problem, bases)


def entry_case(
    app: str,
    column: str,
    system: str,
    variant: str = "",
    bases: own.Bases = own.LOG2,
    problem: float | None = None,
) -> Case:
    """One entry of Table VII."""
    expected = number("requirements-table-7", column, app=app, system=system)
    printed = half_unit("requirements-table-7", column, app=app, system=system)
    what = (
        "The largest overall problem"
        if column == "N"
        else "The least time for the largest problem that all systems hold"
    )
    if problem is not None:
        what = f"The least time for the problem of N = {problem:g} that Table VII prints as the smallest"
    needs = {CHOSEN[column]: None} if app == "milc" else {}
    value = computed(app, column, system, bases, problem)
    return Case(
        name=f"requirements/table-7{variant}/{app}-{system}-{'size' if column == 'N' else 'time'}",
        claim=f"{what}, {app} on the {system} system, with {WORDS[bases]}.",
        source=f"{PAPER}, Table VII",
        unit="s" if column == "time" else "",
        expected={system: expected},
        own={system: value},
        needs=needs,
        tolerance=Tolerance(HALF, absolute=printed * (1 + 1e-9)),
        reading="forecast",
        measure=lambda: Readings(forecast={system: time_of(app, column, system, bases, problem)}),
        workload=app,
        machine=MACHINES[system],
        quick=True,
    )


def exact_case(app: str, bases: own.Bases = own.LOG2) -> Case:
    """What the models give, whatever is printed: to rounding."""
    labels: dict[Label, tuple[str, str]] = {
        f"{column}, {name}": (column, name) for column in ("N", "time") for name in own.SYSTEMS
    }
    return Case(
        name=f"requirements/straw-men/{app}{'' if bases == own.LOG2 else '-natural'}",
        claim=f"Largest problems and least times of {app}, as its models give them with {WORDS[bases]}.",
        source=f"{PAPER}, models of Table II and systems of Table VI",
        unit="",
        expected={label: computed(app, column, name, bases) for label, (column, name) in labels.items()},
        tolerance=SAME_MODEL,
        reading="forecast",
        measure=lambda: Readings(
            forecast={label: time_of(app, column, name, bases) for label, (column, name) in labels.items()}
        ),
        workload=app,
        quick=True,
    )


# LULESH with added terms.


def additive(name: str, bases: own.Bases = own.LOG2) -> float:
    """Least time by the models."""
    return own.wall_time_s("lulesh-additive", name, own.benchmark("lulesh", bases))


def additive_times() -> dict[str, float]:
    """Least times by the system."""
    systems = study("lulesh", own.LOG2, "additive").systems
    return {name: system.wall_time_s or math.nan for name, system in zip(own.SYSTEMS, systems, strict=True)}


def additive_case(
    name: str, claim: str, limit: float, sense: str, why: str, of: Mapping[str, float], measure: object
) -> Case:
    """A statement of the text about the additive variant."""
    return Case(
        name=f"requirements/additive-lulesh/{name}",
        claim=claim,
        source=f"{PAPER}, section III-B",
        unit="",
        expected=dict.fromkeys(of, limit),
        own=of,
        tolerance=Tolerance(why, sense=sense),
        reading="forecast",
        measure=measure,
        workload="lulesh",
        parameters={"preset": "additive"},
        quick=True,
    )


def additive_cases() -> list[Case]:
    """Less than 0.1 s, about three orders of magnitude, best on the massively parallel system."""
    first, others = own.SYSTEMS[0], own.SYSTEMS[1:]
    limit = number("requirements-table-7", "time", app="lulesh-additive", system="every")

    def gains() -> Readings:
        before = study("lulesh").systems
        return Readings(
            forecast={
                name: (system.wall_time_s or math.nan) / additive_times()[name]
                for name, system in zip(own.SYSTEMS, before, strict=True)
            }
        )

    def slower() -> Readings:
        times = additive_times()
        return Readings(forecast={name: times[name] / times[first] for name in others})

    gain = {name: computed("lulesh", "time", name) / additive(name) for name in own.SYSTEMS}
    return [
        additive_case(
            "time",
            "With added terms, LULESH takes less than 0.1 s on each system.",
            limit,
            "at_most",
            "a bound that the text gives",
            {name: additive(name) for name in own.SYSTEMS},
            lambda: Readings(forecast=additive_times()),
        ),
        additive_case(
            "gain",
            "With added terms, LULESH is faster by approximately three orders of magnitude.",
            10**2.5,
            "at_least",
            "10^2.5 and more round to three orders of magnitude or above",
            gain,
            gains,
        ),
        additive_case(
            "order",
            "With added terms, the massively parallel system is the fastest: by what factor the others are slower.",
            1.0,
            "at_least",
            "an order that the text gives",
            {name: additive(name) / additive(first) for name in others},
            slower,
        ),
    ]


# icoFoam.


def excluded_case() -> Case:
    """The term of p alone is larger than the memory of a process."""

    def alone(name: str) -> float:
        p = own.system(name, "processors")
        return 100 * p * math.log2(p) / own.system(name, "memory")

    def measure() -> Readings:
        systems = dict(zip(own.SYSTEMS, study("icofoam").systems, strict=True))
        shares = {name: system.fit.terms[0].value / system.memory_bytes for name, system in systems.items()}
        fits = [name for name, system in systems.items() if system.fit.fits]
        return Readings(forecast=shares, notes=(f"Systems on which something fits: {', '.join(fits) or 'none'}.",))

    values = {"p": own.system("massively-parallel", "processors"), "m": own.system("massively-parallel", "memory")}
    return Case(
        name="requirements/table-7/icofoam-excluded",
        claim="icoFoam uses more memory than a process has, whatever its problem: the term of p over the memory.",
        source=f"{PAPER}, section III-B",
        unit="ratio",
        expected=dict.fromkeys(own.SYSTEMS, 1.0),
        own={name: alone(name) for name in own.SYSTEMS},
        tolerance=Tolerance("a bound that the text gives", sense="at_least"),
        reading="forecast",
        measure=measure,
        workload="icofoam",
        quick=True,
        derivation=(Derived("ratio", "100*p*log2(p)/m", values, about="massively parallel"),),
    )


def kripke_coefficient_case() -> Case:
    """Kripke's problem sizes need ten times the bytes that Table II gives a process."""
    printed = text("requirements-table-7", "N", app="kripke", system="vector")
    expected, all_memory = float(printed), own.system("vector", "processors") * own.system("vector", "memory")
    row = Derived(
        "coefficient", "memory/N", {"memory": all_memory, "N": expected}, "B", "10 PB over the largest problem"
    )
    return Case(
        name="requirements/table-7/kripke-bytes",
        reading="source",
        source=f"{PAPER}, Tables II, VI and VII",
        unit="B",
        claim="The coefficient of the bytes that Kripke uses, 1e5 in Table II as far as it is legible, against that which the "
        "largest problem of Table VII needs. This compares numbers of the source with each other; no reading is tested.",
        expected={"coefficient": own.terms("kripke", "bytes_used")[0][0]},
        own={"coefficient": row.value},
        tolerance=Tolerance("both are powers of ten: half of one", absolute=half_digit("1e5")),
        derivation=(row,),
        quick=True,
    )


#: The largest problem that all systems hold by what is printed.
PRINTED = {
    app: min(number("requirements-table-7", "N", app=app, system=name) for name in own.SYSTEMS)
    for app in ("kripke", "lulesh")
}

CASES: list[Case] = [
    *(entry_case(app, column, name) for app in APPS for column in ("N", "time") for name in own.SYSTEMS),
    *(entry_case("lulesh", column, name, "-natural", own.NATURAL) for column in ("N", "time") for name in own.SYSTEMS),
    *(entry_case("lulesh", "time", name, "-natural-n", own.MIXED) for name in own.SYSTEMS),
    *(
        entry_case(app, "time", name, "-printed-problem", own.LOG2, problem)
        for app, problem in PRINTED.items()
        for name in own.SYSTEMS
    ),
    *(exact_case(app) for app in APPS),
    *(exact_case(app, own.NATURAL) for app in ("lulesh", "relearn")),
    *additive_cases(),
    excluded_case(),
    kripke_coefficient_case(),
]
