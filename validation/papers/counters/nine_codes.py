"""How well counters of small runs predict nine codes: the rows of docs/tables/nine-codes.csv, as lines of Markdown.

``python -m validation.papers.counters.nine_codes`` prints it. Errors are not normal: those of a/P + b P^c + d have tails
of several hundred per cent, and a few seeds may all miss them. So medians over seeds are given, with an interval of
order statistics, which holds for any continuous distribution (David and Nagaraja, Order Statistics, section 7.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from simcodesign.counters.prediction import ANALYTIC, EMPIRICAL
from simcodesign.describe.scenario import Scenario
from simcodesign.studies.extrapolation.study import Extrapolation, run_extrapolation
from simcodesign.studies.extrapolation.trials import PLAIN, ApplicationRun, Trial

from .predictions import CODES, MACHINE, Code

SEEDS = range(20)
LEVEL = 0.95


@dataclass(frozen=True)
class MedianInterval:
    """The median of a sample, and the narrowest symmetric order statistics around it whose interval holds the true
    median with a probability (``coverage``) of at least the level; infinite ends where the sample is too small."""

    median: float
    low: float
    high: float
    coverage: float


def median_interval(values: Sequence[float], level: float = LEVEL) -> MedianInterval:
    """Of independent draws of one continuous distribution: the k-th least and k-th largest miss the median with a
    probability of 2 P(B < k), B binomial of n and 1/2."""
    ordered, count = np.sort(np.asarray(values, dtype=np.float64)), len(values)
    outside = int(binom.ppf((1 - level) / 2, count, 0.5))  # the least k with P(B <= k) >= (1 - level)/2
    if outside == 0:
        return MedianInterval(float(np.median(ordered)), -np.inf, np.inf, 1.0)
    coverage = 1 - 2 * float(binom.cdf(outside - 1, count, 0.5))
    return MedianInterval(float(np.median(ordered)), float(ordered[outside - 1]), float(ordered[-outside]), coverage)


#: The workload, its profiled size and its runs.
STUDIED = {
    **{code.upper(): (f"npb-{code}", "A", runs) for code, runs in CODES.items()},
    "CICE": ("cice", "gx3", Code(larger="gx1")),
    "HOMME": ("homme", "small", Code(larger="")),
}


def trials(name: str, seeds: Iterable[int] = SEEDS) -> tuple[Trial, ...]:
    """At the target, and for the next size there, where it is small enough to be simulated."""
    workload, preset, runs = STUDIED[name]
    targets = [ApplicationRun(runs.target)]
    if runs.larger:
        targets.append(ApplicationRun(runs.target, runs.larger, volume=runs.volume))
    scenario = Scenario.of(workload, MACHINE, preset=preset)
    question = Extrapolation(scenario, runs.profile, tuple(targets))
    return run_extrapolation(question, tuple(seeds)).trials


def errors(trial: Trial, method: str) -> tuple[float, ...]:
    """Signed relative errors, one for each seed."""
    return tuple(outcome.error(method) for outcome in trial.outcomes)


def cell(values: Sequence[float]) -> str:
    """As ``+19 % (+12 to +45)``."""
    found = median_interval([100 * value for value in values])
    return f"{found.median:+.0f} % ({found.low:+.0f} to {found.high:+.0f})"


def line(name: str, seeds: Iterable[int] = SEEDS) -> str:
    """One code: three methods at the target, two at the next size."""
    at_target, *next_size = trials(name, seeds)
    cells = [cell(errors(at_target, method)) for method in (PLAIN, ANALYTIC, EMPIRICAL)]
    cells += [cell(errors(trial, method)) for trial in next_size for method in (PLAIN, ANALYTIC)]
    return f"| {' | '.join([name, *cells])} |"


if __name__ == "__main__":
    for code in STUDIED:
        print(line(code), flush=True)
