"""SPECseis96: what section 3.3 says about how its times and messages change with the processors.

Source: Armstrong and Eigenmann, Performance Forecasting: Characterization of Applications on Current and Future
Architectures. Each statement is a number with a bound; the counts and sizes behind it are reconstructed
(see ``seismic``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from .equations import (
    ADDED,
    CLOSED,
    DATASETS,
    MACHINE,
    MOST,
    PAPER,
    RANKS,
    SIMULATED,
    WORKLOAD,
    communication_s,
    forecasts,
    machine_note,
    row,
    simulations,
    startups_s,
    traffic,
)

#: What a difference of rounding alone is not.
FALLS = Tolerance("claimed is that it falls: by a thousandth at least, which no rounding is", sense="at_most")
GROWS = Tolerance("claimed is that it grows: by a thousandth at least, which no rounding is", sense="at_least")
GROWS_OR_OWN = replace(
    GROWS, reason=f"{GROWS.reason}; where equation 3 says otherwise, {ADDED.reason}", relative=ADDED.relative
)
#: Behind every statement, whose numbers the section does not give.
RECONSTRUCTED_COUNTS = {"numbers and sizes of messages and accesses, and how they change with P": "reconstructed"}
LESS, MORE = 0.999, 1.001
LOWER = Tolerance("claimed is that it is lower: by a thousandth at least, which no rounding is", sense="at_most")


# What section 3.3 says, each statement as a number.


def stated_case(
    name: str,
    claim: str,
    expected: Mapping[Label, float],
    tolerance: Tolerance,
    reading: str,
    measure: Callable[[], Readings],
    own: Mapping[Label, float] | None = None,
    axis: str = "",
    quick: bool = True,
    derivation: tuple[Derived, ...] = (),
    unit: str = "ratio",
    dataset: str = "",
) -> Case:
    """A statement of section 3.3."""
    return Case(
        name=f"seismic/section-3.3/{name}",
        claim=claim,
        source=f"{PAPER}, section 3.3",
        unit=unit,
        expected=expected,
        tolerance=tolerance,
        reading=reading,
        measure=measure,
        own=own or {},
        printed=True,
        inputs=RECONSTRUCTED_COUNTS,
        axis=axis,
        quick=quick,
        workload=WORKLOAD,
        machine=MACHINE,
        derivation=derivation,
        parameters={**({"preset": dataset} if dataset else {}), **machine_note(reading)},
    )


def of_datasets(reading: str, value: Callable[[Callable[[int, str, int], float]], float | None]) -> dict[Label, float]:
    """A value for every data set: ``value`` is given the seconds of a phase, component and number of processors."""
    datasets = DATASETS if reading == "forecast" else tuple(SIMULATED)

    def seconds(dataset: str) -> Callable[[int, str, int], float]:
        if reading == "forecast":
            return lambda phase, part, ranks: float(forecasts(dataset, phase, part)[RANKS.index(ranks)])
        return lambda phase, part, ranks: float(simulations(dataset, phase, part, [ranks])[0])

    values = {dataset: value(seconds(dataset)) for dataset in datasets}
    return {dataset: number for dataset, number in values.items() if number is not None}


def ratio_cases(
    name: str,
    claim: str,
    bound: float,
    tolerance: Tolerance,
    value: Callable[[Callable[[int, str, int], float], int], float],
    own: Callable[[str, int], float] | None = None,
) -> list[Case]:
    """A ratio for every data set by both readings: to 2048 processors by the forecast, to 16 by the simulation."""
    cases = []
    for reading, most in (("forecast", MOST), ("simulation", 16)):
        datasets = DATASETS if reading == "forecast" else tuple(SIMULATED)

        def measure(reading: str = reading, most: int = most) -> Readings:
            return Readings(**{reading: of_datasets(reading, lambda seconds: value(seconds, most))})

        cases.append(
            stated_case(
                f"{name}-{reading}",
                claim.format(most=most),
                dict.fromkeys(datasets, bound),
                tolerance,
                reading,
                measure,
                own={dataset: own(dataset, most) for dataset in datasets} if own else None,
                quick=reading == "forecast",
            )
        )
    return cases


def growth(phase: int, part: str) -> Callable[[Callable[[int, str, int], float], int], float]:
    """Seconds on most processors over those on 2."""
    return lambda seconds, most: seconds(phase, part, most) / seconds(phase, part, 2)


def communication_cases() -> list[Case]:
    """Order and growth of communication times."""
    return [
        *ratio_cases(
            "communication-starts-lower",
            "On 2 processors, the fewest that send messages, phase 4 communicates for less time than phase 2.",
            LESS,
            LOWER,
            lambda seconds, _: seconds(4, "communication", 2) / seconds(2, "communication", 2),
        ),
        *ratio_cases(
            "communication-grows-faster",
            "From 2 to {most} processors, communication grows by a larger factor in phase 4 than in phase 2.",
            MORE,
            GROWS,
            lambda seconds, most: growth(4, "communication")(seconds, most) / growth(2, "communication")(seconds, most),
        ),
        *ratio_cases(
            "communication-grows-phase-4",
            "From 2 to {most} processors, communication time grows in phase 4.",
            MORE,
            GROWS,
            growth(4, "communication"),
        ),
        *ratio_cases(
            "communication-grows-phase-2",
            "From 2 to {most} processors, communication time grows in phase 2. With the reconstructed numbers and sizes of "
            "messages, which both fall as 1/P, equation 3 makes it fall; with messages of some 500 bytes it grows.",
            MORE,
            GROWS_OR_OWN,
            growth(2, "communication"),
            own=lambda dataset, most: float(communication_s(2, dataset, most) / communication_s(2, dataset, 2)),
        ),
    ]


def computation_and_disk_cases() -> list[Case]:
    """Growth of computation and disk times."""
    return [
        *ratio_cases(
            "computation-ideal-phase-2",
            "Computation of phase 2 is ideal: it is {most} times as fast on {most} processors.",
            1.0,
            ADDED,
            lambda seconds, most: seconds(2, "computation", 1) / seconds(2, "computation", most) / most,
        ),
        *ratio_cases(
            "computation-ideal-phase-4",
            "Computation of phase 4 is ideal: it is {most} times as fast on {most} processors.",
            1.0,
            ADDED,
            lambda seconds, most: seconds(4, "computation", 1) / seconds(4, "computation", most) / most,
        ),
        *ratio_cases(
            "disk-phase-2",
            "Disk time of phase 2 speeds up like computation: {most} times on {most} processors.",
            1.0,
            ADDED,
            lambda seconds, most: seconds(2, "disk", 1) / seconds(2, "disk", most) / most,
        ),
        *ratio_cases(
            "disk-phase-4-limited",
            "In phase 4, each doubling of the processors saves a smaller part of the disk time: the last up to {most} "
            "leaves a larger part of it than the first.",
            MORE,
            GROWS,
            lambda seconds, most: (
                (seconds(4, "disk", most) / seconds(4, "disk", most // 2))
                / (seconds(4, "disk", 2) / seconds(4, "disk", 1))
            ),
        ),
    ]


def limits(dataset: str) -> tuple[float, float]:
    """Disk time of phase 4 as a + b / P: both numbers from the forecasts of 1024 and 2048 processors."""
    before, last = forecasts(dataset, 4, "disk")[-2:]
    constant_s = 2 * last - before
    return float(constant_s), float((last - constant_s) * MOST)


def constant_cases() -> list[Case]:
    """Phase 4: disk time becomes constant, later for larger data sets."""
    pairs = [f"{after} over {before}" for before, after in pairwise(DATASETS)]

    def points() -> dict[Label, float]:
        half = [falling_s / constant_s for constant_s, falling_s in map(limits, DATASETS)]
        return row(pairs, [after / before for before, after in pairwise(half)])

    return [
        stated_case(
            "disk-phase-4-constant",
            "In phase 4, disk time falls to a constant: the startups of a number of requests that stays the same.",
            {name: startups_s(4, name, MOST) for name in DATASETS},
            ADDED,
            "forecast",
            lambda: Readings(forecast={name: limits(name)[0] for name in DATASETS}),
            unit="s",
        ),
        stated_case(
            "disk-phase-4-point",
            "In phase 4, the number of processors at which half of the disk time is its constant part is higher for "
            "larger data sets.",
            dict.fromkeys(pairs, MORE),
            GROWS,
            "forecast",
            lambda: Readings(forecast=points()),
        ),
    ]


# Numbers and sizes of messages.


def traffic_case(phase: int, place: int, dataset: str) -> Case:
    """How the number (``place`` 0) or size (1) of the messages changes when the processors are doubled."""
    readings = ("forecast", "simulation") if dataset in SIMULATED else ("forecast",)
    ranks = (2, 4, 8, 16, 32) if dataset in SIMULATED else RANKS[1:]
    constant_number = phase == 4 and place == 0
    what = ("all-to-all broadcasts of a processor", "the size of a message")[place]

    def measure() -> Readings:
        counted = {
            name: np.array([traffic(name, dataset, phase, count)[place] for count in ranks]) for name in readings
        }
        return Readings(**{name: row(ranks[1:], values[1:] / values[:-1]) for name, values in counted.items()})

    return stated_case(
        f"{'broadcasts' if place == 0 else 'message-size'}-phase-{phase}-{dataset}",
        f"When the processors are doubled to the number shown, {what} in phase {phase} "
        f"{'stay as they are' if constant_number else 'falls' if place else 'fall'}, {dataset} set.",
        dict.fromkeys(ranks[1:], 1.0 if constant_number else LESS),
        CLOSED if constant_number else FALLS,
        "both" if len(readings) == 2 else "forecast",
        measure,
        axis="processors",
        quick=len(readings) == 1,
        dataset=dataset,
    )


CASES: list[Case] = [
    *communication_cases(),
    *computation_and_disk_cases(),
    *constant_cases(),
    *(traffic_case(phase, place, dataset) for phase in (2, 4) for place in (0, 1) for dataset in ("test", "ultra")),
]
