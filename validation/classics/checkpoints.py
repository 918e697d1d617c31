"""Checkpoints and failures: the makespans of Young and Daly against means of simulations, and the best interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import simcodesign as sc
from simcodesign.studies.replication.output_analysis import Interval
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from .formula_cases import FormulaRuns, formula_case

YOUNG = "J. Young, CACM 17(9), 1974"
DALY = "J. Daly, Future Generation Computer Systems 22, 2006"
WORKLOAD, MACHINE = "checkpointed", "failing-torus"
#: Simulations of each point, and the confidence of the intervals that notes give.
RUNS, CONFIDENCE = 200, 0.99
MINUTE, HOUR = 60.0, 3600.0
#: Time between two failures of any node, by what it is called -> parameters that make it so on ``MACHINE``.
FAILURES: Mapping[str, Mapping[str, object]] = {
    "24 h": {"P": 1024},
    "6 h": {"P": 4096},
    "15 min": {"P": 1024, "failures.mtbf": 1024 * 15 * MINUTE},
}


def _label(between: str, interval_s: float) -> str:
    return f"{between}, {interval_s / MINUTE:g} min"


@cache
def _simulated_s(between: str, interval_s: float) -> Interval:
    """The mean makespan of ``RUNS`` simulations, with its interval."""
    several = sc.simulate(
        WORKLOAD,
        MACHINE,
        {**FAILURES[between], "interval": interval_s},
        effects="failures",
        replications=RUNS,
        level=CONFIDENCE,
        engine="simpy",
    )
    return several.interval("makespan_s")


def _mean_case(
    name: str,
    claim: str,
    source: str,
    formula: str,
    points: Sequence[tuple[str, float]],
    fails: str = "",
    quick: bool = False,
) -> Case:
    """The formula against means of simulations; its ladder is that of one of them."""
    parameters = {_label(*point): {**FAILURES[point[0]], "interval": point[1]} for point in points}
    runs = FormulaRuns(WORKLOAD, formula, MACHINE, parameters, effects="failures")
    largest = "failures" if fails else ""
    one = formula_case(name, claim, runs, source=source, fails=fails, largest=largest, quick=quick)
    assert one.measure is not None
    single = one.measure

    def measure() -> Readings:
        means = {_label(*point): _simulated_s(*point) for point in points}
        notes = [
            f"{label}: mean of {RUNS} simulations {mean.mean / HOUR:.5g} h, {CONFIDENCE:.0%} interval "
            f"{mean.low / HOUR:.5g} to {mean.high / HOUR:.5g} h"
            for label, mean in means.items()
        ]
        return replace(single(), simulation={label: mean.mean for label, mean in means.items()}, notes=tuple(notes))

    return replace(one, measure=measure)


def _interval_case(name: str, published_min: Mapping[str, float], rounding_min: float) -> Case:
    def measure() -> Readings:
        found = {}
        for between in published_min:
            failures = sc.forecast(WORKLOAD, MACHINE, FAILURES[between]).failures
            assert failures is not None
            found[between] = float(failures.daly_interval_s) / MINUTE
        return Readings(found)

    return Case(
        name=f"classics/checkpoints/best-interval/{name}",
        claim="The interval between checkpoints with which 500 hours of work end first.",
        source=f"{DALY}, Figures 3 to 5",
        unit="min",
        expected=published_min,
        reading="forecast",
        tolerance=Tolerance("half of the last digit that is printed", absolute=rounding_min / 2),
        measure=measure,
        workload=WORKLOAD,
        machine=MACHINE,
        quick=True,
    )


DAY = [("24 h", HOUR), ("24 h", 117 * MINUTE), ("24 h", 4 * HOUR)]
SIX_HOURS = [("6 h", 0.5 * HOUR), ("6 h", 57 * MINUTE), ("6 h", 2 * HOUR)]
QUARTER = [("15 min", 9.1 * MINUTE)]

CASES = (
    _mean_case(
        "checkpoints/daly",
        "The mean makespan with exponential failures, which may come during checkpoints and restarts too.",
        f"{DALY}, complete model",
        "daly",
        [*DAY, *SIX_HOURS, *QUARTER],
    ),
    _mean_case(
        "checkpoints/young",
        "The mean makespan to first order, where failures are rare.",
        YOUNG,
        "young",
        [*DAY, *SIX_HOURS[:2]],
    ),
    _mean_case(
        "checkpoints/young/many-failures",
        "The same with 15 minutes between failures.",
        YOUNG,
        "young",
        QUARTER,
        fails="checkpoints of 5 minutes and restarts of 10 fail themselves, again and again",
        quick=True,
    ),
    _interval_case("hours", {"24 h": 117.0, "6 h": 57.0}, 1.0),
    _interval_case("minutes", {"15 min": 9.1}, 0.1),
)
