"""How much of a gap each step explains, and how large a difference is relative to its operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from simcodesign.core.result import Result

#: Differences below this fraction of the first time are rounding: each reading adds some 10^5 numbers.
ROUNDING = 1e-10


def changes_of(times_s: Sequence[float]) -> list[tuple[float, float]]:
    """Return what each time adds to the previous one, in seconds, and its fraction of the gap (nan without a gap)."""
    least_s = ROUNDING * times_s[0]
    changes = [0.0 if abs(after - before) <= least_s else after - before for before, after in pairwise(times_s)]
    gap = sum(changes)
    is_gap = abs(gap) > least_s  # changes may cancel except for rounding
    return [(change, change / gap if is_gap else float("nan")) for change in changes]


#: The last step of a ladder where a time was measured.
UNEXPLAINED = "not explained"


@dataclass(frozen=True)
class LadderStep:
    """One step of a ladder that goes beyond the simulation, or begins before the forecast.

    ``time_s`` after it, what it adds, and its fraction of the whole gap (nan when there is none).
    """

    step: str
    time_s: float
    change_s: float
    fraction: float


def steps_to(start_s: float, times_s: Mapping[str, float], measured_s: float | None) -> tuple[LadderStep, ...]:
    """Return a ladder from a time through others, by their names, to what was measured, if anything was."""
    ends_s = {**times_s, **({} if measured_s is None else {UNEXPLAINED: measured_s})}
    changes = changes_of([start_s, *ends_s.values()])
    return tuple(
        LadderStep(step, time_s, *change) for (step, time_s), change in zip(ends_s.items(), changes, strict=True)
    )


@dataclass(frozen=True)
class DemandGap:
    """Time of one demand in the forecast, and what it adds to a simulation without effects.

    The forecast adds up closed forms; the simulation counts what the demand adds to the end. ``change_s`` below 0: it
    begins before the one before it has ended everywhere; above 0: ranks wait in it for others that come late.
    """

    phase: str
    demand: str
    times: float
    forecast_s: float
    simulated_s: float
    change_s: float


#: Stands for the demands of a loop together: what queueing theory adds to the forecast.
QUEUEING = "waits by queueing theory"


def gaps_by_demand(forecast: Result, simulation: Result) -> tuple[DemandGap, ...]:
    """Return the difference of two makespans by the demands of the program, in its order: they add up to it.

    Empty if one of the Results has no demands.
    """
    if not forecast.demands or not simulation.demands:
        return ()
    gaps = [
        DemandGap(one.phase, one.demand, one.times, one.time_s, other.time_s, other.time_s - one.time_s)
        for one, other in zip(forecast.demands, simulation.demands, strict=True)
    ]
    if forecast.formulas:
        waits_s = float(forecast.makespan_s) - sum(one.time_s for one in forecast.demands)
        gaps.append(DemandGap("", QUEUEING, 1.0, waits_s, 0.0, -waits_s))
    return tuple(gaps)


def is_farther(error: float, other: float) -> bool:
    """Whether a relative error is larger than another one by more than rounding."""
    return abs(error) > abs(other) * (1 + ROUNDING) + ROUNDING


def relative_error(forecast: float, simulated: float) -> float:
    """(forecast - simulated) / simulated; 0 when both are 0, nan when only ``simulated`` is."""
    if simulated == 0:
        return 0.0 if forecast == 0 else float("nan")
    return (forecast - simulated) / simulated
