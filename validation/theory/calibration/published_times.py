"""Resource-usage constants from published times: the seismic tables.

Source: Armstrong and Eigenmann, Performance Forecasting: Characterization of Applications on Current and Future
Architectures, Tables 1, 3 and 6. Which numbers are calibration and which evidence stands in every claim.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from simcodesign.calibration.calibrate import calibrate
from simcodesign.calibration.timings import Timing
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.studies.validation.case import Case, Readings

from ...papers.seismic.equations import (
    MACHINE,
    PAPER,
    PHASES,
    WORKLOAD,
    constant,
    structure,
)
from ...papers.seismic.tables import COUNTS, THREE_DIGITS
from ...published.tables import half_unit, number
from .made_up_times import DISK, NETWORK, estimates


def columns(phase: int, ranks: np.ndarray) -> np.ndarray:
    """What the equations add up, as functions of P alone, whatever the counts: computation and what else falls as 1/P,
    messages, their bytes; in phase 4 a constant number of disk startups."""
    if phase == 2:  # broadcasts and sizes fall as 1/P (section 3.3)
        return np.stack([1 / ranks, (ranks - 1) / ranks, (ranks - 1) / ranks**2], axis=1)
    return np.stack([1 / ranks, ranks - 1, (ranks - 1) / ranks, np.ones(len(ranks))], axis=1)


def best_fit(phase: int, ranks: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The times nearest (relatively to themselves) that the equations can give, with no factor below 0: every choice of
    factors that are 0 is tried."""
    design, fitted = columns(phase, ranks), times
    for _ in range(30):
        tried = []
        for count in range(1, 4):
            for chosen in combinations(range(design.shape[1]), count):
                part = design[:, chosen]
                factors = np.linalg.lstsq(part / fitted[:, None], times / fitted, rcond=None)[0]
                if np.all(factors >= -1e-9):
                    tried.append(part @ factors)
        fitted = min(tried, key=lambda values, scale=fitted: float(np.sum(((values - times) / scale) ** 2)))
    return fitted


def table_1_case(phase: int) -> Case:
    """Times of the small set on 4, 8 and 16 processors."""
    ranks = np.array([4.0, 8.0, 16.0])
    times = np.array([number("seismic-table-1", f"phase{phase}", P=int(count)) for count in ranks])
    unknown = ["computation", *NETWORK, *(["disk.read_startup"] if phase == 4 else [])]

    worst = float(np.max(np.abs(best_fit(phase, ranks, times) / times - 1)))

    def measure() -> Readings:
        made = [
            Timing(seconds, {"P": count}, "small", PHASES[phase])
            for count, seconds in zip(ranks.tolist(), times.tolist(), strict=True)
        ]
        calibration = calibrate(WORKLOAD, MACHINE, made, unknown=unknown)
        words = [
            f"{unknown} = {estimate.value:.3g}, 90 % interval {estimate.low:.3g} to {estimate.high:.3g}"
            for unknown, estimate in zip(calibration.unknowns, calibration.fit.estimates, strict=True)
        ]
        fitted = dict(zip(map(int, ranks), calibration.fit.fitted_s.tolist(), strict=True))
        note = "What differs is more than the rounding of printed times; how much single runs scatter is not published."
        return Readings(
            forecast=fitted,
            notes=(
                note,
                "With the reconstructed counts (constants in SI units): " + "; ".join(words),
            ),
        )

    return Case(
        name=f"calibration/table-1/phase-{phase}",
        claim=f"Some time of computation and some constants, none below 0, give the times of phase {phase} of the small set "
        "on 4, 8 and 16 processors by equations 2 to 4. The times are evidence: no calibrated computation time is used, "
        "and counts enter only by how section 3.3 lets them change with P.",
        source=f"{PAPER}, Table 1; equations 2 to 4; section 3.3",
        unit="s",
        expected=dict(zip(map(int, ranks), times.tolist(), strict=True)),
        measured=dict(zip(map(int, ranks), map(MeasuredValue, times.tolist()), strict=True)),
        because="times of single runs, whose scatter is not published, are no sum of the terms of equations 2 to 4 to three "
        f"digits; the best fit is off by {worst:.1%} at most",
        tolerance=THREE_DIGITS,
        reading="forecast",
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"preset": "small"},
        axis="processors",
        quick=True,
    )


# Table 3: one time for each phase and component.


def table_3_case(phase: int, part: str, column: str, names: dict[str, str], lacking: str) -> Case:
    """Constants of Table 6 from the measured times of Table 3."""
    seconds = number("seismic-table-3", f"phase{phase}", component=column)
    iterations = float(structure(phase, "iterations", "test", 16))

    def measure() -> Readings:
        made = [Timing(seconds, {"P": 16}, "test", PHASES[phase], part)]
        calibration = calibrate(
            WORKLOAD,
            MACHINE,
            made,
            unknown=list(names),
            error=half_unit("seismic-table-3", f"phase{phase}", component=column) / seconds,
        )
        notes = [
            f"{unknown}: anything from {estimate.least:.3g} to {estimate.most:.3g} gives the measured time; "
            f"Table 6 says {constant(names[unknown.path], phase):.3g}."
            for unknown, estimate in zip(calibration.unknowns, calibration.fit.estimates, strict=True)
        ]
        (one,) = calibration.fit.groups[0].combinations
        published = sum(
            weight * constant(names[path], phase) for weight, path in zip(one.weights.values(), names, strict=True)
        )
        terms = " + ".join(
            f"{weight:.4g} {name}" for weight, name in zip(one.weights.values(), names.values(), strict=True)
        )
        notes.append(
            f"Determined is {terms} = {one.value:.4g} s, with reconstructed counts; Table 6 gives {published:.4g} s."
        )
        notes.append(f"{iterations:g} iterations of the main loop were reconstructed.")
        return Readings(forecast=estimates(calibration, names), notes=tuple(notes))

    return Case(
        name=f"calibration/table-3/{part}-phase-{phase}",
        claim=f"The {part} time of phase {phase} of the test set gives the constants of Table 6. The time is "
        f"{'calibration: a count was chosen for it' if part == 'disk' and phase != 2 else 'evidence'}.",
        source=f"{PAPER}, Tables 3 and 6",
        unit="SI units",
        expected={f"{name}, phase {phase}": constant(name, phase) for name in names.values()},
        tolerance=THREE_DIGITS,
        reading="forecast",
        measure=measure,
        needs={lacking: None, COUNTS: None},
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"preset": "test", "P": 16},
        quick=True,
    )


def factor_case() -> Case:
    """Factors of the phases' disk constants, from the measured times and the vector of phase 1."""
    phases = (2, 4)
    table = "seismic-table-3"
    vector = {path: constant(name, 1) for path, name in DISK.items()}

    def measure() -> Readings:
        made = [
            Timing(number(table, f"phase{phase}", component="io"), {"P": 16}, "test", PHASES[phase], "disk")
            for phase in phases
        ]
        calibration = calibrate(WORKLOAD, MACHINE, made, unknown=[], ratios=[vector])
        values = [estimate.value for estimate in calibration.fit.estimates]
        return Readings(forecast={f"phase {phase}": value for phase, value in zip(phases, values, strict=True)})

    return Case(
        name="calibration/table-3/disk-factors",
        claim="With the disk constants of phase 1 as the vector, the disk times of phases 2 and 4 of the test set give the "
        "factors of Table 6. Phase 2 is evidence; phase 4 is calibration: the number of its writes was chosen for it.",
        source=f"{PAPER}, Tables 3 and 6",
        unit="ratio",
        expected={f"phase {phase}": constant("CWr-Start", phase) / constant("CWr-Start", 1) for phase in phases},
        tolerance=THREE_DIGITS,
        reading="forecast",
        measure=measure,
        needs={COUNTS: None},
        workload=WORKLOAD,
        machine=MACHINE,
        parameters={"preset": "test", "P": 16},
        quick=True,
    )


ANOTHER_SIZE = "communication times with messages of another size"
ANOTHER_ACCESS = "disk times with accesses of other sizes and numbers"


CASES: list[Case] = [
    table_1_case(2),
    table_1_case(4),
    table_3_case(2, "communication", "comm", NETWORK, ANOTHER_SIZE),
    table_3_case(4, "communication", "comm", NETWORK, ANOTHER_SIZE),
    table_3_case(2, "disk", "io", DISK, ANOTHER_ACCESS),
    factor_case(),
]
