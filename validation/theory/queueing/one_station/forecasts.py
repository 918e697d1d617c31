"""The forecast of queues with one station, compared with formulas of queueing theory.

Times are in mean services S; the load is rate x S / servers.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcodesign.describe.randomness.distribution import Distribution
from simcodesign.describe.workload import Workload
from simcodesign.studies.validation.case import Case, Derived, Tolerance

from ..stations import (
    EXPONENTIAL,
    Forecast,
    S,
    blocked_of,
    disks,
    forecast_case,
    stream,
)
from .formulas import KLEINROCK, SERVICES, blocked_and_response, erlang_c, erlang_intervals, gim1_response, mmc_response

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
            root, response = gim1_response(stages, load)
            work = stream(load / S, 100, between=erlang_intervals(stages))
            rows.append(Forecast(f"Erlang-{stages}, load {load:g}", response, work, lines=(root,)))
    return forecast_case(
        "queueing/gim1/approximation",
        "Approximation: where arrivals are no Poisson stream, the response by Allen and Cunneen is near the exact one of "
        "GI/M/1.",
        f"Allen 1990, Sec. 5.3.5; exact values: {KLEINROCK}, ch. 6, GI/M/1",
        rows,
        tolerance=APPROXIMATE,
    )


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
            response, work = mmc_response(servers, load, share), stream(servers * load / S, 100)
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
        blocked, response = blocked_and_response(load, capacity)
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
        "1/4": erlang_intervals(4),
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


CASES: list[Case] = [*_forecasts(), _allen_cunneen(), _approximation()]
