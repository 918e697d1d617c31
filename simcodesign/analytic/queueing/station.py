"""One station at which requests queue: utilisation, waits and queue lengths in closed form, first come first served.

Everything is vectorised: rates, times and servers broadcast. A load of 1 or more, at unlimited capacity, has no steady
state: waits and lengths are ``inf`` there, so that a sweep may run over it; ``stable`` raises instead.

Sources: Kleinrock, Queueing Systems I (1975), by section; others at their use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import FloatOrArray

#: The largest number of servers of a station: the recursion of Erlang's formula takes a step for each.
MOST_SERVERS = 1_000_000

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Queue:
    """A station in its steady state; floats, or arrays of one shape.

    ``formula``: its name, ``M/G/1``. ``throughput_per_s``: requests admitted, ``blocked``: share of the arrivals that
    find the station full. ``utilisation``: of one server, over 1 if there is no steady state. ``waiting_s`` before
    and ``response_s`` including service, of those served. ``queue_length``: waiting, ``in_system``: waiting or
    in service. ``delayed``: share of the served that wait at all; ``waiting_square_s2``: E[W^2]; both NaN where not
    known.
    """

    formula: str
    throughput_per_s: FloatOrArray
    utilisation: FloatOrArray
    waiting_s: FloatOrArray
    response_s: FloatOrArray
    queue_length: FloatOrArray
    in_system: FloatOrArray
    delayed: FloatOrArray = np.nan
    waiting_square_s2: FloatOrArray = np.nan
    blocked: FloatOrArray = 0.0


def mm1(rate_per_s: ArrayLike, service_s: ArrayLike) -> Queue:
    """M/M/1: Poisson arrivals, exponential service, one server (Kleinrock I, Sec. 3.2)."""
    return replace(mmc(rate_per_s, service_s, 1), formula="M/M/1")


def mmc(rate_per_s: ArrayLike, service_s: ArrayLike, servers: ArrayLike) -> Queue:
    """M/M/c: Poisson arrivals, exponential service of ``service_s``, c equal servers (Kleinrock I, Sec. 3.5).

    The wait is 0 or, with Erlang's C, exponential of mean s / (c - a), a the offered load.
    """
    rate, service, count = _checked(rate_per_s, service_s, servers)
    offered = rate * service
    delayed = np.where(offered < count, _erlang_c(count, offered), 1.0)
    with np.errstate(all="ignore"):
        drain_s = np.where(offered < count, service / (count - offered), np.inf)
        waiting, square = _times(delayed, drain_s), _times(delayed, 2 * drain_s**2)
    return _queue("M/M/c", rate, service, count, waiting, delayed, square)


def mg1(rate_per_s: ArrayLike, service_s: ArrayLike, variation: ArrayLike, third_moment: ArrayLike = np.nan) -> Queue:
    """M/G/1: Poisson arrivals, one server, any service times: the formulas of Pollaczek and Khinchine.

    ``variation``: the coefficient of variation of the service; ``third_moment``: E[S^3] / E[S]^3, which only the second
    moment of the wait needs. Kleinrock I, Secs. 5.5 and 5.7 (mean: W = a s (1 + v^2) / (2 (1 - a)); square, by
    Takacs' recursion: 2 W^2 + rate E[S^3] / (3 (1 - a))).
    """
    spread, third = _not_negative("variation", variation), _not_negative("third moment", third_moment, nan=True)
    rate, service, count, spread, third = np.broadcast_arrays(*_checked(rate_per_s, service_s, 1), spread, third)
    load = rate * service
    with np.errstate(all="ignore"):
        free = np.where(load < 1, 1 / (1 - load), np.inf)
        waiting = _times(load * service, free) * (1 + spread**2) / 2
        square = 2 * waiting**2 + _times(load * service**2 * third / 3, free)
    return _queue("M/G/1", rate, service, count, waiting, np.minimum(load, 1.0), square)


def mm1k(rate_per_s: ArrayLike, service_s: ArrayLike, capacity: ArrayLike) -> Queue:
    """M/M/1/K: as M/M/1, with capacity K, the request in service included (Kleinrock I, Sec. 3.6)."""
    return replace(mmck(rate_per_s, service_s, 1, capacity), formula="M/M/1/K")


def mmck(rate_per_s: ArrayLike, service_s: ArrayLike, servers: ArrayLike, capacity: ArrayLike) -> Queue:
    """M/M/c/K: c servers, capacity K >= c requests (Kleinrock I, Secs. 3.6 to 3.8). Any load has a steady state.

    With p_c = B x P(n <= c) (Erlang's loss B) and p_{c+j} = p_c rho^j, all is sums of powers, of terms of one sign.
    """
    capacity = _not_negative("capacity", capacity)
    if np.any(capacity != np.floor(capacity)) or np.any(capacity < np.asarray(servers)):
        raise InputError(
            "capacity of a station", value=float(np.min(capacity)), allowed="whole, at least one for each server"
        )
    rate, service, count, capacity = np.broadcast_arrays(*_checked(rate_per_s, service_s, servers), capacity)
    offered, spare = rate * service, capacity - count
    load = offered / count
    loss, light = _erlang_b(count, offered), load <= 1
    with np.errstate(all="ignore"):
        ratio = np.where(light, load, 1 / load)  # from the full end if that is the likely one: nothing grows
    power, powers, weighted = _power_sums(ratio, spare)
    # Light: j = 1 .. spare counts requests that wait; heavy: i = 0 .. spare - 1 counts how many more may come.
    total = np.where(light, 1 + loss * ratio * powers, power + loss * powers)
    queued = np.where(light, ratio * (weighted + powers), spare * powers - weighted) * loss / total
    full = loss * np.where(light, power, 1.0) / total
    # Requests that are admitted and wait arrive when c or more but fewer than K are present: p_c + ... + p_(K-1).
    behind = loss * np.where(light, powers, ratio * powers) / total
    served = rate * (1 - full)
    with np.errstate(all="ignore"):
        waiting = np.where(served > 0, queued / served, 0.0)
        delayed = np.where(full < 1, behind / (1 - full), 0.0)
    queue = _queue("M/M/c/K", served, service, count, waiting, delayed, np.full(waiting.shape, np.nan))
    return replace(queue, blocked=_plain(full))


def allen_cunneen(
    rate_per_s: ArrayLike,
    service_s: ArrayLike,
    servers: ArrayLike = 1,
    arrival_variation: ArrayLike = 1.0,
    service_variation: ArrayLike = 1.0,
) -> Queue:
    """Return the wait in GI/G/c, an approximation: the wait of M/M/c x (va^2 + vs^2) / 2.

    va and vs are the coefficients of variation of the times between arrivals and of the services (Allen, Probability,
    Statistics and Queueing Theory, 1990, Sec. 5.3.5).

    Exact for M/M/c and M/G/1; for GI/G/1 the heavy-traffic formula of Kingman (1961).
    """
    arrival = _not_negative("variation of arrivals", arrival_variation)
    spread = _not_negative("variation of services", service_variation)
    rate, service, count, arrival, spread = np.broadcast_arrays(
        *_checked(rate_per_s, service_s, servers), arrival, spread
    )
    reference = mmc(rate, service, count)
    waiting = _times((arrival**2 + spread**2) / 2, np.asarray(reference.waiting_s))
    unknown = np.full(waiting.shape, np.nan)
    return _queue("Allen-Cunneen GI/G/c", rate, service, count, waiting, unknown, unknown)


def erlang_c(servers: ArrayLike, offered: ArrayLike) -> FloatOrArray:
    """Erlang's delay formula C(c, a): the fraction that waits; 1 from a load of 1 on (Kleinrock I, Sec. 3.5)."""
    offered, _, count = _checked(offered, 1.0, servers)
    return _plain(np.where(offered < count, _erlang_c(count, offered), 1.0))


def stable(station: str, utilisation: FloatOrArray, place: Place | None = None) -> None:
    """InputError, which names the station and its highest load, unless the load is below 1 everywhere."""
    highest = float(np.max(utilisation, initial=0.0))
    if not highest < 1:
        what = f"{station} has a load of {highest:.4g}, and its queue would grow for ever"
        raise InputError(what, place, allowed="a load below 1")


def _erlang_b(servers: _Floats, offered: _Floats) -> _Floats:
    """Return Erlang's B by its recursion over servers, B_k = a B_{k-1} / (k + a B_{k-1}).

    Every term is positive, so it is stable for any c.
    """
    servers, offered = np.broadcast_arrays(servers, offered)
    result = np.ones(offered.shape)
    loss: _Floats = np.ones(offered.shape)
    for count in range(1, int(np.max(servers, initial=0)) + 1):
        loss = offered * loss
        loss = loss / (count + loss)
        np.copyto(result, loss, where=servers == count)
    return result


def _erlang_c(servers: _Floats, offered: _Floats) -> _Floats:
    """C = B / (1 - rho (1 - B)); of no meaning from a load of 1 on."""
    loss = _erlang_b(servers, offered)
    return loss / (1 - np.minimum(offered / servers, 1.0) * (1 - loss))


def _power_sums(ratio: _Floats, count: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """r^m, the sums of r^j and of j r^j for j = 0 .. m - 1, by doubling m: exact at r = 1, and never a difference."""
    power, powers, weighted = np.ones(ratio.shape), np.zeros(ratio.shape), np.zeros(ratio.shape)
    length = np.zeros(ratio.shape)
    for bit in reversed(range(int(np.max(count, initial=0)).bit_length())):
        weighted = weighted + power * (weighted + length * powers)
        powers, power, length = powers * (1 + power), power * power, 2 * length
        one = (count.astype(np.int64) >> bit) & 1 == 1
        weighted = np.where(one, weighted + length * power, weighted)
        powers, length = np.where(one, powers + power, powers), np.where(one, length + 1, length)
        power = np.where(one, power * ratio, power)
    return power, powers, weighted


def _queue(
    formula: str,
    rate: _Floats,
    service: _Floats,
    servers: _Floats,
    waiting: _Floats,
    delayed: _Floats,
    square: _Floats,
) -> Queue:
    """Return the rest of a station by Little's law."""
    response = waiting + service
    return Queue(
        formula=formula,
        throughput_per_s=_plain(rate),
        utilisation=_plain(rate * service / servers),
        waiting_s=_plain(waiting),
        response_s=_plain(response),
        queue_length=_plain(_times(rate, waiting)),
        in_system=_plain(_times(rate, response)),
        delayed=_plain(delayed),
        waiting_square_s2=_plain(square),
    )


def _times(one: _Floats, other: _Floats) -> _Floats:
    """Return the product, if nothing of an infinite is nothing: no arrivals do not queue."""
    with np.errstate(invalid="ignore"):
        return np.where((one == 0) | (other == 0), 0.0, one * other)


def _checked(rate_per_s: ArrayLike, service_s: ArrayLike, servers: ArrayLike) -> tuple[_Floats, _Floats, _Floats]:
    rate, service = _not_negative("rate", rate_per_s), _not_negative("service time", service_s)
    count = np.asarray(servers, dtype=np.float64)
    good = (count >= 1) & (count <= MOST_SERVERS) & (count == np.floor(count))
    if not np.all(good):
        wrong = float(count[~good].flat[0]) if count.ndim else float(count)
        raise InputError("servers of a station", value=wrong, allowed=f"a whole number from 1 to {MOST_SERVERS}")
    rate, service, count = np.broadcast_arrays(rate, service, count)
    return rate, service, count


def _not_negative(what: str, value: ArrayLike, nan: bool = False) -> _Floats:
    amount = np.asarray(value, dtype=np.float64)
    bad = ~((amount >= 0) & (amount < np.inf) | (np.isnan(amount) if nan else False))
    if np.any(bad):
        raise InputError(what, value=float(amount[bad].flat[0]), allowed="a finite number, not negative")
    return amount


def _plain(value: NDArray[np.float64]) -> FloatOrArray:
    """One number as a float."""
    return value if np.ndim(value) else float(value)
