"""Open streams of requests in closed form: load, response time and loss of the disks and the network that they go to.

Disks: the requests of all ranks with a common one arrive there together. Poisson arrivals make it M/M/c, M/D/1, M/G/1
or, with limited capacity, M/M/c/K; those that continue to other disks a Jackson network. Whatever has no formula of its
own takes the approximation of Allen and Cunneen, or the nearest formula, and ``Result.formulas`` names it.

The steady state is what a long run comes near; what is simulated begins with empty stations. The time of the whole run
is the time of the last arrival, in the mean, and of one more response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.messages.message import Message
from simcodesign.analytic.messages.message_costs import price
from simcodesign.analytic.messages.route_links import links_of_messages
from simcodesign.analytic.queueing.closed_loops import visit_factors
from simcodesign.analytic.queueing.moments import product_variation
from simcodesign.analytic.queueing.open_disks import disks_of, parts_at_disks
from simcodesign.analytic.queueing.open_evaluation import OpenEvaluation, StreamForecast, last_s
from simcodesign.analytic.queueing.open_network import crowd, pairs_of
from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.demands.arrivals import BETWEEN, DISK, REQUESTS, Arrivals
from simcodesign.describe.design_point import DesignPoint


def open_forecast(design_point: DesignPoint, queueing: bool = True) -> Result:
    """Return the forecast of a program of arrivals; arrays of ``setting.shape`` for several design points.

    Without ``queueing`` no request waits or is blocked, as in a simulation with every effect off.

    Raises InputError for a single design point at which a station has a load of 1 or more and no limit of capacity (of
    several points, these have an infinite response), and for anything that cannot be used.
    """
    evaluation = OpenEvaluation(design_point, queueing)
    program = [step for step in design_point.workload.program if isinstance(step, Arrivals)]
    with np.errstate(all="ignore"):
        disks = [step for step in program if step.to == DISK]
        parts = parts_at_disks(disks, evaluation) if disks else []
        parts += [_messages(step, evaluation) for step in program if step.to != DISK]
        result = _together(parts, evaluation)
    numbers = [result.message_bytes, result.disk_bytes]
    numbers += [] if design_point.shape else [result.makespan_s, result.energy_j or 0.0]
    if not all(np.all(np.isfinite(number)) for number in numbers):
        raise InputError(
            "time, bytes or energy of the forecast are too large to be a number", design_point.workload.place
        )
    return result


def _together(parts: Sequence[StreamForecast], evaluation: OpenEvaluation) -> Result:
    """Return the Result of all steps: the last one to end makes the makespan."""
    design_point = evaluation.design_point
    ends = np.stack(np.broadcast_arrays(*(np.asarray(part.last_s + part.response_s) for part in parts)))
    longest = np.argmax(ends, axis=0)
    phases = {name: {part: np.zeros(ends.shape[1:]) for part in COMPONENTS} for name in (BETWEEN, REQUESTS)}
    for number, part in enumerate(parts):
        for phase, component, time in (
            (BETWEEN, "computation", part.last_s),
            (REQUESTS, part.component, part.response_s),
        ):
            phases[phase][component] = np.where(longest == number, time, phases[phase][component])
    served, blocked = (sum(np.asarray(getattr(part, name)) for part in parts) for name in ("served", "blocked"))
    response = sum(np.asarray(part.served * part.response_s) for part in parts) / served
    every = evaluation.at_every_point

    def total(name: str) -> FloatOrArray:
        return every(sum(np.asarray(getattr(part, name)) for part in parts))

    result = Result(
        reading="forecast",
        **design_point.result_fields(),
        makespan_s=every(ends.max(axis=0)),
        phases={name: {part: every(time) for part, time in times.items()} for name, times in phases.items()},
        messages=total("messages"),
        message_bytes=total("message_bytes"),
        disk_bytes=total("disk_bytes"),
        response_s=every(response),
        blocked=every(blocked / (served + blocked)),
        link_load=every(np.max(np.broadcast_arrays(*(np.asarray(part.link_load) for part in parts)), axis=0)),
        formulas=tuple(evaluation.formulas),
    )
    return _with_power(result, total("busy_j"), evaluation)


def _with_power(result: Result, busy_j: FloatOrArray, evaluation: OpenEvaluation) -> Result:
    """Return the Result with energy and power, if the machine states any: at most, all servers are at work."""
    design_point, machine = evaluation.design_point, evaluation.design_point.machine
    if not design_point.has_power:
        return result
    static = evaluation.at_every_point(machine.totals().static_power_w or 0.0)
    steps = [step for step in design_point.workload.program if isinstance(step, Arrivals)]
    highest: FloatOrArray = 0.0
    if any(step.to == DISK for step in steps) and machine.disk is not None and machine.disk.dynamic_power_w is not None:
        servers = machine.disk.spindles * len(disks_of(machine, evaluation.ranks)[0])
        highest = highest + machine.disk.dynamic_power_w * servers
    if any(step.to != DISK for step in steps) and machine.network.dynamic_power_w is not None:
        highest = highest + machine.network.dynamic_power_w * evaluation.ranks
    return replace(
        result,
        static_power_w=static,
        energy_j=evaluation.at_every_point(static * result.makespan_s + busy_j),
        peak_power_w=evaluation.at_every_point(static + highest),
    )


def _messages(step: Arrivals, evaluation: OpenEvaluation) -> StreamForecast:
    """Forecast messages that load the network."""
    machine = evaluation.machine
    if not machine.network.message_model.ranks_work_in_order:
        what = "arrivals to the network take Hockney's model of a message: in LogGOPS processors are shared, too"
        raise InputError(what, step.place, value=machine.name, allowed="network.model: hockney")
    count, rate = evaluation.stream(step)
    size = evaluation.value(step.bytes, "bytes")
    if evaluation.ranks < 2:
        raise InputError("messages need two ranks", step.place, value=f"P = {evaluation.ranks}")
    total = count.sum(axis=-1)
    message, weight = _message(step, evaluation, count, size)
    every, response = total, np.sum(weight * np.asarray(message.arrival_s), axis=-1) / total
    link_load: FloatOrArray = 0.0
    if evaluation.queueing:
        spread = product_variation(visit_factors(machine, "network", step.varies))
        crowded = crowd(step, machine, evaluation.design_point, count, rate, size, spread)
        evaluation.note(crowded.formula)
        evaluation.check_load(crowded.load, crowded.names, rate, step.place)
        evaluation.check_links(crowded.link_load, rate, step.place)
        response, link_load = np.asarray(crowded.latency_s), crowded.link_load
    busy = np.sum(weight * (np.asarray(message.send_s) + message.receive_s), axis=-1)
    watts, per_byte = machine.network.dynamic_power_w or 0.0, machine.network.energy_per_byte_j or 0.0
    sent = np.sum(count * size, axis=-1)
    return StreamForecast(
        component="communication",
        served=every,
        blocked=np.zeros(()),
        response_s=response,
        last_s=last_s(count, rate),
        link_load=link_load,
        messages=total,
        message_bytes=sent,
        busy_j=busy * _of_points(watts) + sent * _of_points(per_byte),
    )


def _message(
    step: Arrivals, evaluation: OpenEvaluation, count: NDArray[np.float64], size: NDArray[np.float64]
) -> tuple[Message, FloatOrArray]:
    """Return the message of every rank, or where links differ of every pair of ranks.

    Also return how many of each there are.
    """
    machine, ranks = evaluation.machine, np.asarray(float(evaluation.ranks))
    if not machine.paths_differ:
        return price(machine.network, ranks).message(size), count
    source, target, share = pairs_of(step, evaluation.design_point)
    links = links_of_messages(machine, evaluation.ranks, source, target)
    return price(machine.network, ranks, links=links).message(size[..., source]), count[..., source] * share


def _of_points(constant: FloatOrArray) -> FloatOrArray:
    """Return a constant of the machine without the axis of ranks."""
    return np.asarray(constant)[..., 0] if np.ndim(constant) else constant
