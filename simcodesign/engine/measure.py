"""From the log of a run to a Result: who spent how long on what, waited for what, and how busy the stations were."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.setting import Setting
from simcodesign.engine.contract import Log
from simcodesign.engine.critical_path import critical_path_s
from simcodesign.generate.plan import DISK, INTERFACE, STATION_KINDS, Plan
from simcodesign.result import COMPONENT_OF_KIND, COMPONENTS, READ, SEND, RankTimes, Result, StationUse, Timeline


def measured(
    setting: Setting, plan: Plan, log: Log, effects: Collection[str], seed: int, keep_timeline: bool = False
) -> Result:
    """The Result of a run."""
    times = _rank_times(plan, log)
    path = critical_path_s(plan, log)
    sends = plan.kind == SEND
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
        messages=int(np.count_nonzero(sends)),
        message_bytes=float(plan.size_bytes[sends].sum()),
        disk_bytes=float(plan.size_bytes[plan.kind >= READ].sum()),
        effects=tuple(effects),
        seed=seed,
        events=log.events,
        ranks=times,
        stations=_stations(setting, plan, log, makespan),
        timeline=_timeline(plan, log) if keep_timeline else None,
    )


def _ready_s(plan: Plan, log: Log) -> NDArray[np.float64]:
    """When each operation was its rank's turn: when the one before it was done."""
    ready = np.zeros(len(plan))
    ready[1:] = np.where(plan.chained[1:-1], log.finish_s[:-1], 0.0)
    return ready


def _waited_s(plan: Plan, log: Log) -> NDArray[np.float64]:
    """How long each operation's rank waited for a message or a turn at the disk."""
    waited = log.finish_s - _ready_s(plan, log) - plan.duration_s
    waited[waited <= 4 * np.spacing(log.finish_s)] = 0.0  # no more than the rounding of ready + duration
    return waited


def _rank_times(plan: Plan, log: Log) -> RankTimes:
    shape = (plan.ranks, len(plan.phases), len(COMPONENTS))
    spent, waited = log.finish_s - _ready_s(plan, log), _waited_s(plan, log)
    cell = np.ravel_multi_index((plan.rank, plan.phase, COMPONENT_OF_KIND[plan.kind]), shape)
    busy, waiting = (
        np.bincount(cell, weights=amount, minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)
        for amount in (spent, waited)
    )
    end = np.zeros(plan.ranks)
    last = plan.first[1:] - 1
    has_any = np.diff(plan.first) > 0
    end[has_any] = log.finish_s[last[has_any]]
    return RankTimes(plan.phases, busy, waiting, end)


def _stations(setting: Setting, plan: Plan, log: Log, makespan_s: float) -> tuple[StationUse, ...]:
    stations, span = plan.stations, makespan_s or 1.0
    return tuple(
        StationUse(
            name=_station_name(setting, int(stations.kind[number]), int(stations.unit[number])),
            kind=STATION_KINDS[stations.kind[number]],
            servers=int(stations.servers[number]),
            served=int(log.served[number]),
            busy_s=float(log.busy_s[number]),
            wait_s=float(log.wait_s[number]),
            utilisation=float(log.busy_s[number] / (span * stations.servers[number])),
            mean_queue=float(log.wait_s[number] / span),
            longest_queue=int(log.longest_queue[number]),
        )
        for number in range(len(stations))
    )


def _station_name(setting: Setting, kind: int, unit: int) -> str:
    if kind == DISK:
        return f"disk {unit}"
    return f"interface {unit}" if kind == INTERFACE else f"link {setting.machine.network.topology.link_name(unit)}"


def _timeline(plan: Plan, log: Log) -> Timeline:
    ready = _ready_s(plan, log)
    start = np.where(_waited_s(plan, log) > 0, log.finish_s - plan.duration_s, ready)
    return Timeline(
        plan.phases,
        plan.rank,
        plan.phase,
        plan.kind,
        ready,
        start,
        log.finish_s,
        plan.peer,
        plan.size_bytes,
        plan.match,
    )
