"""Failures and coordinated checkpoints: mean makespans and the best interval, by Young and by Daly.

Sources: J. Young, "A First Order Approximation to the Optimum Checkpoint Interval", CACM 17(9), 1974; J. Daly, "A Higher
Order Estimate of the Optimum Checkpoint Interval for Restart Dumps", Future Generation Computer Systems 22, 2006.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import lambertw

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.forecast_parts import FailureForecast
from simcodesign.describe.demands.computation import Compute
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.network import Network
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.randomness.node_failures import Checkpoints, Failures
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Derived, Readings, Tolerance

YOUNG = "J. Young, CACM 17(9), 1974"
DALY = "J. Daly, Future Generation Computer Systems 22, 2006"
#: Seconds of work, of a checkpoint, of a restart; nodes.
T, D, R, NODES = 500 * 3600.0, 300.0, 600.0, 16
#: Seconds between two failures of any node.
MTBFS = {"6-hours": 6 * 3600.0, "day": 86400.0}
#: Simulations of each, and how many standard deviations of their mean are allowed.
RUNS, DEVIATIONS = 400, 4.0


def _program(interval_s: float) -> Workload:
    checkpoints = Checkpoints(parse(interval_s), parse(D), parse(R))
    return Workload("work", {}, {}, (Compute(None, Place(), "seconds", parse(T)),), checkpoints=checkpoints)


def _machine(mtbf_s: float) -> Machine:
    failures = Failures(mtbf_s * NODES, Distribution("exponential"))
    return Machine("failing", Processor(1e9), Network(build_topology("crossbar", NODES)), failures=failures)


def _forecast(interval_s: float, mtbf_s: float) -> FailureForecast:
    result = sc.forecast(_program(interval_s), _machine(mtbf_s)).failures
    assert isinstance(result, FailureForecast)
    return result


def _simulated_s(interval_s: float, mtbf_s: float) -> np.ndarray:
    point = _program(interval_s), _machine(mtbf_s)
    runs = (sc.simulate(*point, effects="failures", seed=seed, engine="simpy") for seed in range(RUNS))
    return np.array([float(run.makespan_s) for run in runs])


def daly(interval_s: float, mtbf_s: float) -> Derived:
    """Daly's complete model, without a checkpoint after the end."""
    symbols = {"T": T, "d": D, "R": R, "M": mtbf_s, "t": interval_s}
    return Derived("E", "M*exp(R/M)*((T/t - 1)*(exp((t + d)/M) - 1) + exp(t/M) - 1)", symbols, "s")


def best_interval_s(mtbf_s: float) -> float:
    """The interval for which Daly's complete model is least: (1 - t / M) e^(t / M) = e^(-d / M), by Lambert's W."""
    return float(mtbf_s * (1 + lambertw(-math.exp(-1 - D / mtbf_s)).real))


def _daly_case(name: str, mtbf_s: float) -> Case:
    intervals_s = [T / count for count in (1000, 300, 100)]
    lines = [daly(interval_s, mtbf_s) for interval_s in intervals_s]

    def measure() -> Readings:
        several = {interval_s: _simulated_s(interval_s, mtbf_s) for interval_s in intervals_s}
        return Readings(
            {interval_s: float(_forecast(interval_s, mtbf_s).daly_s) for interval_s in intervals_s},
            {interval_s: float(times.mean()) for interval_s, times in several.items()},
            derivation=tuple(lines),
            notes=(f"mean of {RUNS} simulations each",),
        )

    # The variance of a run is below that of Poisson failures each of which costs a whole interval and a restart.
    costs_s = [interval_s + D + R for interval_s in intervals_s]
    deviations = [math.sqrt(line.value / mtbf_s) * cost / line.value for line, cost in zip(lines, costs_s, strict=True)]
    margin = DEVIATIONS * max(deviations) / math.sqrt(RUNS)
    return Case(
        name=f"failures/daly/{name}",
        claim="The mean makespan with exponential failures, which may come during checkpoints and restarts too.",
        source=f"{DALY}, complete model",
        unit="s",
        expected={interval_s: line.value for interval_s, line in zip(intervals_s, lines, strict=True)},
        axis="interval (s)",
        reading="both",
        tolerance=Tolerance(f"{DEVIATIONS:g} standard deviations of a mean of {RUNS} runs at most", relative=margin),
        measure=measure,
    )


def _interval_case(name: str, mtbf_s: float) -> Case:
    ratio = math.sqrt(D / (2 * mtbf_s))
    best_s = best_interval_s(mtbf_s)

    def measure() -> Readings:
        one = _forecast(best_s, mtbf_s)
        assert one.daly_interval_s is not None
        return Readings({"interval": float(one.daly_interval_s)})

    return Case(
        name=f"failures/best-interval/{name}",
        claim="The interval between checkpoints with which the program ends first.",
        source=f"{DALY}, estimate of the optimum, against the optimum itself",
        unit="s",
        expected={"interval": best_s},
        reading="forecast",
        tolerance=Tolerance("the estimate leaves out powers of sqrt(d / 2M) from the third on", relative=ratio**3),
        measure=measure,
    )


def _young_case() -> Case:
    mtbf_s = 3 * 86400.0
    interval_s = T / round(T / math.sqrt(2 * D * mtbf_s))
    symbols = {"T": T, "d": D, "R": R, "M": mtbf_s, "t": interval_s}
    line = Derived("E", "T*(1 + (t/2 + R)/M) + (T/t - 1)*d", symbols, "s")

    def measure() -> Readings:
        forecast = {"makespan": float(_forecast(interval_s, mtbf_s).young_s)}
        return Readings(forecast, {"makespan": float(_simulated_s(interval_s, mtbf_s).mean())}, derivation=(line,))

    return Case(
        name="failures/young/three-days",
        claim="The mean makespan to first order, where failures are rare.",
        source=f"{YOUNG}; time that is lost on average: half an interval",
        unit="s",
        expected={"makespan": line.value},
        reading="both",
        tolerance=Tolerance(
            "what is left out is of the order of (interval / M)^2", relative=(interval_s / mtbf_s) ** 2
        ),
        measure=measure,
    )


CASES = (
    *(_daly_case(name, mtbf_s) for name, mtbf_s in MTBFS.items()),
    *(_interval_case(name, mtbf_s) for name, mtbf_s in MTBFS.items()),
    _young_case(),
)
