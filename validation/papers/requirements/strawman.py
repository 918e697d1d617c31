"""Requirements co-design: Table VII entry by entry, with both bases of logarithms, and what section III-B says besides.

Source: Calotoiu et al., CLUSTER 2018. ``own`` is what the models of Table II give with log2, which equations 1 and 2 of
the paper print. Each entry is one case: where another reading of the models fits, the case uses it and states so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from simcodesign.studies.requirements.strawman import StrawManStudy, straw_man_study
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ...published.tables import SOURCE_ALONE, half_digit, half_unit, number, text
from . import models as own
from .upgrades import PAPER, SAME_MODEL

MACHINES = {name: f"strawman-{name}" for name in own.SYSTEMS}
APPS = ("kripke", "lulesh", "milc", "relearn")
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
    """An entry of Table VII by the system; not a number if there is none."""
    system_result = study(app, bases, None, problem).systems[own.SYSTEMS.index(system)]
    if column == "N":
        return system_result.overall
    return math.nan if system_result.wall_time_s is None else system_result.wall_time_s


def computed(app: str, column: str, system: str, bases: own.Bases = own.LOG2, problem: float | None = None) -> float:
    """The same by the paper's models."""
    if column == "N":
        return own.overall(app, system, bases)
    return own.wall_time_s(app, system, own.benchmark(app, bases) if problem is None else problem, bases)


@dataclass(frozen=True)
class ChosenReading:
    """A way to compute an entry of Table VII that was found by searching for what fits: the bases of log n and log p, and
    the overall problem, None for the largest that all systems hold."""

    bases: own.Bases = own.LOG2
    problem: float | None = None

    @property
    def words(self) -> str:
        """The reading in words."""
        problem = "" if self.problem is None else f", for the printed problem of N = {self.problem:g}"
        return f"{WORDS[self.bases]}{problem}"


#: The reading under which an entry, or most entries of its row, hold, where it is not log2 and the problem that follows
#: from Table II.
FOUND = {
    **{("lulesh", "N", name): ChosenReading(own.NATURAL) for name in own.SYSTEMS},
    ("lulesh", "time", "hybrid"): ChosenReading(problem=1.7e10),
    **{("kripke", "time", name): ChosenReading(problem=1e10) for name in own.SYSTEMS},
}
#: Readings that were tried for every entry of LULESH.
TRIED = (
    ChosenReading(),
    ChosenReading(own.NATURAL),
    ChosenReading(own.MIXED),
    ChosenReading(problem=1.7e10),
    ChosenReading(problem=1.9e10),
)
KRIPKE_NOTE = (
    "The exponent of Kripke's bytes used, 10^5 n, is reconstructed: with 10^6 n all six printed entries hold (N = 1e10 on "
    "each system, whose memory is 1e16 B in all, and 0.1 s).",
)
#: What was chosen by these very numbers, by application and column.
CHOSEN_BY = {
    ("milc", "N"): "the bytes used by MILC (their coefficient was chosen by this very number)",
    ("milc", "time"): "the flop of MILC (their coefficient was chosen by this very number)",
}


def inputs_of(app: str, column: str, system: str, reading: ChosenReading) -> dict[str, str]:
    """Return the origin of everything that an entry is computed from."""
    metrics = ("bytes_used",) if column == "N" else ("bytes_used", "flop")
    known = {**own.origins(app, *metrics), "systems of Table VI": "published"}
    if app == "relearn" and column == "time" and system == "massively-parallel":
        # The term p alone, which is legible, makes 4.00 of the 4.007 s.
        known = dict.fromkeys(known, "published")
    if app == "kripke":  # has no logarithm
        return known | ({} if reading.problem is None else {reading.words.partition(", ")[2]: "chosen"})
    if (app, column, system) in FOUND:
        return known | {reading.words: "chosen"}
    return known | {"base of the logarithms, log2 in equations 1 and 2": "published"}


def entry_case(app: str, column: str, system: str) -> Case:
    """One entry of Table VII, under one reading; other readings are in its notes."""
    expected = number("requirements-table-7", column, app=app, system=system)
    printed = half_unit("requirements-table-7", column, app=app, system=system)
    reading = FOUND.get((app, column, system), ChosenReading())
    what = (
        "The largest overall problem"
        if column == "N"
        else "The least time for the largest problem that all systems hold"
    )
    lacking = CHOSEN_BY.get((app, column))
    if (app, column, system) == ("relearn", "time", "vector"):
        lacking = "the flop of Relearn (their coefficient was chosen by this very number)"

    def measure() -> Readings:
        value = time_of(app, column, system, reading.bases, reading.problem)
        notes = {"lulesh": tried_notes(column, system), "kripke": KRIPKE_NOTE}
        return Readings(forecast={system: value}, notes=notes.get(app, ()))

    return Case(
        name=f"requirements/table-7/{app}-{system}-{'size' if column == 'N' else 'time'}",
        claim=f"{what}, {app} on the {system} system, with {reading.words}.",
        source=f"{PAPER}, Table VII",
        unit="s" if column == "time" else "",
        expected={system: expected},
        own={system: computed(app, column, system, reading.bases, reading.problem)},
        needs={} if lacking is None else {lacking: None},
        printed=True,
        inputs=inputs_of(app, column, system, reading),
        tolerance=Tolerance(HALF, absolute=printed * (1 + 1e-9)),
        reading="forecast",
        measure=measure,
        workload=app,
        machine=MACHINES[system],
        quick=True,
    )


def tried_notes(column: str, system: str) -> tuple[str, ...]:
    """Return what each reading that was tried for LULESH gives."""
    readings = [reading for reading in TRIED if column == "time" or reading.problem is None]
    values = (f"{computed('lulesh', column, system, it.bases, it.problem):.4g} with {it.words}" for it in readings)
    return (f"Tried: {'; '.join(values)}.",)


def same_base_case() -> Case:
    """Compare the factors in front of n ln n that two sizes of LULESH need: one, whatever base and coefficient are."""
    sizes = {name: number("requirements-table-7", "N", app="lulesh", system=name) for name in own.SYSTEMS}

    def logarithm(name: str, size: float) -> float:
        """m / (n ln n), which is the coefficient of the footprint over the logarithm of its base."""
        n = size / own.system(name, "processors")
        return own.system(name, "memory") / (n * math.log(n))

    first, second, _ = own.SYSTEMS
    factors = {name: logarithm(name, size) for name, size in sizes.items()}
    # Half a unit of both printed sizes, carried to the factor at its largest.
    rounding = sum(
        max(
            abs(
                logarithm(name, sizes[name] + sign * half_unit("requirements-table-7", "N", app="lulesh", system=name))
                - factors[name]
            )
            for sign in (-1, 1)
        )
        for name in (first, second)
    )
    line = Derived(
        "factor",
        "m/(N/p*log(N/p))",
        {"m": own.system(first, "memory"), "N": sizes[first], "p": own.system(first, "processors")},
        about=f"{first}; the same for all systems by a footprint of n log n",
    )
    return Case(
        name="requirements/table-7/lulesh-sizes-any-base",
        claim="A footprint of n log n with one coefficient and one base gives the sizes of LULESH on the vector and on the "
        f"massively parallel system. {SOURCE_ALONE}",
        source=f"{PAPER}, Tables II, VI and VII",
        unit="B",
        expected={"factor of n ln n": factors[second]},
        own={"factor of n ln n": line.value},
        printed=True,
        inputs={"sizes of LULESH, form n log n of its bytes used, systems": "published"},
        tolerance=Tolerance("half a unit of the last printed digit of both sizes", absolute=rounding),
        reading="source",
        derivation=(line,),
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
    name: str,
    claim: str,
    limit: float,
    sense: str,
    why: str,
    of: Mapping[str, float],
    measure: Callable[[], Readings],
    inputs: Mapping[str, str] | None = None,
) -> Case:
    """A statement of the text about the additive variant."""
    return Case(
        name=f"requirements/additive-lulesh/{name}",
        claim=claim,
        source=f"{PAPER}, section III-B",
        unit="",
        expected=dict.fromkeys(of, limit),
        own=of,
        printed=True,
        inputs=inputs or {**own.origins("lulesh", "bytes_used"), "the two terms, base 2": "published"},
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
            own.origins("lulesh", "bytes_used", "flop"),
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
        printed=True,
        inputs=own.origins("icofoam", "bytes_used"),
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
        printed=True,
        inputs=own.origins("kripke", "bytes_used"),
        derivation=(row,),
        quick=True,
    )


CASES: list[Case] = [
    *(entry_case(app, column, name) for app in APPS for column in ("N", "time") for name in own.SYSTEMS),
    same_base_case(),
    *(exact_case(app) for app in APPS),
    *(exact_case(app, own.NATURAL) for app in ("lulesh", "relearn")),
    *additive_cases(),
    excluded_case(),
    kripke_coefficient_case(),
]
