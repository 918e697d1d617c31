"""Queues with one station: what queueing theory says of an open stream of requests at a disk, by both readings.

Times are in mean services S; the load is rate x S / servers. Formulas are written out here, apart from the package's.

Sources: L. Kleinrock, "Queueing Systems I: Theory" (1975); A. K. Erlang, "Solution of some problems in the theory of
probabilities of significance in automatic telephone exchanges" (1917); F. Pollaczek (1930), A. Khinchine (1932);
A. O. Allen, "Probability, Statistics, and Queueing Theory" (2nd ed. 1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from scipy.optimize import brentq

from simcodesign.describe.distribution import Distribution
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Derived, Tolerance

from .long_runs import Chain, Move, waits_spread
from .stations import (
    EXPONENTIAL,
    Forecast,
    Quantity,
    S,
    blocked_of,
    disks,
    forecast_case,
    response_of,
    simulated_case,
    stream,
)

KLEINROCK = "Kleinrock, Queueing Systems I, 1975"


# --- Queues of Markov ---------------------------------------------------------------------------------------------


@cache
def queue_chain(load: float, servers: int = 1, capacity: int = 0, blocked: bool = True) -> Chain:
    """Requests in the system, every arrival counted (those that are ``blocked``, too), services of mean 1. Beyond
    ``capacity`` all are blocked; without any, beyond so many that the probability is below 10^-15."""
    most = capacity or servers + math.ceil(math.log(1e-15) / math.log(load))

    def moves(state: Hashable) -> Iterator[Move]:
        assert isinstance(state, int)
        yield load * servers, min(state + 1, most), float(blocked or state < most)
        if state:
            yield min(state, servers), state - 1, 0.0

    return Chain.explored(0, moves)


def _count(state: Hashable) -> float:
    assert isinstance(state, int)
    return float(state)


def _at_least(number: int) -> Callable[[Hashable], float]:
    return lambda state: float(_count(state) >= number)


def _above(number: int) -> Callable[[Hashable], float]:
    return lambda state: max(_count(state) - number, 0.0)


def _mm1(load: float, seed: int) -> Case:
    values = {"rho": load}
    return simulated_case(
        f"queueing/mm1/load-{load:g}",
        "Poisson arrivals at one exponential server: response S/(1 - rho), mean number in the system rho/(1 - rho), "
        f"utilisation rho, here {load:g}.",
        f"{KLEINROCK}, Sec. 3.2",
        [
            Quantity(
                "response",
                Derived("T/S", "1/(1 - rho)", values),
                lambda observed: observed.response,
                lambda: queue_chain(load).spread_of_ratio(_count),
                response_of,
            ),
            Quantity(
                "in system",
                Derived("N", "rho/(1 - rho)", values),
                lambda observed: observed.in_system,
                lambda: queue_chain(load).spread_of_time_average(_count),
            ),
            Quantity(
                "utilisation",
                Derived("U", "rho", values),
                lambda observed: observed.utilisation(),
                lambda: queue_chain(load).spread_of_time_average(_at_least(1)),
            ),
        ],
        lambda requests: stream(load / S, requests),
        disks(),
        seed=seed,
        long=load > 0.7,
    )


def erlang_c(servers: int, load: float) -> Derived:
    """Share of the requests that wait, with every term written out."""
    terms = " + ".join(f"a**{k}/{math.factorial(k)}" for k in range(servers))
    last = f"a**{servers}/{math.factorial(servers)}/(1 - rho)"
    return Derived("C", f"{last}/({terms} + {last})", {"a": load * servers, "rho": load}, about="all servers at work")


def _mmc_response(servers: int, load: float, share: Derived) -> Derived:
    return Derived("T/S", "1 + C/(c*(1 - rho))", {"C": share.value, "c": servers, "rho": load})


def _mmc(servers: int, load: float, seed: int) -> Case:
    share = erlang_c(servers, load)
    wait = Derived("W/S", "C/(c*(1 - rho))", {"C": share.value, "c": servers, "rho": load})
    quantities = [
        Quantity(
            "delayed",
            share,
            lambda observed: observed.delayed(servers),
            lambda: queue_chain(load, servers).spread_of_share(_at_least(servers)),
        ),
        Quantity(
            "response",
            _mmc_response(servers, load, share),
            lambda observed: observed.response,
            lambda: queue_chain(load, servers).spread_of_ratio(_count),
            response_of,
        ),
        Quantity(
            "utilisation",
            Derived("U", "rho", {"rho": load}),
            lambda observed: observed.utilisation(),
            lambda: queue_chain(load, servers).spread_of_time_average(lambda state: min(_count(state), servers)),
        ),
    ]
    if servers == 2:  # with more servers, so few wait that it takes too many requests
        quantities.append(
            Quantity(
                "wait",
                wait,
                lambda observed: observed.wait,
                lambda: queue_chain(load, servers).spread_of_ratio(_above(servers)),
            )
        )
    return simulated_case(
        f"queueing/mmc/servers-{servers}",
        f"Poisson arrivals at {servers} exponential servers (spindles of a disk), load {load:g}: a share C of them "
        "waits, by Erlang's delay formula; the mean wait is C S / (c (1 - rho)).",
        f"Erlang 1917; {KLEINROCK}, Sec. 3.5",
        quantities,
        lambda requests: stream(servers * load / S, requests),
        disks(spindles=servers),
        seed=seed,
        long=servers != 4,
    )


def _lost(load: float, capacity: int) -> tuple[Derived, Derived]:
    """Share blocked, and the response of those served."""
    values = {"rho": load, "K": capacity}
    blocked = Derived("p_K", "(1 - rho)*rho**K/(1 - rho**(K + 1))", values)
    number = "rho/(1 - rho) - (K + 1)*rho**(K + 1)/(1 - rho**(K + 1))"
    return blocked, Derived(
        "T/S", f"({number})/(rho*(1 - p))", values | {"p": blocked.value}, about="N by Little's law"
    )


def _served_spread(load: float, capacity: int) -> float:
    """Of the mean over those served, by all that arrive."""
    chain = queue_chain(load, 1, capacity, blocked=False)
    return chain.spread_of_ratio(_count) / math.sqrt(chain.counted_per_s / load)


def _mm1k(load: float, capacity: int, seed: int, quick: bool) -> Case:
    blocked, response = _lost(load, capacity)
    busy = Derived("U", "rho*(1 - p)", {"rho": load, "p": blocked.value})
    return simulated_case(
        f"queueing/mm1k/load-{load:g}",
        f"A server with capacity {capacity} in all, load {load:g}: it blocks a share p_K, and those served stay N / (rate "
        "(1 - p_K)).",
        f"{KLEINROCK}, Sec. 3.6",
        [
            Quantity(
                "blocked",
                blocked,
                lambda observed: observed.blocked,
                lambda: queue_chain(load, 1, capacity).spread_of_share(_at_least(capacity)),
                blocked_of,
            ),
            Quantity(
                "response",
                response,
                lambda observed: observed.response,
                lambda: _served_spread(load, capacity),
                response_of,
            ),
            Quantity(
                "utilisation",
                busy,
                lambda observed: observed.utilisation(),
                lambda: queue_chain(load, 1, capacity).spread_of_time_average(_at_least(1)),
            ),
        ],
        lambda requests: stream(load / S, requests, capacity=capacity),
        disks(),
        seed=seed,
        quick=quick,
    )


# --- Pollaczek and Khinchine --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Service:
    """A law of services: its moments E[S] ... E[S^4] in mean services, written out; its squared variation. ``about``:
    how it is called."""

    name: str
    about: str
    law: Distribution
    variation: str
    moments: tuple[str, str, str, str]
    load: float
    seed: int

    @property
    def raw(self) -> list[float]:
        """The moments."""
        return [Derived("m", formula).value for formula in self.moments]

    @property
    def wait(self) -> Derived:
        """Pollaczek-Khinchine."""
        return self.wait_at(self.load)

    def wait_at(self, load: float) -> Derived:
        """The mean wait in services."""
        return Derived("W/S", f"rho*(1 + ({self.variation}))/(2*(1 - rho))", {"rho": load}, about=self.name)

    def case(self) -> Case:
        """By simulation."""
        response = Derived("T/S", "1 + W", {"W": self.wait.value})
        return simulated_case(
            f"queueing/mg1/{self.name}",
            f"Poisson arrivals at one server with {self.about} services, load {self.load:g}: the mean wait is rho S "
            "(1 + c^2) / (2 (1 - rho)), c the coefficient of variation of a service.",
            f"Pollaczek 1930, Khinchine 1932; {KLEINROCK}, Sec. 5.7",
            [
                Quantity(
                    "wait", self.wait, lambda observed: observed.wait, lambda: waits_spread(self.load, self.raw)[0]
                ),
                Quantity(
                    "response",
                    response,
                    lambda observed: observed.response,
                    lambda: waits_spread(self.load, self.raw)[1],
                    response_of,
                ),
            ],
            lambda requests: stream(self.load / S, requests, varies=self.law),
            disks(),
            seed=self.seed,
            long=self.variation in ("1", "4"),
        )


SERVICES = (
    Service("deterministic", "constant", Distribution("deterministic"), "0", ("1", "1", "1", "1"), 0.7, 5100),
    Service(
        "erlang-4",
        "Erlang-4",
        Distribution("erlang", {"stages": 4}),
        "1/4",
        ("1", "5/4", "5/4*6/4", "5/4*6/4*7/4"),
        0.6,
        5200,
    ),
    Service(
        "uniform",
        "uniform (0 to 2 S)",
        Distribution("uniform", {"spread": 1}),
        "1/3",
        ("1", "4/3", "2", "16/5"),
        0.6,
        5300,
    ),
    Service(
        "lognormal",
        "lognormal (c = 1)",
        Distribution("lognormal", {"variation": 1}),
        "1",
        ("1", "2", "8", "64"),
        0.5,
        5400,
    ),
    Service(
        "gamma", "gamma (c = 2)", Distribution("gamma", {"variation": 2}), "4", ("1", "5", "5*9", "5*9*13"), 0.5, 5500
    ),
)


# --- Arrivals that are no Poisson stream --------------------------------------------------------------------------


@cache
def erlang_arrivals(stages: int, load: float) -> Chain:
    """Requests in the system and stages of the next arrival that are done."""
    most = math.ceil(math.log(1e-15) / math.log(load))

    def moves(state: Hashable) -> Iterator[Move]:
        assert isinstance(state, tuple)
        number, stage = state
        if stage < stages - 1:
            yield load * stages, (number, stage + 1), 0.0
        else:
            yield load * stages, (min(number + 1, most), 0), 1.0
        if number:
            yield 1.0, (number - 1, stage), 0.0

    return Chain.explored((0, 0), moves)


def _gim1_response(stages: int, load: float) -> tuple[Derived, Derived]:
    """The root of sigma = E[exp(-(1 - sigma) time between arrivals)] below 1, and the response that it gives."""
    root = float(brentq(lambda x: (stages * load / (stages * load + 1 - x)) ** stages - x, 0.0, 1 - 1e-6, xtol=1e-15))
    check = Derived("sigma", "(k*rho/(k*rho + 1 - s))**k", {"k": stages, "rho": load, "s": root}, about="its own root")
    return check, Derived("T/S", "1/(1 - sigma)", {"sigma": root})


def _gim1(stages: int, load: float, seed: int) -> Case:
    root, response = _gim1_response(stages, load)

    def count(state: Hashable) -> float:
        assert isinstance(state, tuple)
        return float(state[0])

    return simulated_case(
        f"queueing/gim1/erlang-{stages}",
        f"An exponential server to which requests come at Erlang-{stages} intervals, load {load:g}: the response is "
        "S/(1 - sigma), sigma the share of the requests that find it at work.",
        f"{KLEINROCK}, ch. 6, GI/M/1",
        [
            Quantity(
                "response",
                response,
                lambda observed: observed.response,
                lambda: erlang_arrivals(stages, load).spread_of_ratio(count),
                lines=(root,),
            ),
            Quantity(
                "delayed",
                Derived("sigma", "s", {"s": root.value}),
                lambda observed: observed.delayed(1),
                lambda: erlang_arrivals(stages, load).spread_of_share(lambda state: float(count(state) > 0)),
            ),
        ],
        lambda requests: stream(load / S, requests, between=_erlang(stages)),
        disks(),
        seed=seed,
    )


def _erlang(stages: int) -> Distribution:
    return Distribution("erlang", {"stages": stages})


#: Chosen before the approximation was compared with anything.
APPROXIMATE = Tolerance(
    "an approximation, exact for Poisson arrivals and as the load goes to 1; between, it is too high for regular "
    "arrivals: at load 0.8 and constant intervals 3 services for 2.69 (sigma = exp(-(1 - sigma)/0.8)), that is 11 %",
    relative=0.15,
)


def _approximation() -> Case:
    rows = []
    for stages in (2, 10):
        for load in (0.7, 0.8, 0.9):
            root, response = _gim1_response(stages, load)
            work = stream(load / S, 100, between=_erlang(stages))
            rows.append(Forecast(f"Erlang-{stages}, load {load:g}", response, work, lines=(root,)))
    return forecast_case(
        "queueing/gim1/approximation",
        "Approximation: where arrivals are no Poisson stream, the response by Allen and Cunneen is near the exact one of "
        "GI/M/1.",
        f"Allen 1990, Sec. 5.3.5; exact values: {KLEINROCK}, ch. 6, GI/M/1",
        rows,
        tolerance=APPROXIMATE,
    )


# --- Forecasts ----------------------------------------------------------------------------------------------------


def _one(load: float, varies: Distribution = EXPONENTIAL, capacity: int | None = None) -> Workload:
    return stream(load / S, 100, varies=varies, capacity=capacity)


def _forecasts() -> Iterator[Case]:
    loads = (0.01, 0.3, 0.6, 0.8, 0.99)
    yield forecast_case(
        "queueing/mm1",
        "The forecast of Poisson arrivals at one exponential server is S/(1 - rho).",
        f"{KLEINROCK}, Sec. 3.2",
        [Forecast(rho, Derived("T/S", "1/(1 - rho)", {"rho": rho}), _one(rho)) for rho in loads],
        axis="load",
    )
    rows = []
    for servers in (2, 4, 16):
        for load in (0.3, 0.8, 0.95):
            share, machine = erlang_c(servers, load), disks(spindles=servers)
            response, work = _mmc_response(servers, load, share), stream(servers * load / S, 100)
            rows.append(Forecast(f"{servers} servers, load {load:g}", response, work, machine, lines=(share,)))
    yield forecast_case(
        "queueing/mmc",
        "The forecast of Poisson arrivals at c exponential servers is S + C S / (c (1 - rho)), C by Erlang's delay "
        "formula.",
        f"Erlang 1917; {KLEINROCK}, Sec. 3.5",
        rows,
    )
    rows = [
        Forecast(
            f"{one.name}, load {load:g}",
            Derived("T/S", "1 + W", {"W": one.wait_at(load).value}),
            _one(load, one.law),
            lines=(one.wait_at(load),),
        )
        for one in SERVICES
        for load in (0.3, 0.6, 0.9)
    ]
    yield forecast_case(
        "queueing/mg1",
        "The forecast of Poisson arrivals at one server is S + rho S (1 + c^2) / (2 (1 - rho)), whatever its services.",
        f"Pollaczek 1930, Khinchine 1932; {KLEINROCK}, Sec. 5.7",
        rows,
    )
    rows = []
    for load, capacity in ((0.5, 1), (0.8, 4), (1.5, 5), (3.0, 20)):
        blocked, response = _lost(load, capacity)
        work = _one(load, capacity=capacity)
        rows += [
            Forecast(f"blocked, load {load:g}, capacity {capacity}", blocked, work, of=blocked_of),
            Forecast(f"response, load {load:g}, capacity {capacity}", response, work, lines=(blocked,)),
        ]
    yield forecast_case(
        "queueing/mm1k",
        "The forecast of a server of capacity K: the share that is blocked, and the response of the others, below a "
        "load of 1 and above.",
        f"{KLEINROCK}, Sec. 3.6",
        rows,
    )


def _allen_cunneen() -> Case:
    laws = {
        "0": Distribution("deterministic"),
        "1/4": _erlang(4),
        "1": EXPONENTIAL,
        "4": Distribution("gamma", {"variation": 2}),
    }
    rows = []
    for servers, load, between, service in (
        (1, 0.8, "1/4", "4"),
        (1, 0.5, "4", "0"),
        (4, 0.8, "0", "1/4"),
        (16, 0.9, "1", "4"),
    ):
        share = erlang_c(servers, load)
        response = Derived(
            "T/S", f"1 + C/(c*(1 - rho))*({between} + {service})/2", {"C": share.value, "c": servers, "rho": load}
        )
        work = stream(servers * load / S, 100, varies=laws[service], between=laws[between])
        label = f"{servers} servers, load {load:g}, ca^2 = {between}, cs^2 = {service}"
        rows.append(Forecast(label, response, work, disks(spindles=servers), lines=(share,)))
    return forecast_case(
        "queueing/gigc",
        "The forecast of arrivals and services of any distribution is the approximation of Allen and Cunneen: the wait "
        "of M/M/c times (ca^2 + cs^2)/2.",
        "Allen 1990, Sec. 5.3.5",
        rows,
    )


def _simulations() -> Sequence[Case]:
    return [
        *(_mm1(load, seed) for load, seed in ((0.3, 1300), (0.6, 1600), (0.8, 1800))),
        *(_mmc(servers, load, 2000 + servers) for servers, load in ((2, 0.6), (4, 0.7), (16, 0.9))),
        *(one.case() for one in SERVICES),
        _mm1k(0.8, 4, 3800, quick=False),
        _mm1k(1.5, 5, 3150, quick=False),
        _mm1k(2.0, 2, 3200, quick=True),
        _gim1(2, 0.7, 6200),
        _gim1(10, 0.7, 6900),
    ]


CASES: list[Case] = [*_forecasts(), _allen_cunneen(), _approximation(), *_simulations()]
