"""Ciw (Palmer, Knight, Harper, Hawa, Journal of Simulation 13, 2019) beside ours: queues of the literature.

``ciw.csv`` has means of many long runs with their standard errors. Times are in mean services S of a disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import simcodesign as sc
from simcodesign.describe.machine import Machine
from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Readings, Tolerance

from ..theory.queueing.jackson import OPEN
from ..theory.queueing.machine_repairman import Loop
from ..theory.queueing.stations import EXPONENTIAL, S, blocked_of, disks, observe, response_of, stream
from .record import table

#: The two disks with feedback, and the loop, from the cases of theory.
TWO_DISKS, LOOP = OPEN[0], Loop(own=4.0, spindles=2)
#: Ranks that loop.
CUSTOMERS = 6
SOURCE = "Ciw 3.2.7 (Palmer et al., Journal of Simulation 13(1), 2019)"


@dataclass(frozen=True)
class Queue:
    """One station: arrivals per mean service, servers, and places for those waiting and those in service together."""

    load: float
    servers: int = 1
    constant: bool = False
    capacity: int | None = None

    def work(self, requests: int) -> Workload:
        """So many requests."""
        varies = Distribution("deterministic") if self.constant else EXPONENTIAL
        return stream(self.load / S, requests, varies=varies, capacity=self.capacity)

    @property
    def machine(self) -> Machine:
        """One disk."""
        return disks(spindles=self.servers)


QUEUES = {
    "M/M/1": Queue(0.5),
    "M/M/3": Queue(1.8, servers=3),
    "M/D/1": Queue(0.7, constant=True),
    "M/M/2/5": Queue(2.5, servers=2, capacity=5),
}
#: Four standard errors of every recorded mean are less than this fraction of it.
MARGIN = 0.04
#: Requests of a simulation of ours, and the first of its seeds.
REQUESTS, SEED = 500_000, 7900


def recorded() -> dict[str, float]:
    """What Ciw said, by model and quantity."""
    return {f"{row.model}, {row.quantity}": float(row.theirs) for row in table("ciw").itertuples()}


def forecast() -> dict[str, float]:
    """The closed forms of ours, by the same."""
    values = {}
    for name, queue in QUEUES.items():
        result = sc.forecast(queue.work(100), queue.machine, {"P": 1})
        values[f"{name}, response"] = response_of(result)
        if queue.capacity is not None:
            values[f"{name}, blocked"] = blocked_of(result)
    ranks = len(TWO_DISKS.loads)
    values["two disks, response"] = response_of(sc.forecast(TWO_DISKS.work(100), disks(ranks), {"P": ranks}))
    return values | {"six customers, cycle": LOOP.forecast(CUSTOMERS)}


def simulated() -> dict[str, float]:
    """A long run of each."""
    values = {}
    for number, (name, queue) in enumerate(QUEUES.items()):
        observed = observe(queue.work, queue.machine, REQUESTS, seed=SEED + 10 * number)
        values[f"{name}, response"] = observed.response
        if queue.capacity is not None:
            values[f"{name}, blocked"] = observed.blocked
    ranks = len(TWO_DISKS.loads)
    observed = observe(TWO_DISKS.work, disks(ranks), REQUESTS, ranks, SEED + 50)
    values["two disks, response"] = observed.response
    return values | {"six customers, cycle": LOOP.simulated(CUSTOMERS, REQUESTS // CUSTOMERS, SEED + 60)}


def _case(reading: str, claim: str, tolerance: Tolerance, measure: Callable[[], Readings]) -> Case:
    return Case(
        printed=True,
        name=f"peers/ciw/{reading}",
        claim=claim,
        source=SOURCE,
        unit="",
        expected=recorded(),
        tolerance=tolerance,
        reading=reading,
        measure=measure,
        quick=reading == "forecast",
    )


CASES: list[Case] = [
    _case(
        "forecast",
        "Long runs of Ciw have the means of the closed forms.",
        Tolerance("four standard errors of the recorded mean that is known least", relative=MARGIN),
        lambda: Readings(forecast()),
    ),
    _case(
        "simulation",
        "Long runs of Ciw and of ours have the same means.",
        Tolerance(
            "four standard errors of the difference: of the recorded means, and of ours, which are half as large at most",
            relative=1.25 * MARGIN,
        ),
        lambda: Readings(simulation=simulated()),
    ),
]
