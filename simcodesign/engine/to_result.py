"""From the log of a run to a Result: who spent how long on what, waited for what, and how busy the stations were."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.forecast_parts import DemandTime
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS, FILE_KINDS, SEND
from simcodesign.core.result import MachineUse, Result
from simcodesign.core.simulation_parts import RankTimes, Requests, Timeline
from simcodesign.core.stations.uses import StationUses
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.effects import Mechanism, switched_on
from simcodesign.describe.evaluated.algorithms_taken import algorithms_taken
from simcodesign.describe.evaluation import Evaluation
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_use import machine_use
from simcodesign.describe.programs.program import placed_demands
from simcodesign.engine.counters import counted
from simcodesign.engine.critical_path import added_by_demand_s, critical_path_s
from simcodesign.engine.event_contract import Log
from simcodesign.engine.power import power_and_energy
from simcodesign.engine.station_names import StationNames, StationsOfOperations
from simcodesign.engine.waits import ready_s, released_s, waited_s
from simcodesign.generate.plan import ANY, INTERFACE, LINK, STATION_KINDS, Plan

Floats = NDArray[np.float64]
#: Ranks that are processed together, so that a run of a million ranks needs little additional memory.
RANKS_AT_ONCE = 2**14
#: Operations that are processed together, at least the operations of one rank, so that they stay in the cache.
AT_ONCE = 2**14


def measured(
    point: DesignPoint,
    plan: Plan,
    log: Log,
    effects: Collection[str],
    seed: int,
    engine: str = "simpy",
    keep_timeline: bool = False,
) -> Result:
    """Return the Result of a run."""
    plan = _as_done(plan, log)
    powers: dict[str, Any] = {}
    if plan.powers is not None:
        static = point.machine.totals().static_power_w
        power = power_and_energy(plan, log, plan.powers, 0.0 if static is None else float(static))
        powers = {
            "energy_j": power.energy_j,
            "peak_power_w": power.profile.peak_w,
            "static_power_w": 0.0 if static is None else float(static),
            "power_profile": power.profile,
        }
    own = point.result_fields()
    of_run = _of_run(point, plan, log, effects, keep_timeline)
    own["use"] = _use_of_links(own["use"], point.machine, plan, log, of_run["makespan_s"], switched_on(effects))
    return Result(
        reading="simulation",
        **own,
        **of_run,
        flops=plan.work.get("flops", 0.0),
        instructions=plan.work.get("instructions", 0.0),
        served=plan.served,
        hit_methods=plan.hit_methods,
        prefetched=plan.prefetched.get("memory"),
        seed=seed,
        engine=engine,
        counters=None if plan.accounts is None else counted(plan, log, plan.accounts, RANKS_AT_ONCE),
        used=plan.used,
        limits_s=plan.limits_s,
        processor_limits_s={name: time_s for name, time_s in plan.processor_limits_s.items() if time_s},
        demands=_demand_times(point, plan, log),
        notes=_notes(plan),
        algorithms=algorithms_taken(Evaluation.at_ranks(point).program),
        **powers,
        **_open_stream(plan, log, of_run["makespan_s"]),
    )


def measured_jobs(
    point: DesignPoint,
    plan: Plan,
    log: Log,
    effects: Collection[str],
    seed: int,
    engine: str = "simpy",
    keep_timeline: bool = False,
) -> Result:
    """Return the Result of a run of several jobs, on the machine of ``point`` that has the ranks of all.

    Without what belongs to the workload of one job.
    """
    plan = _as_done(plan, log)
    of_run = _of_run(point, plan, log, effects, keep_timeline)
    use = replace(machine_use(point.machine, point.ranks), hint="")
    return Result(
        reading="simulation",
        workload=point.workload.name,
        machine=point.machine.label,
        values=dict(point.values),
        **of_run,
        seed=seed,
        engine=engine,
        use=_use_of_links(use, point.machine, plan, log, of_run["makespan_s"], switched_on(effects)),
    )


def _of_run(point: DesignPoint, plan: Plan, log: Log, effects: Collection[str], keep_timeline: bool) -> dict[str, Any]:
    """Return the fields of a Result that the log of a run determines, for any workload."""
    makespan_s = float(log.finish_s.max()) if len(plan) else 0.0
    path = critical_path_s(plan, log)
    sends, accesses = plan.kind == SEND, np.isin(plan.kind, FILE_KINDS)
    return {
        "makespan_s": makespan_s,
        "phases": {
            name: {part: float(path[number, place]) for place, part in enumerate(COMPONENTS)}
            for number, name in enumerate(plan.phases)
        },
        "messages": int(_total(np.ones(len(plan)) if plan.train is None else plan.train, sends, plan)),
        "message_bytes": _total(plan.size_bytes, sends, plan),
        "disk_bytes": _total(plan.size_bytes, accesses, plan),
        "effects": tuple(effects),
        "events": log.events,
        "ranks": _rank_times(plan, log),
        "stations": _stations(point, plan, log, makespan_s),
        "timeline": _timeline(point, plan, log) if keep_timeline else None,
    }


def _total(amounts: Floats, chosen: NDArray[np.bool_], plan: Plan) -> float:
    """Return the sum over these operations of all ranks."""
    copies = plan.copies
    return float((amounts[chosen] if copies is None else amounts[chosen] * copies[chosen]).sum())


def _notes(plan: Plan) -> tuple[str, ...]:
    if plan.class_of is None:
        return ()
    several = f"{plan.ranks} rank{'s' * (plan.ranks != 1)}"
    return (f"the {len(plan.class_of)} ranks are simulated as {several}, because the others do the same",)


def _use_of_links(
    use: MachineUse, machine: Machine, plan: Plan, log: Log, makespan_s: float, on: Set[Mechanism]
) -> MachineUse:
    """With the links that carry messages, between nodes and inside, and what of it was background."""
    used = (plan.stations.kind == LINK) & (log.served > 0)
    links = used & (plan.stations.unit < use.of_links)
    if Mechanism.NODE_NETWORKS in on and use.of_inside_links:
        use = replace(use, inside_links=int(np.count_nonzero(used & ~links)))
    if Mechanism.LINKS not in on:
        return use
    use = replace(use, links=int(np.count_nonzero(links)))
    if use.background is None or log.others_busy_s is None:
        return use
    busy_s, of_others_s = log.busy_s[links], log.others_busy_s[links]
    fraction = float(of_others_s.sum()) / (float(busy_s.sum()) or 1.0)
    load = float(of_others_s.max(initial=0.0)) / (makespan_s or 1.0)
    about = use.background.about
    if machine.background is not None and plan.background is not None:
        about = machine.background.text(use.background.nodes, float(plan.background.size_bytes[0]))
    return replace(use, background=replace(use.background, about=about, fraction=fraction, link_load=load))


def _demand_times(point: DesignPoint, plan: Plan, log: Log) -> tuple[DemandTime, ...]:
    """Return how much each demand of the program adds, if operations are in its order."""
    order = plan.demands
    if order is None:
        return ()
    times = np.bincount(order.demand[order.turns], minlength=order.demands).tolist()
    added_s = added_by_demand_s(plan, log, order).tolist()
    placed = placed_demands(point.workload.program)
    return tuple(
        DemandTime(one.phase, one.demand.label, float(count), seconds)
        for one, count, seconds in zip(placed, times, added_s, strict=True)
    )


def _as_done(plan: Plan, log: Log) -> Plan:
    """Return the Plan with what has become of its operations.

    Blocked ones took no time and moved no bytes, sends that were held took as long as their messages, receives as long
    as they searched.
    """
    holds = None if plan.routes is None else plan.routes.holds
    held = np.zeros(0, np.int64) if holds is None else np.flatnonzero(holds)
    if not len(log.blocked_operations) and not len(held) and log.searched is None:
        return plan
    duration_s, size_bytes = plan.duration_s.copy(), plan.size_bytes.copy()
    if log.searched is not None:
        duration_s += plan.matching_s * log.searched
    duration_s[log.blocked_operations] = size_bytes[log.blocked_operations] = 0.0
    if len(held):
        begun_s = ready_s(plan, log, released_s(plan, log), slice(0, len(plan)))
        duration_s[held] = (log.finish_s - begun_s)[held]
    return replace(plan, duration_s=duration_s, size_bytes=size_bytes)


def _open_stream(plan: Plan, log: Log, makespan_s: float) -> dict[str, Any]:
    """Return the outcome of the requests of a program of arrivals."""
    if plan.requests is None:
        return {}
    ends = plan.requests.leaves
    arrived = log.finish_s[plan.requests.arrives]
    left = np.where(plan.kind[ends] == SEND, log.arrival_s[ends], log.finish_s[ends])
    left[np.isin(ends, log.blocked_operations)] = np.nan
    order = np.argsort(arrived, kind="stable")
    requests = Requests(arrived[order], left[order], plan.requests.source[order])
    served = requests.response_s
    links_busy_s = log.busy_s[plan.stations.kind == LINK]
    return {
        "link_load": float(links_busy_s.max(initial=0.0)) / (makespan_s or 1.0),
        "requests": requests,
        "response_s": float(served.mean()) if len(served) else 0.0,
        "blocked": requests.blocked / len(requests),
    }


def _rank_times(plan: Plan, log: Log) -> RankTimes:
    shape = (plan.ranks, len(plan.phases), len(COMPONENTS))
    busy, waiting = np.zeros(shape), np.zeros(shape)
    released = released_s(plan, log)
    for low, high in _parts_of_ranks(plan):
        part = slice(int(plan.first[low]), int(plan.first[high]))
        ready = ready_s(plan, log, released, part)
        waited = waited_s(plan, log, ready, part)
        cell = COMPONENT_OF_KIND[plan.kind[part]]
        cell += np.int64(shape[2]) * plan.phase[part]
        cell += np.int64(shape[1] * shape[2]) * (plan.rank[part] - low)
        for times, amount in ((busy, log.finish_s[part] - ready), (waiting, waited)):
            sums = np.bincount(cell, weights=amount, minlength=(high - low) * shape[1] * shape[2])
            times[low:high] = sums.reshape(high - low, *shape[1:])
    end = np.zeros(plan.ranks)
    has_any = np.diff(plan.first) > 0
    if has_any.any():
        end[has_any] = np.maximum.reduceat(log.finish_s, plan.first[:-1][has_any])
    if plan.class_of is not None:
        busy, waiting, end = (several[plan.class_of] for several in (busy, waiting, end))
    return RankTimes(plan.phases, busy, waiting, end)


def _parts_of_ranks(plan: Plan) -> Iterator[tuple[int, int]]:
    """From which rank to which, a part at a time."""
    low = 0
    while low < plan.ranks:
        high = int(np.searchsorted(plan.first, plan.first[low] + AT_ONCE, side="right")) - 1
        high = min(max(high, low + 1), plan.ranks)
        yield low, high
        low = high


def _stations(point: DesignPoint, plan: Plan, log: Log, makespan_s: float) -> StationUses:
    """Return how stations were used.

    With background traffic, only stations that served something: which others its next messages would have passed
    depends on how many have been drawn.
    """
    stations, shown = plan.stations, np.arange(len(plan.stations))
    if log.others_busy_s is not None:
        shown = np.flatnonzero((log.served > 0) | ((stations.kind != LINK) & (stations.kind != INTERFACE)))
    return StationUses(
        name=StationNames(point.machine, stations, shown),
        kinds=STATION_KINDS,
        kind=stations.kind[shown],
        servers=stations.servers[shown],
        served=log.served[shown],
        busy_s=log.busy_s[shown],
        wait_s=log.wait_s[shown],
        longest_queue=log.longest_queue[shown],
        blocked=log.blocked[shown],
        background_s=None if log.others_busy_s is None else log.others_busy_s[shown],
        span_s=makespan_s or 1.0,
    )


def _timeline(point: DesignPoint, plan: Plan, log: Log) -> Timeline:
    every, names = slice(0, len(plan)), StationNames(point.machine, plan.stations)
    ready = ready_s(plan, log, released_s(plan, log), every)
    start = np.where(waited_s(plan, log, ready, every) > 0, log.finish_s - plan.duration_s, ready)
    return Timeline(
        plan.phases,
        plan.rank,
        plan.phase,
        plan.kind,
        ready,
        start,
        log.finish_s,
        np.where(plan.peer == ANY, plan.rank[log.match], plan.peer),
        np.where(np.isnan(plan.size_bytes), plan.size_bytes[log.match], plan.size_bytes),
        log.match,
        log.arrival_s,
        StationsOfOperations.of(names, plan),
        None if log.services is None else log.services.named(names, names.kind_of),
        None if plan.lines is None else plan.lines.line,
    )
