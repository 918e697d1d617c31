"""Simulations of queues with one station, compared with formulas of queueing theory.

Times are in mean services S; the load is rate x S / servers. How long a simulation must be for its interval is computed
from a Markov chain of the same queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from functools import cache

from simcodesign.studies.validation.case import Case, Derived

from ..long_runs import Chain, Move, waits_spread
from ..stations import (
    Quantity,
    S,
    blocked_of,
    disks,
    response_of,
    simulated_case,
    stream,
)
from .formulas import (
    KLEINROCK,
    SERVICES,
    Service,
    blocked_and_response,
    erlang_c,
    erlang_intervals,
    gim1_response,
    mmc_response,
)


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
            mmc_response(servers, load, share),
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


def _served_spread(load: float, capacity: int) -> float:
    """Of the mean over those served, by all that arrive."""
    chain = queue_chain(load, 1, capacity, blocked=False)
    return chain.spread_of_ratio(_count) / math.sqrt(chain.counted_per_s / load)


def _mm1k(load: float, capacity: int, seed: int, quick: bool) -> Case:
    blocked, response = blocked_and_response(load, capacity)
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


def _mg1(service: Service) -> Case:
    response = Derived("T/S", "1 + W", {"W": service.wait.value})
    return simulated_case(
        f"queueing/mg1/{service.name}",
        f"Poisson arrivals at one server with {service.about} services, load {service.load:g}: the mean wait is rho S "
        "(1 + c^2) / (2 (1 - rho)), c the coefficient of variation of a service.",
        f"Pollaczek 1930, Khinchine 1932; {KLEINROCK}, Sec. 5.7",
        [
            Quantity(
                "wait", service.wait, lambda observed: observed.wait, lambda: waits_spread(service.load, service.raw)[0]
            ),
            Quantity(
                "response",
                response,
                lambda observed: observed.response,
                lambda: waits_spread(service.load, service.raw)[1],
                response_of,
            ),
        ],
        lambda requests: stream(service.load / S, requests, varies=service.law),
        disks(),
        seed=service.seed,
        long=service.variation in ("1", "4"),
    )


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


def _gim1(stages: int, load: float, seed: int) -> Case:
    root, response = gim1_response(stages, load)

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
        lambda requests: stream(load / S, requests, between=erlang_intervals(stages)),
        disks(),
        seed=seed,
    )


CASES: list[Case] = [
    *(_mm1(load, seed) for load, seed in ((0.3, 1300), (0.6, 1600), (0.8, 1800))),
    *(_mmc(servers, load, 2000 + servers) for servers, load in ((2, 0.6), (4, 0.7), (16, 0.9))),
    *(_mg1(service) for service in SERVICES),
    _mm1k(0.8, 4, 3800, quick=False),
    _mm1k(1.5, 5, 3150, quick=False),
    _mm1k(2.0, 2, 3200, quick=True),
    _gim1(2, 0.7, 6200),
    _gim1(10, 0.7, 6900),
]
