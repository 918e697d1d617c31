"""Disks as stations of queueing theory: the machine, streams of requests at it, what long runs show, and their cases.

A service takes S = 10 ms in the mean. A case of the forecast holds it to rounding; one of the simulation holds it to a
tolerance that is chosen beforehand, and simulates as many requests as keep four standard deviations of each mean in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import simcodesign as sc
from simcodesign.core.errors import Place
from simcodesign.core.expressions.expression import parse
from simcodesign.core.native.shared_library import library
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.disk import Disk
from simcodesign.describe.machine_parts.processor import Processor
from simcodesign.describe.network.network import Network
from simcodesign.describe.programs.program import Step
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.topology.build import build_topology
from simcodesign.describe.workload import Workload
from simcodesign.studies.replication.output_analysis import BATCHES, LEAST_IN_BATCH, batch_means
from simcodesign.studies.validation.case import Case, Derived, Label, Readings, Tolerance

from ..machines import ROUNDING
from .long_runs import DEVIATIONS, requests_for

#: Mean service of a disk, in seconds.
S = 0.01
EXPONENTIAL = Distribution("exponential")
#: Room of a simulated mean, as a fraction of it: an error of 5 % in a formula lies three standard deviations beyond it.
MARGIN = 0.03
#: Requests that are simulated at once: a run of so many fits in the memory of any machine.
AT_ONCE = 250_000


def disks(nodes: int = 1, spindles: int = 1, shared_by: int = 1, processors_per_node: int = 1) -> Machine:
    """A machine of which the disks matter alone."""
    network = Network(build_topology("crossbar", max(nodes, 2)))
    disk = Disk(S, S, 0.0, shared_by=shared_by, spindles=spindles)
    return Machine("disks", Processor(1e9), network, disk=disk, processors_per_node=processors_per_node)


def stream(
    rate_per_s: float | str,
    requests: float,
    *,
    varies: Distribution = EXPONENTIAL,
    between: Distribution = EXPONENTIAL,
    capacity: int | None = None,
    routes: Sequence[Sequence[float]] = (),
) -> Workload:
    """Requests at the disk of every rank."""
    step = Arrivals(
        None,
        Place(),
        "disk",
        parse(rate_per_s),
        parse(requests),
        parse(0),
        between=between,
        varies=varies,
        capacity=None if capacity is None else parse(capacity),
        next=tuple(tuple(map(parse, row)) for row in routes),
    )
    return program(step)


def program(*steps: Step) -> Workload:
    """A workload of these steps."""
    return Workload("station", {}, {}, steps)


@dataclass(frozen=True)
class Seen:
    """What runs showed, all of them together; times in services."""

    runs: tuple[sc.Result, ...]

    @cached_property
    def responses(self) -> NDArray[np.float64]:
        """Of every request that was served."""
        return np.concatenate([_requests(run).response_s for run in self.runs]) / S

    @cached_property
    def span(self) -> float:
        """Time that was simulated."""
        return sum(float(run.makespan_s) for run in self.runs) / S

    @property
    def arrived(self) -> int:
        """Requests."""
        return sum(len(_requests(run)) for run in self.runs)

    @property
    def response(self) -> float:
        """Its mean."""
        return float(self.responses.mean())

    @property
    def wait(self) -> float:
        """Mean wait of those served, as the stations count it."""
        return sum(float(run.stations.wait_s.sum()) for run in self.runs) / S / len(self.responses)

    @property
    def blocked(self) -> float:
        """Share of the requests."""
        return sum(_requests(run).blocked for run in self.runs) / self.arrived

    def utilisation(self, station: int = 0) -> float:
        """Share of the time for which the servers of a station work."""
        busy = sum(float(run.stations.busy_s[station]) for run in self.runs) / S
        return busy / self.span / int(self.runs[0].stations.servers[station])

    @property
    def in_system(self) -> float:
        """Mean number over time, waiting and in service."""
        return float(self.responses.sum()) / self.span

    def delayed(self, servers: int) -> float:
        """Share of the requests that find all servers at work."""
        return sum(_finding_all_busy(run, servers) for run in self.runs) / self.arrived


def _requests(run: sc.Result) -> sc.result.Requests:
    assert run.requests is not None
    return run.requests


def _finding_all_busy(run: sc.Result, servers: int) -> int:
    """Requests that find as many before them as there are servers: those that arrived less those that have left."""
    requests = _requests(run)
    left = np.searchsorted(np.sort(requests.left_s), requests.arrived_s, side="right")
    return int(np.count_nonzero(np.arange(len(left)) - left >= servers))


def observe(work: Callable[[int], Workload], machine: Machine, requests: int, ranks: int = 1, seed: int = 0) -> Seen:
    """Runs of equal length with so many requests in all; ``work`` takes those of a rank. Seeds are seed, seed + 1 ..."""
    runs = math.ceil(requests / AT_ONCE)
    each = work(math.ceil(requests / runs / ranks))
    return Seen(
        tuple(sc.simulate(each, machine, {"P": ranks}, effects="disks, noise", seed=seed + run) for run in range(runs))
    )


# --- Cases ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quantity:
    """What is expected under a label, ``derived``, with the lines that lead to it; how a long run shows it, and its
    ``spread`` (see ``long_runs``; computed when it is needed). ``forecast``: the same in the forecast's Result, None
    where that does not have it.
    """

    label: Label
    derived: Derived
    shown: Callable[[Seen], float]
    spread: Callable[[], float]
    forecast: Callable[[sc.Result], float] | None = None
    lines: tuple[Derived, ...] = ()


def response_of(result: sc.Result) -> float:
    """Mean response in services."""
    return float(np.asarray(result.response_s)) / S


def blocked_of(result: sc.Result) -> float:
    """Share that is blocked."""
    return float(np.asarray(result.blocked))


def margin_tolerance(share: float) -> Tolerance:
    """For a mean of as many requests as it takes."""
    return Tolerance(
        f"{DEVIATIONS:g} standard deviations of the mean of so many correlated values, which are at most this share of "
        "it by Poisson's equation of the model (Whitt 1992); the empty start changes less than a hundredth of that",
        relative=share,
    )


@dataclass(frozen=True)
class Forecast:
    """One row of a case of the forecast: a description, and what its response in services (or ``of``) must be."""

    label: Label
    derived: Derived
    work: Workload
    machine: Machine = field(default_factory=disks)
    ranks: int = 1
    of: Callable[[sc.Result], float] = response_of
    lines: tuple[Derived, ...] = ()

    def value(self) -> float:
        """What the forecast says."""
        return self.of(sc.forecast(self.work, self.machine, {"P": self.ranks}))


def forecast_case(
    name: str, claim: str, source: str, rows: Sequence[Forecast], *, axis: str = "", tolerance: Tolerance = ROUNDING
) -> Case:
    """Closed forms against closed forms."""
    return Case(
        name=f"{name}/forecast",
        claim=claim,
        source=source,
        unit="",
        expected={row.label: row.derived.value for row in rows},
        tolerance=tolerance,
        reading="forecast",
        measure=lambda: Readings(forecast={row.label: row.value() for row in rows}),
        axis=axis,
        derivation=tuple(line for row in rows for line in (*row.lines, row.derived)),
        quick=True,
    )


def simulated_case(
    name: str,
    claim: str,
    source: str,
    quantities: Sequence[Quantity],
    work: Callable[[int], Workload],
    machine: Machine,
    *,
    seed: int,
    ranks: int = 1,
    margin: float = MARGIN,
    quick: bool = False,
    long: bool = False,
) -> Case:
    """A run of as many requests as it takes; ``work`` takes those of a rank. ``long``: of a million and more."""
    expected: dict[Label, float] = {one.label: one.derived.value for one in quantities}

    def measure() -> Readings:
        spreads = {one.label: one.spread() for one in quantities}
        requests = requests_for(max(spreads.values()), margin)
        observed = observe(work, machine, requests, ranks, seed)
        simulation = {one.label: one.shown(observed) for one in quantities}
        result = sc.forecast(work(requests), machine, {"P": ranks})
        forecast = {one.label: one.forecast(result) for one in quantities if one.forecast}
        notes = [f"{requests} requests in {len(observed.runs)} runs, seeds from {seed}", _batches(observed)]
        notes += [about(label, simulation[label], spread, requests) for label, spread in spreads.items()]
        return Readings(forecast, simulation, notes=(*notes, weakest(expected, simulation, margin)))

    return Case(
        name=f"{name}/simulation",
        claim=claim,
        source=source,
        unit="",
        expected=expected,
        tolerance=margin_tolerance(margin),
        reading="simulation",
        measure=measure,
        derivation=tuple(line for one in quantities for line in (*one.lines, one.derived)),
        quick=quick,
        full=long and library() is None,
    )


def about(label: Label, value: float, spread: float, count: int) -> str:
    """A mean with its interval by theory."""
    half = 1.96 * spread * abs(value) / math.sqrt(count)
    return f"{label}: {value:.5g}, 95 % interval {value - half:.5g} to {value + half:.5g} from its variance in theory"


def _batches(observed: Seen) -> str:
    if len(observed.responses) < BATCHES * LEAST_IN_BATCH:
        return "too few requests for batch means"
    response = batch_means(observed.responses).interval
    return f"response by batch means: {response.mean:.5g}, 95 % interval {response.low:.5g} to {response.high:.5g}"


def noticed(expected: float, value: float, margin: float) -> float:
    """Smallest relative error, of either sign, from which on a wrong expectation would have made the case differ."""
    ratio = value / expected
    return max(ratio / (1 - margin) - 1, 1 - ratio / (1 + margin))


def weakest(expected: dict[Label, float], simulation: dict[Label, float], margin: float) -> str:
    """The same over all labels."""
    errors = {label: noticed(expected[label], value, margin) for label, value in simulation.items()}
    label = max(errors, key=lambda one: errors[one])
    return f"formulas that are wrong by more than {100 * errors[label]:.2g} % would be noticed (worst: {label})"
