"""Open streams of requests in closed form: load, response time and loss of the disks and the network that they go to.

Disks: the requests of all ranks that share one come there together. Poisson arrivals make it M/M/c, M/D/1, M/G/1 or,
with places for so many, M/M/c/K; those that go on to other disks a Jackson network. Whatever has no formula of its own
takes the approximation of Allen and Cunneen, or the nearest formula, and ``Result.formulas`` says so.

The steady state is what a long run comes near; what is simulated begins with empty stations. The time of the whole run
is that of the last arrival, in the mean, and of one more response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.closed import is_exponential, visit_factors
from simcodesign.analytic.disk import access_s
from simcodesign.analytic.moments import product_variation, variation
from simcodesign.analytic.network import price
from simcodesign.analytic.open_messages import crowd
from simcodesign.analytic.queueing import Queue, allen_cunneen, mg1, mmck
from simcodesign.describe.arrivals import BETWEEN, DISK, REQUESTS, Arrivals
from simcodesign.describe.constants import CAPACITY
from simcodesign.describe.distribution import Distribution
from simcodesign.describe.machine import Machine
from simcodesign.describe.setting import Setting, finite
from simcodesign.describe.workload import ONE, Access
from simcodesign.errors import InputError, Place
from simcodesign.expression import Expression
from simcodesign.result import COMPONENTS, Result
from simcodesign.units import Amount

_Floats = NDArray[np.float64]
#: What the rows of ``next`` leave of 1 below this is rounding.
NO_SHARE = 1e-12


def open_forecast(setting: Setting, queueing: bool = True) -> Result:
    """The forecast of a program of arrivals; arrays of ``setting.shape`` for several design points.

    Without ``queueing`` nobody waits and nobody is refused, as in a simulation with every effect off.

    Raises InputError for a single design point at which a station has a load of 1 or more and no limit of places (of
    several points, these have an infinite response), and for anything that cannot be used.
    """
    reading = _Reading(setting, queueing)
    program = [step for step in setting.workload.program if isinstance(step, Arrivals)]
    with np.errstate(all="ignore"):
        disks = [step for step in program if step.to == DISK]
        parts = _at_disks(disks, reading) if disks else []
        parts += [_messages(step, reading) for step in program if step.to != DISK]
        result = _together(parts, reading)
    numbers = [result.message_bytes, result.disk_bytes]
    numbers += [] if setting.shape else [result.makespan_s, result.energy_j or 0.0]
    if not all(np.all(np.isfinite(number)) for number in numbers):
        raise InputError("time, bytes or energy of the forecast are too large to be a number", setting.workload.place)
    return result


class _Reading:
    """Expressions for every design point and rank: arrays (..., P)."""

    def __init__(self, setting: Setting, queueing: bool) -> None:
        self.setting, self.queueing = setting, queueing
        self.ranks = setting.ranks
        self.names: dict[str, Amount] = {name: np.asarray(value)[..., None] for name, value in setting.values.items()}
        self.names["rank"] = setting.every_rank()
        varying = {path: value for path, value in setting.machine.varying().items() if path != CAPACITY}
        constants = {path: np.asarray(value)[..., None] for path, value in varying.items()}
        self.machine: Machine = setting.machine.with_constants(constants) if setting.shape else setting.machine
        self.formulas: list[str] = []

    def value(self, expression: Expression, what: str) -> _Floats:
        """(..., P), finite and not negative."""
        text = f"{what} = {expression.text}"
        found = finite(expression.evaluate(self.names), text, self.setting.workload, expression)
        value = np.asarray(found, dtype=np.float64)
        if np.any(value < 0):
            raise InputError(f"{text} is negative", expression.place, value=float(np.min(value)))
        return np.broadcast_to(value, np.broadcast_shapes(value.shape, (self.ranks,)))

    def stream(self, step: Arrivals) -> tuple[_Floats, _Floats]:
        """Requests and rates of every rank: both 0 where a rank sends nothing."""
        here = 1.0 if step.when is None else np.where(self.value(step.when, "when") != 0, 1.0, 0.0)
        count = self.value(step.requests, "requests") * here
        rate = np.where(count > 0, self.value(step.rate, "rate"), 0.0)
        if np.any((count > 0) & (rate <= 0)):
            raise InputError("rate of arrivals", step.rate.place or step.place, value=0, allowed="above 0 per second")
        if not np.all(count.sum(axis=-1) > 0):
            raise InputError("there are no requests", step.requests.place or step.place, value=step.requests.text)
        return count, rate

    def note(self, formula: str) -> None:
        """The name of a formula, once."""
        self.formulas += [] if formula in self.formulas else [formula]

    def check_load(self, load: _Floats, names: Sequence[str], rate: _Floats, place: Place) -> None:
        """InputError at a single design point with a load (..., S) of 1 or more; ``rate`` (..., P)."""
        if self.setting.shape or not np.any(load >= 1):
            return
        worst = int(np.argmax(load))
        highest = float(load.ravel()[worst])
        what = f"{names[worst]} has a load of {highest:.4g}, and its queue would grow for ever"
        most = float(rate.max()) / highest
        raise InputError(what, place, allowed=f"a load below 1: a rate of a rank below {most:.6g} per second")

    def at_every_point(self, value: Amount) -> Amount:
        """One number for a single design point, else an array of their shape."""
        shape = self.setting.shape
        return np.broadcast_to(np.asarray(value, dtype=float), shape) if shape else float(value)


@dataclass(frozen=True)
class _Part:
    """What one step comes to: arrays (...), one number for each design point."""

    component: str
    served: Amount  # requests that are
    refused: Amount
    response_s: Amount  # mean of those served
    last_s: Amount  # the last arrival, in the mean
    messages: Amount = 0.0
    message_bytes: Amount = 0.0
    disk_bytes: Amount = 0.0
    busy_j: Amount = 0.0


def _together(parts: Sequence[_Part], reading: _Reading) -> Result:
    """The Result of all steps: the one that ends last makes the makespan."""
    setting = reading.setting
    ends = np.stack(np.broadcast_arrays(*(np.asarray(part.last_s + part.response_s) for part in parts)))
    longest = np.argmax(ends, axis=0)
    phases = {name: {part: np.zeros(ends.shape[1:]) for part in COMPONENTS} for name in (BETWEEN, REQUESTS)}
    for number, part in enumerate(parts):
        for phase, component, time in (
            (BETWEEN, "computation", part.last_s),
            (REQUESTS, part.component, part.response_s),
        ):
            phases[phase][component] = np.where(longest == number, time, phases[phase][component])
    served, refused = (sum(np.asarray(getattr(part, name)) for part in parts) for name in ("served", "refused"))
    response = sum(np.asarray(part.served * part.response_s) for part in parts) / served
    every = reading.at_every_point

    def total(name: str) -> Amount:
        return every(sum(np.asarray(getattr(part, name)) for part in parts))

    result = Result(
        reading="forecast",
        workload=setting.workload.name,
        machine=setting.machine.name,
        values=dict(setting.values),
        preset=setting.preset,
        makespan_s=every(ends.max(axis=0)),
        phases={name: {part: every(time) for part, time in times.items()} for name, times in phases.items()},
        messages=total("messages"),
        message_bytes=total("message_bytes"),
        disk_bytes=total("disk_bytes"),
        size=setting.size,
        footprint_bytes=setting.footprint_bytes,
        capacity_bytes=setting.capacity_bytes,
        response_s=every(response),
        refused=every(refused / (served + refused)),
        formulas=tuple(reading.formulas),
    )
    return _with_power(result, total("busy_j"), reading)


def _with_power(result: Result, busy_j: Amount, reading: _Reading) -> Result:
    """The Result with energy and power, where the machine says anything of them: at most, all servers are at work."""
    setting, machine = reading.setting, reading.setting.machine
    if not setting.has_power:
        return result
    static = reading.at_every_point(machine.totals().static_power_w or 0.0)
    steps = [step for step in setting.workload.program if isinstance(step, Arrivals)]
    highest: Amount = 0.0
    if any(step.to == DISK for step in steps) and machine.disk is not None and machine.disk.dynamic_power_w is not None:
        servers = machine.disk.spindles * len(_disks(machine, reading.ranks)[0])
        highest = highest + machine.disk.dynamic_power_w * servers
    if any(step.to != DISK for step in steps) and machine.network.dynamic_power_w is not None:
        highest = highest + machine.network.dynamic_power_w * reading.ranks
    return replace(
        result,
        static_power_w=static,
        energy_j=reading.at_every_point(static * result.makespan_s + busy_j),
        peak_power_w=reading.at_every_point(static + highest),
    )


# --- Disks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Flow:
    """One step at the disks, for every rank (..., P)."""

    step: Arrivals
    count: _Floats  # requests that begin there
    rate_per_s: _Floats
    visits: _Floats  # requests that come there, from elsewhere too
    flow_per_s: _Floats
    service_s: _Floats
    size_bytes: _Floats
    factors: tuple[Distribution, ...]


def _disks(machine: Machine, ranks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The disks that so many ranks use, and the place of every rank's disk among them."""
    assert machine.disk is not None
    units, place = np.unique(machine.node_of(ranks) // machine.disk.shared_by, return_inverse=True)
    return units, place


def _at_disks(steps: Sequence[Arrivals], reading: _Reading) -> list[_Part]:
    """What the steps come to whose requests meet at the disks."""
    flows = [_flow(step, reading) for step in steps]
    machine = reading.machine
    assert machine.disk is not None
    _, place = _disks(machine, reading.ranks)
    if not reading.queueing:
        waits, refused = np.zeros(reading.ranks), np.zeros(reading.ranks)
    else:
        queue = _queue_at_disks(flows, reading)
        waits, refused = (each[..., place] for each in np.broadcast_arrays(queue.waiting_s, queue.refused))
    watts = machine.disk.dynamic_power_w or 0.0
    return [_disk_part(flow, waits, refused, watts) for flow in flows]


def _flow(step: Arrivals, reading: _Reading) -> _Flow:
    count, rate = reading.stream(step)
    size = reading.value(step.bytes, "bytes")
    access = Access(step.when, step.place, step.kind, step.bytes, ONE)
    service = access_s(access, reading.machine.disk, size, 1.0)
    shape = np.broadcast_shapes(np.shape(service), count.shape)
    visits, flow = count, rate
    if step.next:
        shares = _shares(step, reading)
        visits, flow = (_spread(shares, every) for every in (count, rate))
    factors = visit_factors(reading.machine, "disk", step.varies)
    return _Flow(step, count, rate, visits, flow, np.broadcast_to(service, shape), size, factors)


def _shares(step: Arrivals, reading: _Reading) -> _Floats:
    """(..., P, P) the chances to go on. InputError unless they are chances, with a row for every rank."""
    if len(step.next) != reading.ranks:
        allowed = f"P = {reading.ranks} of them"
        raise InputError("rows of next", step.place, value=len(step.next), allowed=allowed)
    cells = [[reading.value(share, "next")[..., 0] for share in row] for row in step.next]
    flat = np.broadcast_arrays(*(cell for row in cells for cell in row))
    shares = np.stack(flat, axis=-1).reshape(*flat[0].shape, reading.ranks, reading.ranks)
    total = shares.sum(axis=-1)
    if np.any(total > 1 + NO_SHARE):
        row = int(np.argmax(total.reshape(-1, reading.ranks).max(axis=0)))
        raise InputError(f"row {row} of next adds up to more than 1", step.place, value=float(total.max()))
    leaves = total < 1 - NO_SHARE
    for _ in range(reading.ranks):
        leaves = leaves | np.any((shares > 0) & leaves[..., None, :], axis=-1)
    if not leaves.all():
        row = int(np.argmin(leaves.reshape(-1, reading.ranks).all(axis=0)))
        what = f"requests never leave the disk of rank {row}"
        raise InputError(what, step.place, allowed="a way out of next: rows that add up to less than 1")
    return shares


def _spread(shares: _Floats, outside: _Floats) -> _Floats:
    """The traffic equations: what comes to every rank's disk in all, x = outside + x shares (Jackson, 1957)."""
    matrix = np.eye(shares.shape[-1]) - np.swapaxes(shares, -1, -2)
    return np.asarray(np.linalg.solve(matrix, outside[..., None])[..., 0])


def _queue_at_disks(flows: Sequence[_Flow], reading: _Reading) -> Queue:
    """All disks (..., D) as stations. InputError at one that cannot keep up."""
    machine = reading.machine
    assert machine.disk is not None
    units, place = _disks(machine, reading.ranks)

    def at_disks(each: _Floats) -> _Floats:
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(units)))
        return np.asarray(np.add.reduceat(each[..., order], starts, axis=-1))

    rate = np.asarray(sum(at_disks(flow.flow_per_s) for flow in flows))
    busy = np.asarray(sum(at_disks(flow.flow_per_s * flow.service_s) for flow in flows))
    squares = sum(
        at_disks(flow.flow_per_s * flow.service_s**2) * (1 + product_variation(flow.factors) ** 2) for flow in flows
    )
    some = rate > 0
    service = np.where(some, busy / np.where(some, rate, 1.0), 0.0)
    spread = np.where(service > 0, squares * rate / np.where(service > 0, busy, 1.0) ** 2 - 1, 0.0)
    of_arrivals = sum(at_disks(flow.flow_per_s) * variation(flow.step.between) ** 2 for flow in flows)
    arrivals = np.where(some, of_arrivals / np.where(some, rate, 1.0), 1.0)
    poisson = all(is_exponential((flow.step.between,)) for flow in flows)
    exponential = all(is_exponential(flow.factors) for flow in flows) and bool(np.all(np.abs(spread - 1) < 1e-9))
    station = _Disk(rate, service, np.sqrt(np.maximum(spread, 0.0)), np.sqrt(arrivals), poisson, exponential)
    routed = any(flow.step.next for flow in flows)
    places = _places(flows, reading)
    queue, name = station.limited(machine.disk.spindles, places) if places is not None else station.open(
        machine.disk.spindles
    )  # fmt: skip
    if routed:
        exact = poisson and exponential
        name = f"Jackson network of {name}" if exact else f"network taken apart into {name}"
    reading.note(name)
    if places is None:
        rates = flows[0].rate_per_s
        names = [f"disk {unit}" for unit in units]
        reading.check_load(np.asarray(queue.utilisation), names, rates, flows[0].step.place)
    return queue


@dataclass(frozen=True)
class _Disk:
    """What comes to the disks (..., D): variations are coefficients."""

    rate_per_s: _Floats
    service_s: _Floats
    spread: _Floats
    between: _Floats
    poisson: bool
    exponential: bool

    def open(self, servers: int) -> tuple[Queue, str]:
        """With room for all; the name of the formula."""
        if self.poisson and servers == 1:
            known = "M/M/1" if self.exponential else "M/D/1" if not np.any(self.spread) else "M/G/1"
            name = {"M/G/1": "M/G/1 (Pollaczek-Khinchine)"}.get(known, known)
            return mg1(self.rate_per_s, self.service_s, self.spread), name
        queue = allen_cunneen(self.rate_per_s, self.service_s, servers, self.between, self.spread)
        if self.poisson and self.exponential:
            return queue, f"M/M/{servers}"
        return queue, f"GI/G/{servers} (approximation of Allen and Cunneen)"

    def limited(self, servers: int, places: _Floats) -> tuple[Queue, str]:
        """With so many places."""
        at_once = np.minimum(servers, places)
        queue = mmck(self.rate_per_s, self.service_s, at_once, places)
        several = f"{places.flat[0]:g}" if places.min() == places.max() else "K"
        name = f"M/M/{servers}/{several}"
        # Erlang's loss formula holds for any service: nobody waits.
        exact = self.poisson and (self.exponential or bool(np.all(places <= servers)))
        return queue, name if exact else f"{name} (as if arrivals and services were exponential)"


def _places(flows: Sequence[_Flow], reading: _Reading) -> _Floats | None:
    """(..., 1) places of every disk, None where there is room for all."""
    said = [flow.step.places for flow in flows]
    given = [places for places in said if places is not None]
    if not given:
        return None
    values = [reading.value(places, "places")[..., :1] for places in given]
    if len(given) < len(said) or not all(np.array_equal(value, values[0]) for value in values):
        last = flows[-1].step.place
        raise InputError("places of disks", last, allowed="the same in all arrivals to disks")
    if np.any((values[0] < 1) | (values[0] != np.floor(values[0]))):
        place, value = given[0].place or flows[0].step.place, float(values[0].min())
        raise InputError("places of a disk", place, value=value, allowed="a whole number, 1 and above")
    return values[0]


def _disk_part(flow: _Flow, waits: _Floats, refused: _Floats, watts: Amount) -> _Part:
    served = flow.visits * (1 - refused)
    busy = served * flow.service_s
    through = np.sum(flow.count * (1 - refused), axis=-1)  # of those that go on to other disks none is refused
    spent = np.sum(np.where(served > 0, served * waits, 0.0) + busy, axis=-1)
    return _Part(
        component="disk",
        served=through,
        refused=np.sum(flow.count * refused, axis=-1),
        response_s=np.where(through > 0, spent / np.where(through > 0, through, 1.0), 0.0),
        last_s=_last_s(flow.count, flow.rate_per_s),
        disk_bytes=np.sum(served * flow.size_bytes, axis=-1),
        busy_j=np.sum(busy * watts, axis=-1),
    )


def _last_s(count: _Floats, rate_per_s: _Floats) -> Amount:
    """When the last request arrives, in the mean of the rank that takes longest."""
    return np.asarray(np.max(np.where(count > 0, count / np.where(count > 0, rate_per_s, 1.0), 0.0), axis=-1))


# --- Messages ---------------------------------------------------------------------------------------------------------


def _messages(step: Arrivals, reading: _Reading) -> _Part:
    """What messages come to that load the network."""
    machine = reading.machine
    if machine.network.model == "loggop":
        what = "arrivals to the network take Hockney's model of a message: in LogGOPS processors are shared, too"
        raise InputError(what, step.place, value=machine.name, allowed="network.model: hockney")
    count, rate = reading.stream(step)
    size = reading.value(step.bytes, "bytes")
    if reading.ranks < 2:
        raise InputError("messages need two ranks", step.place, value=f"P = {reading.ranks}")
    message = price(machine.network, np.asarray(float(reading.ranks))).message(size)
    total = count.sum(axis=-1)
    every, response = total, np.sum(count * np.asarray(message.arrival_s), axis=-1) / total
    if reading.queueing:
        spread = product_variation(visit_factors(machine, "network", step.varies))
        seen = crowd(step, machine, reading.setting, count, rate, size, spread)
        reading.note(seen.formula)
        reading.check_load(seen.load, seen.names, rate, step.place)
        response = np.asarray(seen.latency_s)
    busy = np.sum(count * (np.asarray(message.send_s) + message.receive_s), axis=-1)
    watts, per_byte = machine.network.dynamic_power_w or 0.0, machine.network.energy_per_byte_j or 0.0
    sent = np.sum(count * size, axis=-1)
    return _Part(
        component="communication",
        served=every,
        refused=np.zeros(()),
        response_s=response,
        last_s=_last_s(count, rate),
        messages=total,
        message_bytes=sent,
        busy_j=busy * _of_points(watts) + sent * _of_points(per_byte),
    )


def _of_points(constant: Amount) -> Amount:
    """A constant of the machine without the axis of ranks."""
    return np.asarray(constant)[..., 0] if np.ndim(constant) else constant
