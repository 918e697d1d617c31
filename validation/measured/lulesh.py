"""LULESH on 64 to 343 ranks: the same work for each, so that whatever is not the mean rank's work is waiting.

Calibrated on the run of 27 ranks alone: the mean computation in each region, and how uneven ranks are, by one number, the
coefficient of variation of a lognormal distribution whose largest of 27 values is, in the mean, what the slowest rank
computes (the longest leapfrog step, whose messages wait for nobody). The runs of 64, 125, 216 and 343 ranks are evidence.

Source: LULESH 2.0.3 (Karlin, Keasler, Neely, LLNL-TR-641973), measured with Caliper (repository LLNL/thicket-tutorial).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

import simcodesign as sc
from simcodesign.comparison.compare import Comparison
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.studies.validation.case import Case, Derived, Readings, Tolerance

from ..published import tables

TABLE = "lulesh-regions"
SOURCE = "LULESH 2.0.3 with Caliper on Opal, repository LLNL/thicket-tutorial, commit d7e27e9a"
WORKLOAD, MACHINE = "lulesh-leapfrog", "opal"
#: The calibrated run; elements of a rank in all steps of it.
STEPS = 800
CALIBRATED, WORK = 27, STEPS * 30**3
#: Draws of uneven ranks whose mean is compared, and steps of each that are simulated.
SEEDS, SIMULATED_STEPS = 20, 16


def seconds(ranks: int, region: str, column: str = "mean") -> float:
    """Measured seconds of a region."""
    return tables.number(TABLE, column, ranks=ranks, region=region)


def computed_s(ranks: int) -> float:
    """What a rank computes in the mean: the leapfrog steps without messages."""
    parts = ("force", "nodal", "elements")
    return seconds(ranks, "leapfrog") - sum(seconds(ranks, f"messages_in_{part}") for part in parts)


def largest_of(count: int, variation: float) -> tuple[float, float]:
    """Mean and standard deviation of the largest of so many lognormal values of mean 1 and this coefficient of variation."""
    sigma = math.sqrt(math.log1p(variation**2))

    def moment(power: int) -> float:
        def integrand(z: float) -> float:
            value = math.exp(sigma * z - sigma**2 / 2) ** power
            return float(value * count * norm.cdf(z) ** (count - 1) * norm.pdf(z))

        return float(quad(integrand, -12, 12, limit=200)[0])

    mean = moment(1)
    return mean, math.sqrt(moment(2) - mean**2)


def spread(ranks: int) -> float:
    """How far the largest of so many draws is from its mean, as a fraction: two standard deviations."""
    mean, deviation = largest_of(ranks, _variation())
    return 2 * deviation / mean


def _variation() -> float:
    return float(sc.Workload.load(WORKLOAD).imbalance_model.distribution.parameters["variation"])


@cache
def simulated_s(ranks: int) -> float:
    """The mean over draws of uneven ranks. A rank that is slow is so in all steps, so that some stand for all."""
    point = {"P": ranks, "iterations": SIMULATED_STEPS}
    runs = [sc.simulate(WORKLOAD, MACHINE, point, effects="all", seed=seed, engine="compiled") for seed in range(SEEDS)]
    return float(np.mean([run.makespan_s for run in runs])) * STEPS / SIMULATED_STEPS


def forecast_s(ranks: int) -> float:
    """Forecast the run of even ranks, in seconds."""
    return float(sc.forecast(WORKLOAD, MACHINE, {"P": ranks}).makespan_s)


def _ladder(ranks: int, measured: MeasuredValue) -> Comparison:
    return sc.compare(
        WORKLOAD,
        MACHINE,
        {"P": ranks},
        effects="all",
        engine="compiled",
        measured=MeasuredTimes(measured, at={"P": ranks}),
    )


def _total(ranks: int) -> MeasuredValue:
    low, mean, high = (seconds(ranks, "main", column) for column in ("lowest", "mean", "highest"))
    return MeasuredValue(mean, low, high, ranks, "lowest and highest rank")


def _case(name: str, claim: str, ranks: tuple[int, ...], because: str = "") -> Case:
    measured = {count: _total(count) for count in ranks}

    def measure() -> Readings:
        forecasts = {count: forecast_s(count) for count in ranks}
        return Readings(
            forecasts,
            {count: simulated_s(count) for count in ranks},
            ladders={f"{count} ranks, one draw": _ladder(count, measured[count]) for count in ranks[:1]},
            notes=(
                f"mean of {SEEDS} draws of uneven ranks each; constants of the machine's messages are assumed, and matter "
                "little: without uneven ranks, all messages take less than 0.1 s",
            ),
        )

    margin = max(spread(count) for count in ranks)
    return Case(
        name=f"lulesh/{name}",
        claim=claim,
        source=SOURCE,
        unit="s",
        expected={count: float(one) for count, one in measured.items()},
        measured=measured,
        axis="ranks",
        reading="simulation",
        tolerance=Tolerance("a run is one draw of its ranks: two standard deviations of the largest", relative=margin),
        measure=measure,
        because=because,
        workload=WORKLOAD,
        machine=MACHINE,
    )


def _calibration() -> Case:
    """The numbers of the workload file are those of the run of 27 ranks."""
    slowest, mean = seconds(CALIBRATED, "leapfrog", "highest"), computed_s(CALIBRATED)
    lines = (
        Derived(
            "c",
            "(l - m) / w",
            {"l": seconds(CALIBRATED, "leapfrog"), "m": seconds(CALIBRATED, "leapfrog") - mean, "w": WORK},
            "s",
        ),
        Derived("r", "s / c", {"s": slowest, "c": mean}),
    )

    def measure() -> Readings:
        parameters = sc.Workload.load(WORKLOAD).parameters
        names = ("force_s", "nodal_s", "gradients_s", "state_s", "constraints_s")
        total = sum(float(parameters[name].default) for name in names)
        return Readings({"computation": total * WORK, "largest of 27": largest_of(CALIBRATED, _variation())[0]})

    return Case(
        name="lulesh/calibration",
        claim="The workload's constants are those of the run of 27 ranks, which is no evidence then.",
        source=SOURCE,
        unit="",
        expected={"computation": mean, "largest of 27": slowest / mean},
        reading="forecast",
        tolerance=Tolerance("constants have three digits", relative=2e-3),
        measure=measure,
        derivation=lines,
        quick=True,
    )


CASES = (
    _calibration(),
    _case(
        "uneven-ranks",
        "All wait for the slowest rank in each step: half of the time is not the mean rank's work.",
        (64, 125, 343),
    ),
    _case(
        "uneven-ranks/216",
        "The same on 216 ranks.",
        (216,),
        because="this run had even processors: forces on volumes take 0.94 to 1.06 of their mean there, and up to 1.4 to "
        "1.6 of it in the other runs, on other nodes; how even the next run's nodes are is in no other run's times",
    ),
)
