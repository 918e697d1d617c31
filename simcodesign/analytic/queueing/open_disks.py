"""Disks under open streams of requests: the stream at each, as a station of its own or of a Jackson network.

The requests of all ranks with a common disk arrive there together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.demands.disk_access import access_s
from simcodesign.analytic.queueing.closed_loops import is_exponential, visit_factors
from simcodesign.analytic.queueing.moments import product_variation, variation
from simcodesign.analytic.queueing.open_evaluation import Floats, OpenEvaluation, StreamForecast, last_s
from simcodesign.analytic.queueing.station import Queue, allen_cunneen, mg1, mmck
from simcodesign.core.errors import InputError
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.arrivals import Arrivals
from simcodesign.describe.machine import Machine
from simcodesign.describe.randomness.distribution import Distribution


@dataclass(frozen=True)
class _Flow:
    """One step at the disks, for every rank (..., P)."""

    step: Arrivals
    count: Floats  # requests that begin there
    rate_per_s: Floats
    visits: Floats  # requests that come there, from elsewhere too
    flow_per_s: Floats
    service_s: Floats
    size_bytes: Floats
    factors: tuple[Distribution, ...]


def disks_of(machine: Machine, ranks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the disks that ``ranks`` ranks use, and the place of every rank's disk among them."""
    assert machine.disk is not None
    units, place = np.unique(machine.node_of(ranks) // machine.disk.shared_by, return_inverse=True)
    return units, place


def parts_at_disks(steps: Sequence[Arrivals], evaluation: OpenEvaluation) -> list[StreamForecast]:
    """Forecast the steps whose requests meet at the disks."""
    flows = [_flow(step, evaluation) for step in steps]
    machine = evaluation.machine
    assert machine.disk is not None
    _, place = disks_of(machine, evaluation.ranks)
    if not evaluation.queueing:
        waits, blocked = np.zeros(evaluation.ranks), np.zeros(evaluation.ranks)
    else:
        queue = _queue_at_disks(flows, evaluation)
        waits, blocked = (each[..., place] for each in np.broadcast_arrays(queue.waiting_s, queue.blocked))
    watts = machine.disk.dynamic_power_w or 0.0
    return [_disk_part(flow, waits, blocked, watts) for flow in flows]


def _flow(step: Arrivals, evaluation: OpenEvaluation) -> _Flow:
    count, rate = evaluation.stream(step)
    size = evaluation.value(step.bytes, "bytes")
    service = access_s(step, step.kind, evaluation.machine.disk, size, 1.0)
    shape = np.broadcast_shapes(np.shape(service), count.shape)
    visits, flow = count, rate
    if step.next:
        shares = _shares(step, evaluation)
        visits, flow = (_spread(shares, every) for every in (count, rate))
    factors = visit_factors(evaluation.machine, "disk", step.varies)
    return _Flow(step, count, rate, visits, flow, np.broadcast_to(service, shape), size, factors)


def _shares(step: Arrivals, evaluation: OpenEvaluation) -> Floats:
    """(..., P, P) the chances to continue. InputError unless requests can."""
    cells = [evaluation.value(share, "next")[..., 0] for row in step.next for share in row]
    flat = np.stack(np.broadcast_arrays(*cells), axis=-1)
    shares = flat.reshape(*flat.shape[:-1], len(step.next), len(step.next))
    step.check_next(shares, evaluation.ranks)
    return shares


def _spread(shares: Floats, outside: Floats) -> Floats:
    """Return the traffic equations: total arrivals at every rank's disk, x = outside + x shares (Jackson, 1957)."""
    matrix = np.eye(shares.shape[-1]) - np.swapaxes(shares, -1, -2)
    return np.asarray(np.linalg.solve(matrix, outside[..., None])[..., 0])


def _queue_at_disks(flows: Sequence[_Flow], evaluation: OpenEvaluation) -> Queue:
    """All disks (..., D) as stations. InputError at one that cannot keep up."""
    machine = evaluation.machine
    assert machine.disk is not None
    units, place = disks_of(machine, evaluation.ranks)

    def at_disks(each: Floats) -> Floats:
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
    capacity = _capacity(flows, evaluation)
    queue, name = (
        station.limited(machine.disk.spindles, capacity)
        if capacity is not None
        else station.open(machine.disk.spindles)
    )
    if routed:
        exact = poisson and exponential
        name = f"Jackson network of {name}" if exact else f"network taken apart into {name}"
    evaluation.note(name)
    if capacity is None:
        rates = flows[0].rate_per_s
        names = [f"disk {unit}" for unit in units]
        evaluation.check_load(np.asarray(queue.utilisation), names, rates, flows[0].step.place)
    return queue


@dataclass(frozen=True)
class _Disk:
    """Arrivals at the disks (..., D): variations are coefficients."""

    rate_per_s: Floats
    service_s: Floats
    spread: Floats
    between: Floats
    poisson: bool
    exponential: bool

    def open(self, servers: int) -> tuple[Queue, str]:
        """Without a limit of capacity; and the name of the formula."""
        if self.poisson and servers == 1:
            known = "M/M/1" if self.exponential else "M/D/1" if not np.any(self.spread) else "M/G/1"
            name = {"M/G/1": "M/G/1 (Pollaczek-Khinchine)"}.get(known, known)
            return mg1(self.rate_per_s, self.service_s, self.spread), name
        queue = allen_cunneen(self.rate_per_s, self.service_s, servers, self.between, self.spread)
        if self.poisson and self.exponential:
            return queue, f"M/M/{servers}"
        return queue, f"GI/G/{servers} (approximation of Allen and Cunneen)"

    def limited(self, servers: int, capacity: Floats) -> tuple[Queue, str]:
        """Queue with limited capacity."""
        at_once = np.minimum(servers, capacity)
        queue = mmck(self.rate_per_s, self.service_s, at_once, capacity)
        several = f"{capacity.flat[0]:g}" if capacity.min() == capacity.max() else "K"
        name = f"M/M/{servers}/{several}"
        # Erlang's loss formula holds for any service: no request waits.
        exact = self.poisson and (self.exponential or bool(np.all(capacity <= servers)))
        return queue, name if exact else f"{name} (as if arrivals and services were exponential)"


def _capacity(flows: Sequence[_Flow], evaluation: OpenEvaluation) -> Floats | None:
    """(..., 1) capacity of every disk, None if it has no limit."""
    stated = [flow.step.capacity for flow in flows]
    limits = [capacity for capacity in stated if capacity is not None]
    if not limits:
        return None
    values = [evaluation.value(capacity, "capacity")[..., :1] for capacity in limits]
    if len(limits) < len(stated) or not all(np.array_equal(value, values[0]) for value in values):
        last = flows[-1].step.place
        raise InputError("capacity of disks", last, allowed="the same in all arrivals to disks")
    if np.any((values[0] < 1) | (values[0] != np.floor(values[0]))):
        place, value = limits[0].place or flows[0].step.place, float(values[0].min())
        raise InputError("capacity of a disk", place, value=value, allowed="a whole number, 1 and above")
    return values[0]


def _disk_part(flow: _Flow, waits: Floats, blocked: Floats, watts: FloatOrArray) -> StreamForecast:
    served = flow.visits * (1 - blocked)
    busy = served * flow.service_s
    through = np.sum(flow.count * (1 - blocked), axis=-1)  # of those that continue to other disks none is blocked
    spent = np.sum(np.where(served > 0, served * waits, 0.0) + busy, axis=-1)
    return StreamForecast(
        component="disk",
        served=through,
        blocked=np.sum(flow.count * blocked, axis=-1),
        response_s=np.where(through > 0, spent / np.where(through > 0, through, 1.0), 0.0),
        last_s=last_s(flow.count, flow.rate_per_s),
        disk_bytes=np.sum(served * flow.size_bytes, axis=-1),
        busy_j=np.sum(busy * watts, axis=-1),
    )
