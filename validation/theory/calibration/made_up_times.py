"""Resource-usage constants from times that are made up: recovery of known ones, and what times cannot tell apart.

Cases of ``recovery`` and ``degeneracy`` test the method on times made by equations 3 and 4 of Armstrong and Eigenmann,
written out in ``seismic``: with reconstructed counts and sizes, which no verdict here rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from simcodesign.calibration.calibrate import Calibration, calibrate
from simcodesign.calibration.common_direction import common_direction
from simcodesign.calibration.timings import Timing
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ...papers.seismic.equations import (
    MACHINE,
    PAPER,
    PHASES,
    WORKLOAD,
    communication_s,
    constant,
    disk_s,
    simulated,
    sizes,
)
from ...published.tables import SOURCE_ALONE, half_unit

NETWORK = {"network.startup": "CComm-Start", "network.per_byte": "CComm-Trans"}
DISK = {"disk.read_startup": "CRd-Start", "disk.write_startup": "CWr-Start", "disk.per_byte": "CMem-Trans"}
SETS, RANKS = ("test", "small", "medium"), (2, 4, 8, 16)
SOLVED = Tolerance(
    "rounding of the times (1e-15), times the condition of equations with columns scaled to one length (below 1e4)",
    relative=1e-10,
)
COUNTED = Tolerance("a whole number")
METHOD = "Verification of the method: times and counts are made up here, and no number of the paper is tested."


def timings(
    part: str, seconds: Callable[[int, str, float], object], phases: Sequence[int], sets: Sequence[str]
) -> list[Timing]:
    """Times of a component that a formula gives, for every phase, data set and number of processors."""
    return [
        Timing(float(np.asarray(seconds(phase, name, ranks))), {"P": ranks}, name, PHASES[phase], part)
        for phase in phases
        for name in sets
        for ranks in RANKS
    ]


@cache
def recovered(part: str, sets: tuple[str, ...] = SETS) -> Calibration:
    """Constants from times by equation 3 (communication) or 4 (disk)."""
    if part == "communication":
        return calibrate(WORKLOAD, MACHINE, timings(part, communication_s, (2, 4), sets), unknown=list(NETWORK))
    return calibrate(WORKLOAD, MACHINE, timings(part, disk_s, (1, 2, 4), sets), unknown=list(DISK))


def estimates(calibration: Calibration, names: dict[str, str]) -> dict[Label, float]:
    """Determined constants by the names of Table 6 and the phase."""
    numbers = {name: number for number, name in PHASES.items()}
    return {
        f"{names[unknown.path]}, phase {numbers[unknown.phase]}": estimate.value
        for unknown, estimate in zip(calibration.unknowns, calibration.fit.estimates, strict=True)
        if estimate.determined
    }


def startups(calibration: Calibration) -> float:
    """Seconds that a read startup and 3/16 of a write startup take together in phase 4, as far as it is determined."""
    (one,) = (
        one for group in calibration.fit.groups for one in group.combinations if "depth" in next(iter(one.weights))
    )
    return one.value


def recovery_case(part: str, names: dict[str, str]) -> Case:
    """The constants of Table 6 from times that equations 3 and 4 give with them."""
    wanted = {
        "communication": [(n, p) for p in (2, 4) for n in names.values()],
        "disk": [(n, p) for p in (1, 2) for n in names.values() if (n, p) != ("CRd-Start", 1)] + [("CMem-Trans", 4)],
    }[part]
    expected: dict[Label, float] = {f"{name}, phase {phase}": constant(name, phase) for name, phase in wanted}
    together = "CRd-Start + 3/16 CWr-Start, phase 4"
    if part == "disk":
        expected[together] = constant("CRd-Start", 4) + 3 / 16 * constant("CWr-Start", 4)

    def measure() -> Readings:
        calibration = recovered(part)
        return Readings(
            forecast=estimates(calibration, names) | ({together: startups(calibration)} if part == "disk" else {})
        )

    return Case(
        name=f"calibration/recovery/{part}",
        claim=f"From {part} times that the equations give for three data sets on 2 to 16 processors, least squares finds "
        f"the constants that they were made with. {METHOD}",
        source=f"{PAPER}, equations 3 and 4",
        unit="SI units",
        expected=expected,
        tolerance=SOLVED,
        reading="forecast",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        quick=True,
    )


def simulated_case() -> Case:
    """The same from simulated times."""

    def measure() -> Readings:
        def seconds(phase: int, dataset: str, ranks: float) -> float:
            return float(simulated(dataset, phase, int(ranks)).phases[PHASES[phase]]["communication"])

        made = timings("communication", seconds, (2, 4), ("test",))
        return Readings(simulation=estimates(calibrate(WORKLOAD, MACHINE, made, unknown=list(NETWORK)), NETWORK))

    return Case(
        name="calibration/recovery/simulated",
        claim="From communication times simulated with no effects, on 2 to 16 processors, least squares by the closed "
        f"form finds the constants that were simulated. {METHOD}",
        source=f"{PAPER}, equation 3",
        unit="SI units",
        expected={f"{name}, phase {phase}": constant(name, phase) for phase in (2, 4) for name in NETWORK.values()},
        tolerance=Tolerance(
            "a simulated time is a sum of up to 10^5 durations (1e-11), times the condition of the equations (below 1e3)",
            relative=1e-8,
        ),
        reading="simulation",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"preset": "test"},
    )


def degeneracy_case(name: str, sets: tuple[str, ...], ranks: dict[int, int], why: str) -> Case:
    """How many combinations of the three disk constants are determined."""

    def measure() -> Readings:
        calibration = recovered("disk", sets)
        determined = {}
        for phase, title in PHASES.items():
            groups = [group for group in calibration.fit.groups if group.names and f"({title})" in group.names[0]]
            if groups:
                determined[f"phase {phase}"] = float(sum(len(group.names) - group.missing for group in groups))
        return Readings(
            forecast=determined, notes=tuple(sorted(words for advice in calibration.advice for words in advice))
        )

    return Case(
        name=f"calibration/degeneracy/{name}",
        claim=f"Disk times of {' and '.join(sets)} on 2 to 16 processors determine so many combinations of the disk "
        f"constants in use: {why}. {METHOD}",
        source=f"{PAPER}, equation 4",
        unit="combinations",
        expected={f"phase {phase}": float(rank) for phase, rank in ranks.items()},
        tolerance=COUNTED,
        reading="forecast",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        quick=True,
    )


def combination_case() -> Case:
    """What a single data set determines in phase 2, by hand."""
    groups, size = sizes("test")["groups"], 4 * sizes("test")["samples"]
    by_hand = {"weight of CWr-Start": 1 / groups, "weight of CMem-Trans": 2 * size}
    read, write, per_byte = (constant(name, 2) for name in DISK.values())
    own = Derived(
        "sum",
        "read + write/groups + per_byte*2*size",
        {"read": read, "write": write, "per_byte": per_byte, "groups": groups, "size": size},
        "s",
    )

    def measure() -> Readings:
        calibration = recovered("disk", ("test",))
        (one,) = (
            one
            for group in calibration.fit.groups
            for one in group.combinations
            if "stacking" in next(iter(one.weights))
        )
        _, write_weight, byte_weight = one.weights.values()
        return Readings(forecast=dict(zip(by_hand, (write_weight, byte_weight), strict=True)) | {"sum": one.value})

    return Case(
        name="calibration/degeneracy/phase-2-combination",
        claim="Of the test set alone, the disk times of phase 2 determine one sum: a read startup, a write startup by the "
        f"groups of a line, and twice a trace's bytes times the time of a byte. {METHOD}",
        source=f"{PAPER}, equation 4",
        unit="SI units",
        expected={**by_hand, "sum": own.value},
        tolerance=SOLVED,
        reading="forecast",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        derivation=(own,),
        quick=True,
    )


def vector_case() -> Case:
    """Table 6: the three disk constants together."""
    phases, names, table = (1, 2, 4), list(DISK.values()), "seismic-table-6"
    printed = np.array([[constant(name, phase) for phase in phases] for name in names])
    half_units = np.array([[half_unit(table, f"phase{phase}", constant=name) for phase in phases] for name in names])
    common = common_direction(printed, half_units)

    def derived(column: int) -> Derived:
        off = np.abs(common.vector * common.factors[column] - printed[:, column]) / half_units[:, column]
        worst = int(np.argmax(off))
        values = {
            "vector": common.vector[worst],
            "factor": common.factors[column],
            "printed": printed[worst, column],
            "half": half_units[worst, column],
        }
        about = f"{names[worst]} of phase {phases[column]}, the worst; vector and factors by a linear programme"
        return Derived(
            "misfit", "abs(vector*factor - printed)/half", {k: float(v) for k, v in values.items()}, about=about
        )

    lines = tuple(derived(column) for column in range(len(phases)))
    return Case(
        name="calibration/table-6/one-vector",
        claim="The three disk constants of every phase are one vector times one factor of the phase, to the digits that "
        f"are printed: one number a phase was fitted, not three. {SOURCE_ALONE}",
        source=f"{PAPER}, Table 6",
        unit="half units of the last digit",
        expected={f"phase {phase}": 1.0 for phase in phases},
        own={f"phase {phase}": line.value for phase, line in zip(phases, lines, strict=True)},
        tolerance=Tolerance(
            "rounding moves a printed number by half a unit of its last digit at most", sense="at_most"
        ),
        reading="source",
        quick=True,
        derivation=lines,
    )


# Table 1: can any constants at all explain its times?


CASES: list[Case] = [
    recovery_case("communication", NETWORK),
    recovery_case("disk", DISK),
    simulated_case(),
    degeneracy_case(
        "one-data-set",
        ("test",),
        {1: 1, 2: 1, 4: 2},
        "phases 1 and 2 repeat one mixture of accesses, only fewer times; in phase 4 the size of accesses falls "
        "with P, but reads and writes keep their proportion",
    ),
    degeneracy_case(
        "three-data-sets",
        SETS,
        {1: 2, 2: 3, 4: 2},
        "sizes of accesses and groups differ between the sets, which tells the constants of phases 1 and 2 apart; "
        "in phase 4 reads and writes keep their proportion still",
    ),
    combination_case(),
    vector_case(),
]
