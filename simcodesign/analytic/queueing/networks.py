"""Networks of stations: open ones (Jackson 1957) and closed ones by mean value analysis (Reiser and Lavenberg 1980).

Stations are the last axis of every array, design points the axes before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.analytic.queueing.station import MOST_SERVERS, Queue, mmc, stable
from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray

#: Closed networks: the largest population, a step of the recursion each; and the most stations of several servers,
#: which need a recursion for each set of them.
MOST_POPULATION, MOST_MULTIPLE = 1_000_000, 10

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OpenNetwork:
    """An open network in its steady state.

    ``visits``: services at each station of a request that enters the network; ``response_s``: from entering to leaving;
    ``in_system``: requests at all stations.
    """

    stations: Queue
    visits: _Floats
    throughput_per_s: FloatOrArray
    response_s: FloatOrArray
    in_system: FloatOrArray


def jackson(
    arrivals_per_s: ArrayLike,
    routing: ArrayLike,
    service_s: ArrayLike,
    servers: ArrayLike = 1,
    *,
    names: Sequence[str] = (),
    place: Place | None = None,
) -> OpenNetwork:
    """Return an open network of M/M/c stations (Jackson, Networks of Waiting Lines, Operations Research 5, 1957).

    ``arrivals_per_s`` (..., M): from outside; ``routing`` (M, M): the chance that a request continues from row to
    column, otherwise it leaves; ``service_s``, ``servers`` (..., M). In steady state the stations are as if they were
    alone.

    Raises InputError for chances that are none, for requests that can never leave, and for stations with a load of 1 or
    more, by their ``names``.
    """
    chance = _routing(routing, place)
    outside = _amounts("rates of arrival", arrivals_per_s)
    flow = _flows(outside, chance, place)
    queue = mmc(flow, service_s, servers)
    load = np.asarray(queue.utilisation)
    for station in range(len(chance)):
        name = names[station] if names else f"station {station}"
        stable(name, load[..., station], place)
    entering, held = outside.sum(axis=-1), np.asarray(queue.in_system).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        visits = flow / entering[..., None]
        response = np.where(entering > 0, held / entering, np.nan)
    return OpenNetwork(queue, visits, _plain(entering), _plain(response), _plain(held))


def _routing(routing: ArrayLike, place: Place | None) -> _Floats:
    chance = np.asarray(routing, dtype=np.float64)
    if chance.ndim != 2 or chance.shape[0] != chance.shape[1]:
        raise InputError("chances from station to station", place, value=chance.shape, allowed="a square table")
    rows = chance.sum(axis=1)
    if not (np.all(chance >= 0) and np.all(rows <= 1 + 1e-12)):
        what = "chances from station to station, none negative, each row at most 1 in sum"
        raise InputError(what, place, value=float(np.max(rows)))
    return chance


def _flows(outside: _Floats, chance: _Floats, place: Place | None) -> _Floats:
    """Return the traffic equations: flow = arrivals + flow x chances, (..., M)."""
    if outside.shape[-1:] != (len(chance),):
        raise InputError(
            "rates of arrival", place, value=outside.shape, allowed=f"one for each of {len(chance)} stations"
        )
    leaving = chance.sum(axis=1) < 1 - 1e-12
    for _ in range(len(chance)):  # who can reach a station from which requests leave
        leaving = leaving | (chance[:, leaving].sum(axis=1) > 0)
    if not np.all(leaving):
        station = int(np.flatnonzero(~leaving)[0])
        raise InputError(f"requests can never leave the network from station {station}", place)
    flow = np.linalg.solve(np.eye(len(chance)) - chance.T, outside[..., None])[..., 0]
    return np.asarray(np.maximum(flow, 0.0))  # -0 and rounding below it


@dataclass(frozen=True)
class ClosedNetwork:
    """A closed network of N requests.

    ``throughput_per_s`` (...): cycles of all requests; ``cycle_s``: of one of them; ``residence_s``, ``queue``
    (requests there, those in service included), ``utilisation`` (of one server; of a delay, requests there): (...,
    M).
    """

    formula: str
    throughput_per_s: FloatOrArray
    cycle_s: FloatOrArray
    residence_s: _Floats
    queue: _Floats
    utilisation: _Floats


def mva(
    demands_s: ArrayLike, population: ArrayLike, servers: ArrayLike = 1, variation: ArrayLike = 1.0
) -> ClosedNetwork:
    """Return a closed network by mean value analysis.

    Reiser and Lavenberg, Mean-Value Analysis of Closed Multichain Queuing Networks, Journal of the ACM 27, 1980;
    Lazowska et al., Quantitative System Performance, 1984, Secs. 6.4 and 8.2.

    ``demands_s`` (..., M): seconds of service per cycle at each station, all visits together. ``population`` (...): a
    whole number of requests; it broadcasts against the design points, and one recursion serves all populations.
    ``servers`` (M,): of each station; ``inf`` is a delay, without waiting. ``variation`` (..., M): coefficient of
    variation of the services.

    Exact for exponential services (and for any at delays). Otherwise an approximation: a request that finds another in
    service waits for its residual life, s (1 + v^2) / 2 instead of s (Reiser, A queueing network analysis of computer
    communication networks with window flow control, IEEE Trans. Communications 27, 1979), but no station serves more
    than it can; at stations of several servers the whole wait is scaled so. It is good for v <= 1, and too high for
    v > 1 at a high load, since few requests cannot pile up as an endless stream does.
    """
    demands = _amounts("demands of a closed network", demands_s)
    if demands.ndim == 0:
        raise InputError("demands of a closed network", value=float(demands), allowed="one for each station")
    several = _several(servers, demands.shape[-1])
    spread = np.broadcast_to(_amounts("variation of services", variation), demands.shape)
    wanted = np.asarray(population, dtype=np.float64)
    if not np.all((wanted >= 0) & (wanted <= MOST_POPULATION) & (wanted == np.floor(wanted))):
        raise InputError("population", value=population, allowed=f"whole numbers from 0 to {MOST_POPULATION}")
    shared = np.where(several >= np.max(wanted, initial=0), np.inf, several)  # no request ever waits at others
    answers = _Answers.empty(np.broadcast_shapes(wanted.shape, demands.shape[:-1]), demands, wanted)
    _Recursion(demands, shared, (1 + spread**2) / 2).run(answers)
    queues = np.isfinite(shared)
    formula = "exact MVA" if np.all((spread == 1) | ~queues | (demands == 0)) else "MVA with residual lives"
    return answers.network(formula, several)


def _several(servers: ArrayLike, stations: int) -> _Floats:
    several = np.asarray(servers, dtype=np.float64)
    if several.ndim > 1 or several.shape not in ((), (1,), (stations,)):
        raise InputError("servers of a closed network", value=several.shape, allowed="one number for each station")
    good = (several == np.inf) | ((several >= 1) & (several <= MOST_SERVERS) & (several == np.floor(several)))
    if not np.all(good):
        raise InputError("servers of a station", value=servers, allowed="whole numbers of at least 1, or inf")
    several = np.broadcast_to(several, (stations,))
    return several


@dataclass
class _Answers:
    """The results at the wanted populations, collected while the recursion passes them; flat design points."""

    shape: tuple[int, ...]
    demands: _Floats  # (points, M)
    population: _Floats  # (points,)
    where: NDArray[np.int64]  # (points,): the design point of the recursion
    throughput: _Floats
    residence: _Floats
    order: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.order = np.argsort(self.population, kind="stable")

    @classmethod
    def empty(cls, shape: tuple[int, ...], demands: _Floats, population: _Floats) -> _Answers:
        """Nothing yet; at a population of 0 a request would not wait."""
        points = demands.shape[:-1]
        numbers = np.arange(int(np.prod(points)), dtype=np.int64).reshape(points)
        where = np.broadcast_to(numbers, shape).ravel()
        every = demands.reshape(-1, demands.shape[-1])[where]
        wanted = np.broadcast_to(population, shape).ravel()
        return cls(shape, every, wanted, where, np.zeros(len(where)), every.copy())

    def at(self, population: int) -> NDArray[np.int64]:
        """Return the design points at which this population is wanted."""
        low, high = np.searchsorted(self.population[self.order], (population, population + 1))
        return self.order[low:high]

    def take(self, population: int, throughput: _Floats, residence: _Floats) -> None:
        """Store the values of one step of the recursion."""
        here = self.at(population)
        if len(here):
            self.throughput[here] = throughput[self.where[here]]
            self.residence[here] = residence[self.where[here]]

    def extend(self, population: int, state: _State) -> None:
        """Larger populations of a network whose busiest station always works: the others wait there too."""
        rest = self.order[np.searchsorted(self.population[self.order], population, side="right") :]
        point = self.where[rest]
        self.throughput[rest] = state.throughput[point]
        self.residence[rest] = state.residence[point]
        longer = np.where(np.isinf(state.throughput[point]), 0.0, 1 / state.throughput[point])
        self.residence[rest, state.busiest[point]] += (self.population[rest] - population) * longer

    def network(self, formula: str, several: _Floats) -> ClosedNetwork:
        """In the shape of the arguments."""
        stations = (*self.shape, len(several))
        with np.errstate(invalid="ignore"):
            queue = np.where(self.residence > 0, self.throughput[:, None] * self.residence, 0.0)
            used = np.where(self.demands > 0, self.throughput[:, None] * self.demands, 0.0)
        used = used / np.where(np.isfinite(several), several, 1.0)
        return ClosedNetwork(
            formula,
            _plain(self.throughput.reshape(self.shape)),
            _plain(self.residence.sum(axis=-1).reshape(self.shape)),
            self.residence.reshape(stations),
            queue.reshape(stations),
            used.reshape(stations),
        )


class _Recursion:
    """Population after population; ``residual``: (1 + v^2) / 2 of every station."""

    def __init__(self, demands: _Floats, servers: _Floats, residual: _Floats) -> None:
        stations = demands.shape[-1]
        self.demands, self.servers = demands.reshape(-1, stations), servers
        self.residual = residual.reshape(-1, stations)
        self.multiple = [int(place) for place in np.flatnonzero(np.isfinite(servers) & (servers > 1))]
        if len(self.multiple) > MOST_MULTIPLE:
            what = "stations of several servers in a closed network"
            raise InputError(what, value=len(self.multiple), allowed=f"at most {MOST_MULTIPLE}")

    def run(self, answers: _Answers) -> None:
        """From 1 to the largest population.

        The chance that a station of several servers is empty, p(0 | n) = p(0 | n - 1) X(n) / X'(n), takes the
        throughput X' of the network without it, which is carried along; the textbook's 1 - p(1) - p(2) ... loses all
        digits at a high load (Reiser, Mean-value analysis and convolution method for queue-dependent servers in closed
        queueing networks, Performance Evaluation 1, 1981).
        """
        most = int(np.max(answers.population, initial=0))
        subsets = _subsets(self.multiple)
        states = {absent: _State.empty(self, absent) for absent in subsets}
        whole = states[frozenset()]
        for population in range(1, most + 1):
            for absent in subsets:  # those without most stations first
                without = {place: states[absent | {place}].throughput for place in self.multiple if place not in absent}
                states[absent].step(population, without)
            answers.take(population, whole.throughput, whole.residence)
            if population < most and whole.settled():
                answers.extend(population, whole)
                break


def _subsets(places: list[int]) -> list[frozenset[int]]:
    """All sets of the places, the largest first."""
    every = [
        frozenset(place for bit, place in enumerate(places) if number >> bit & 1) for number in range(2 ** len(places))
    ]
    return sorted(every, key=len, reverse=True)


@dataclass
class _State:
    """A network, or one that lacks some stations, at the last population that was looked at."""

    demands: _Floats  # (points, M), 0 at stations that are absent
    servers: _Floats
    residual: _Floats
    waits: NDArray[np.bool_]  # (M,) stations of one server
    queue: _Floats  # (points, M)
    busy: _Floats  # (points, M)
    throughput: _Floats  # (points,)
    residence: _Floats  # (points, M)
    before: _Floats  # the queue with one request fewer
    chance: dict[int, _Floats]  # by station of several servers: (c, points), p(j) for j < c

    @classmethod
    def empty(cls, network: _Recursion, absent: frozenset[int]) -> _State:
        demands = network.demands.copy()
        demands[:, list(absent)] = 0.0
        points = len(demands)
        chance = {
            place: np.zeros((int(network.servers[place]), points)) for place in network.multiple if place not in absent
        }
        for chances in chance.values():
            chances[0] = 1.0
        none = np.zeros(demands.shape)
        waits = network.servers == 1
        return cls(
            demands, network.servers, network.residual, waits, none, none, np.full(points, np.inf), none, none, chance
        )

    @property
    def busiest(self) -> NDArray[np.int64]:
        """(points,) the station of the highest load."""
        return np.asarray(np.argmax(self.busy / self.servers, axis=-1))

    def settled(self) -> bool:
        """Whether another request changes nothing but the queue of the busiest station, to rounding."""
        number = np.arange(len(self.queue))
        busiest = self.busiest
        load = self.busy[number, busiest] / self.servers[busiest]
        grown = self.queue[number, busiest] - self.before[number, busiest]
        return bool(np.all((load >= 1 - 1e-15) & (np.abs(grown - 1) < 1e-9) | np.isinf(self.throughput)))

    def step(self, population: int, without: dict[int, _Floats]) -> None:
        """One request more."""
        self.before = self.queue
        residual_work = np.where(self.waits, self.queue + (self.residual - 1) * self.busy, 0.0)
        self.residence = self.demands * (1 + residual_work)
        for place, chances in self.chance.items():
            servers = len(chances)
            idle = servers - 1 - np.arange(servers)
            # Q(n - 1) + 1 - c + the sum of (c - 1 - j) ... p(j): those ahead that keep all servers at work.
            behind = np.maximum(self.queue[:, place] - (servers - 1) + idle @ chances, 0.0)
            service = self.demands[:, place]
            self.residence[:, place] = service + service / servers * behind * self.residual[:, place]
        self._at_least_busy(population)
        cycle = self.residence.sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.throughput = np.where(cycle > 0, population / cycle, np.inf)
            self.queue = np.where(self.demands > 0, self.throughput[:, None] * self.residence, 0.0)
            self.busy = np.where(self.demands > 0, self.throughput[:, None] * self.demands, 0.0)
        for place, chances in self.chance.items():
            self._chances(place, chances, without[place])

    def _at_least_busy(self, population: int) -> None:
        """Keep the station from serving faster than it can.

        Residual lives that are shorter than services would let it: the rest of the cycle in which it serves all
        requests is waited for there.
        """
        if np.all(self.residual >= 1):
            return
        least = population * np.where(self.residual < 1, self.demands / self.servers, 0.0)
        busiest = np.argmax(least, axis=-1)
        points = np.arange(len(least))
        missing = least[points, busiest] - self.residence.sum(axis=-1)
        self.residence[points, busiest] += np.maximum(missing, 0.0)

    def _chances(self, place: int, chances: _Floats, without: _Floats) -> None:
        """p(j | n) = X(n) D p(j - 1 | n - 1) / j, from the chances for one request fewer."""
        count = np.arange(1, len(chances))[:, None]
        chances[1:] = self.busy[:, place] * chances[:-1] / count
        with np.errstate(invalid="ignore"):
            ratio = np.where(np.isinf(without), np.isinf(self.throughput), self.throughput / without)
        chances[0] = chances[0] * ratio


def _amounts(what: str, values: ArrayLike) -> _Floats:
    amounts = np.asarray(values, dtype=np.float64)
    bad = ~((amounts >= 0) & (amounts < np.inf))
    if np.any(bad):
        raise InputError(what, value=float(amounts[bad].flat[0]), allowed="finite, not negative")
    return amounts


def _plain(value: _Floats) -> FloatOrArray:
    """One number as a float."""
    return value if np.ndim(value) else float(value)
