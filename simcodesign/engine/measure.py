"""From the log of a run to a Result: who spent how long on what, waited for what, and how busy the stations were."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.setting import Setting
from simcodesign.engine.contract import Log
from simcodesign.engine.critical_path import critical_path_s
from simcodesign.generate.plan import ANY, LINK, STATION_KINDS, Plan
from simcodesign.result import (
    COMPONENT_OF_KIND,
    COMPONENTS,
    READ,
    SEND,
    WRITE,
    RankTimes,
    Result,
    StationUses,
    Timeline,
)

Floats = NDArray[np.float64]
#: Ranks that are looked at together, so that a run of a million ranks needs little memory besides its own.
RANKS_AT_ONCE = 2**14


def measured(
    setting: Setting,
    plan: Plan,
    log: Log,
    effects: Collection[str],
    seed: int,
    engine: str = "simpy",
    keep_timeline: bool = False,
) -> Result:
    """The Result of a run."""
    times = _rank_times(plan, log)
    path = critical_path_s(plan, log)
    sends = np.flatnonzero(plan.kind == SEND)
    makespan = float(log.finish_s.max()) if len(plan) else 0.0
    return Result(
        reading="simulation",
        workload=setting.workload.name,
        machine=setting.machine.name,
        values=dict(setting.values),
        preset=setting.preset,
        makespan_s=makespan,
        phases={
            name: {part: float(path[number, place]) for place, part in enumerate(COMPONENTS)}
            for number, name in enumerate(plan.phases)
        },
        messages=len(sends) if plan.train is None else int(plan.train[sends].sum()),
        message_bytes=float(plan.size_bytes[sends].sum()),
        disk_bytes=float(plan.size_bytes[(plan.kind == READ) | (plan.kind == WRITE)].sum()),
        flops=plan.work.get("flops", 0.0),
        instructions=plan.work.get("instructions", 0.0),
        served=plan.served,
        hit_methods=plan.hit_methods,
        footprint_bytes=setting.footprint_bytes,
        capacity_bytes=setting.capacity_bytes,
        effects=tuple(effects),
        seed=seed,
        events=log.events,
        engine=engine,
        ranks=times,
        stations=_stations(setting, plan, log, makespan),
        timeline=_timeline(plan, log) if keep_timeline else None,
    )


def _released_s(plan: Plan, log: Log) -> Floats | None:
    """When the last dependency of each operation besides program order let it go; None if there are none."""
    edges = plan.edges
    if edges is None:
        return None
    source = np.repeat(np.arange(len(plan)), np.diff(edges.start))
    released = np.zeros(len(plan))
    np.maximum.at(released, edges.target, log.finish_s[source] - np.where(edges.early, plan.duration_s[source], 0.0))
    return released


def _ready_s(plan: Plan, log: Log, released: Floats | None, part: slice) -> Floats:
    """When each operation was its rank's turn: when the one before it was done, and others that it depends on."""
    before = np.arange(part.start, part.stop) - 1
    ready = np.where(plan.chained[part], log.finish_s[before], 0.0)
    return ready if released is None else np.maximum(ready, released[part])


def _waited_s(plan: Plan, log: Log, ready: Floats, part: slice) -> Floats:
    """How long each operation's rank waited for a message or a turn at a station."""
    finish = log.finish_s[part]
    waited = finish - ready - plan.duration_s[part]
    waited[waited <= 4 * np.spacing(finish)] = 0.0  # no more than the rounding of ready + duration
    return waited


def _rank_times(plan: Plan, log: Log) -> RankTimes:
    shape = (plan.ranks, len(plan.phases), len(COMPONENTS))
    busy, waiting = np.zeros(shape), np.zeros(shape)
    released = _released_s(plan, log)
    for low in range(0, plan.ranks, RANKS_AT_ONCE):
        high = min(low + RANKS_AT_ONCE, plan.ranks)
        part = slice(int(plan.first[low]), int(plan.first[high]))
        ready = _ready_s(plan, log, released, part)
        waited = _waited_s(plan, log, ready, part)
        cell = (plan.rank[part] - low) * shape[1] + plan.phase[part]
        cell = cell * shape[2] + COMPONENT_OF_KIND[plan.kind[part]]
        for times, amount in ((busy, log.finish_s[part] - ready), (waiting, waited)):
            sums = np.bincount(cell, weights=amount, minlength=(high - low) * shape[1] * shape[2])
            times[low:high] = sums.reshape(high - low, *shape[1:])
    end = np.zeros(plan.ranks)
    has_any = np.diff(plan.first) > 0
    if has_any.any():
        end[has_any] = np.maximum.reduceat(log.finish_s, plan.first[:-1][has_any])
    return RankTimes(plan.phases, busy, waiting, end)


def _stations(setting: Setting, plan: Plan, log: Log, makespan_s: float) -> StationUses:
    stations = plan.stations
    topology = setting.machine.network.topology

    def name(number: int) -> str:
        kind, unit = int(stations.kind[number]), int(stations.unit[number])
        return f"link {topology.link_name(unit)}" if kind == LINK else f"{STATION_KINDS[kind]} {unit}"

    return StationUses(
        name=name,
        kinds=STATION_KINDS,
        kind=stations.kind,
        servers=stations.servers,
        served=log.served,
        busy_s=log.busy_s,
        wait_s=log.wait_s,
        longest_queue=log.longest_queue,
        span_s=makespan_s or 1.0,
    )


def _timeline(plan: Plan, log: Log) -> Timeline:
    every = slice(0, len(plan))
    ready = _ready_s(plan, log, _released_s(plan, log), every)
    start = np.where(_waited_s(plan, log, ready, every) > 0, log.finish_s - plan.duration_s, ready)
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
    )
