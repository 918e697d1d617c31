"""Loops of random demands whose ranks share a disk, a memory controller or an accelerator: closed queueing networks.

The ranks of a loop without messages alternate between their own work, in which they wait for nothing, and the stations
that they share: a network of as many requests as ranks share a station. Its mean cycle is given by mean value analysis,
exact if the services of a disk or an accelerator are exponential of one mean, whatever the distribution of the own
work; an approximation by residual lives otherwise. It holds for a loop with many iterations: ranks that have all begun
together drift apart first, and the last of them ends later than the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.queueing.moments import product_variation
from simcodesign.analytic.queueing.networks import mva
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine import Machine
from simcodesign.describe.randomness.distribution import Distribution

#: Stations that ranks share -> the component of the time at each, the noise of the machine that varies it.
STATIONS = {"disk": ("disk", "disk"), "memory": ("memory", "memory"), "accelerator": ("computation", "compute")}

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Visit:
    """A demand that a shared station serves: for ``service_s`` in the mean, ``times`` in all, in a phase.

    ``factors``: by which each service varies.
    """

    station: str
    phase: str
    service_s: FloatOrArray
    times: FloatOrArray
    factors: tuple[Distribution, ...]


@dataclass(frozen=True)
class Wait:
    """Waiting of the ranks in a phase, to be booked under the component of the station."""

    phase: str
    component: str
    wait_s: FloatOrArray


@dataclass
class Loop:
    """A repeated block while it is read: ``total_s`` of a rank in all, and its visits.

    ``coupled``: it has messages, by which ranks wait for each other, so that it is no closed network. ``random``: a
    demand in it varies.
    """

    total_s: FloatOrArray = 0.0
    visits: list[Visit] = field(default_factory=list)
    coupled: bool = False
    random: bool = False

    def add(self, component: str, time_s: FloatOrArray, varies: Distribution | None) -> None:
        """One demand more: its time in all."""
        self.total_s = self.total_s + time_s
        self.coupled = self.coupled or component == "communication"
        self.random = self.random or (varies is not None and not varies.constant)

    def queues(self, machine: Machine, ranks: FloatOrArray, shape: tuple[int, ...]) -> tuple[str, list[Wait]]:
        """Return the formula and the waits that it describes.

        None if no demand varies (ranks that always need the same fall into step and need not wait at all), if ranks
        share no station, or if several stations are shared by different numbers of ranks, as a disk of several nodes
        that each share a memory.
        """
        sharing = {station: sharing_ranks(machine, ranks, station) for station in STATIONS}
        shared = [station for station in STATIONS if self._visited(station) and np.any(sharing[station] > 1)]
        if self.coupled or not self.random or not shared or any(one.noise is not None for one in machine.partitions):
            return "", []
        if any(not np.array_equal(sharing[station], sharing[shared[0]]) for station in shared):
            return "", []
        stations = [_Station.of([visit for visit in self.visits if visit.station == name]) for name in shared]
        served = [np.broadcast_to(station.demand_s, shape) for station in stations]
        own = np.maximum(np.broadcast_to(self.total_s, shape) - sum(served), 0.0)
        servers = [machine.disk.spindles if machine.disk and name == "disk" else 1 for name in shared]
        spread = [np.broadcast_to(station.variation, shape) for station in stations]
        network = mva(
            np.stack([*served, own], axis=-1),
            np.broadcast_to(sharing[shared[0]], shape),
            [*servers, np.inf],
            np.stack([*spread, np.ones(shape)], axis=-1),
        )
        waits = np.maximum(network.residence_s - np.stack([*served, own], axis=-1), 0.0)
        exact = all(station.exponential for station in stations)
        name = f"{'exact MVA' if exact else 'MVA with residual lives'}: {', '.join(shared)}"
        return name, [wait for place, station in enumerate(stations) for wait in station.shares(waits[..., place])]

    def _visited(self, station: str) -> bool:
        return any(visit.station == station and np.any(np.asarray(visit.service_s) > 0) for visit in self.visits)


def sharing_ranks(machine: Machine, ranks: FloatOrArray, station: str) -> NDArray[np.float64]:
    """Ranks at the busiest disk, or memory controller, for every number of ranks."""
    nodes = machine.disk.shared_by if station == "disk" and machine.disk is not None else 1
    most = machine.placement.most_on_nodes(ranks, nodes)
    if station == "accelerator" and machine.accelerator is not None:
        return np.ceil(most / machine.accelerator.count)
    if station == "memory" and machine.memory is not None and machine.memory.controllers > 1:
        return np.minimum(most, float(machine.processors_per_socket))
    return most


@dataclass(frozen=True)
class _Station:
    """All visits to a station as one service: ``demand_s`` in all, with the ``variation`` of the mixture."""

    visits: tuple[Visit, ...]
    demand_s: FloatOrArray
    variation: FloatOrArray
    exponential: bool

    @classmethod
    def of(cls, visits: list[Visit]) -> _Station:
        demand, count, square = (sum(column) for column in zip(*map(_sums, visits), strict=True))
        means = [visit.service_s for visit in visits]
        alike = all(np.array_equal(mean, means[0]) for mean in means)
        # A memory demand passes its controller in slices of the same factor: that is not one exponential service each.
        exponential = alike and all(visit.station != "memory" and is_exponential(visit.factors) for visit in visits)
        with np.errstate(all="ignore"):
            spread = np.sqrt(np.maximum(np.asarray(square * count) / np.asarray(demand) ** 2 - 1, 0.0))
        spread = np.where(np.isfinite(spread), spread, 0.0)
        return cls(tuple(visits), demand, np.ones_like(spread) if exponential else spread, exponential)

    def shares(self, wait_s: _Floats) -> Iterator[Wait]:
        """Yield the wait, to each visit as many parts as its times.

        A request waits for others, whatever it comes for.
        """
        every = sum((np.asarray(visit.times) for visit in self.visits), np.asarray(0.0))
        for visit in self.visits:
            with np.errstate(all="ignore"):
                yield Wait(
                    visit.phase, STATIONS[visit.station][0], wait_s * np.where(every > 0, visit.times / every, 0.0)
                )


def _sums(visit: Visit) -> tuple[FloatOrArray, FloatOrArray, FloatOrArray]:
    """Sum of the services, their number, and the sum of their squares, in the mean."""
    square = visit.service_s**2 * (1 + product_variation(visit.factors) ** 2)
    return visit.service_s * visit.times, visit.times, square * visit.times


def is_exponential(factors: tuple[Distribution, ...]) -> bool:
    """Whether their product is an exponential factor: by whatever name, one of them is, and the others are 1."""
    random = [factor for factor in factors if not factor.constant]
    if len(random) != 1 or random[0].name not in _EXPONENTIAL:
        return False
    parameter = _EXPONENTIAL[random[0].name]
    return parameter == "" or random[0].parameters[parameter] == 1


#: Families that hold the exponential distribution, and the parameter that is 1 then.
_EXPONENTIAL = {"exponential": "", "erlang": "stages", "gamma": "variation", "weibull": "shape"}


def visit_factors(machine: Machine, part: str, varies: Distribution | None) -> tuple[Distribution, ...]:
    """Factors on a service: the demand's, and the factor of the machine's noise of ``part``."""
    noise: Mapping[str, Distribution] = machine.noise_model.parts
    return tuple(factor for factor in (varies, noise.get(part)) if factor is not None and not factor.constant)
