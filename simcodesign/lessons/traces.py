"""Runs of which everything is kept: operations, messages at every station of their routes, and the critical path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import SEND
from simcodesign.describe.design_point import DesignPoint
from simcodesign.engine.queues.critical_path import PathSegment, path_through_queues
from simcodesign.engine.queues.visits import StationVisits, run_with_visits
from simcodesign.engine.waits import begin_s, ready_s, released_s
from simcodesign.generate.lower import make_plan
from simcodesign.generate.plan import ANY, LINK, NONE, Plan
from simcodesign.lessons.description import Run, Stops
from simcodesign.lessons.geometry import geometry_of
from simcodesign.lessons.scenarios import scenario_at
from simcodesign.studies.replication.replicate import random_sources_of

Arrays = dict[str, NDArray[np.generic]]


def traces_at(run: Run, stops: Stops) -> Arrays:
    """All arrays of the runs at these stops: those of the network, and for rung k of the ladder under ``k/...``.

    ``position``, ``ends``, ``bend``, ``stubs``, ``hosts`` (1,): the network (``Geometry``); ``node`` (ranks,): where
    ranks are. Where something is random, draws after the first are under ``k.d/...``. Of a rung:
    ``ops`` (N, 3): rank, kind and peer; ``op_times`` (N, 3): ready, begin and finish; ``messages`` (M, 4): operation of
    the send, sender, receiver, number of visits to stations that are recorded; ``message_times`` (M, 3): begin of the
    send, arrival, size in bytes; ``way_start`` (M + 1,) and ``way`` (hops,): the links of each route; ``visits``
    (hops, 3): arrival at each link, grant and end, NaN where messages pay no attention to links; of the critical path
    ``path`` (segments, 3): rank, message, and link (-1: none, -2: an interface or another station); ``path_times``
    (segments, 2): from when to when; of stations ``stations`` (S, 2): kind and unit (``generate.plan``) of each that
    served somebody; ``served`` (V, 2): place among these, operation; ``served_times`` (V, 3): asked, begin and end.
    """
    point = scenario_at(run, stops).bind()
    arrays = network_of(point)
    for rung in range(len(run.effects) + 1):
        effects = run.effects[:rung]
        for draw in range(run.draws if random_sources_of(point, effects) else 1):
            own = trace_of(make_plan(point, effects, draw), point)
            arrays |= {f"{rung}.{draw}/{name}" if draw else f"{rung}/{name}": one for name, one in own.items()}
    return arrays


def network_of(point: DesignPoint) -> Arrays:
    """Return the network of a machine, and where its ranks are."""
    picture = geometry_of(point.machine.network.topology)
    return {
        "node": np.asarray(point.machine.placement.node_of(point.ranks)),
        "position": picture.position,
        "ends": picture.ends,
        "bend": picture.bend,
        "stubs": picture.stubs,
        "hosts": np.array([picture.hosts]),
    }


def trace_of(plan: Plan, point: DesignPoint) -> Arrays:
    """All arrays of one run (``traces_at`` says which). InputError where messages have no turn at links."""
    node = point.machine.placement.node_of(plan.ranks)
    log, visits = run_with_visits(plan)
    sends = np.flatnonzero((plan.kind == SEND) & (plan.peer >= 0))
    routes = point.machine.network.topology.routes(node[plan.rank[sends]], node[plan.peer[sends]])
    began_s = begin_s(plan, log)
    waiting_s = ready_s(plan, log, released_s(plan, log), slice(0, len(plan)))
    path = path_through_queues(plan, log, visits)
    rows, kept = _visits(plan, visits, sends, routes.start)
    return {
        "ops": np.stack([plan.rank, plan.kind, plan.peer], axis=1),
        "op_times": np.stack([waiting_s, began_s, log.finish_s], axis=1),
        "messages": np.stack([sends, plan.rank[sends], plan.peer[sends], kept], axis=1),
        "message_times": np.stack([began_s[sends], log.arrival_s[sends], plan.size_bytes[sends]], axis=1),
        "way_start": routes.start,
        "way": routes.link,
        "visits": rows,
        **_path(plan, path, sends),
        **_services(plan, visits),
    }


def _visits(
    plan: Plan, visits: StationVisits, sends: NDArray[np.intp], start: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(hops, 3) times at the links of every route, and of every message how many of them are known."""
    rows = np.full((int(start[-1]), 3), np.nan)
    kept = np.zeros(len(sends), np.int64)
    is_link = plan.stations.kind[visits.station] == LINK
    for number, send in enumerate(sends.tolist()):
        part = slice(int(visits.start[send]), int(visits.start[send + 1]))
        mine = np.arange(part.start, part.stop)[is_link[part]]
        first, end = int(start[number]), int(start[number + 1])
        if len(mine) == end - first:
            rows[first:end] = np.stack([visits.arrival_s[mine], visits.grant_s[mine], visits.end_s[mine]], axis=1)
            kept[number] = len(mine)
    return rows, kept


def _services(plan: Plan, visits: StationVisits) -> dict[str, NDArray[np.generic]]:
    used, place = np.unique(visits.station, return_inverse=True)
    return {
        "stations": np.stack([plan.stations.kind[used], plan.stations.unit[used]], axis=1).astype(np.int64),
        "served": np.stack([place, visits.op], axis=1).astype(np.int64),
        "served_times": np.stack([visits.arrival_s, visits.grant_s, visits.end_s], axis=1),
    }


def _path(plan: Plan, path: list[PathSegment], sends: NDArray[np.intp]) -> dict[str, NDArray[np.generic]]:
    message_of = {int(send): number for number, send in enumerate(sends)}
    is_link = plan.stations.kind == LINK
    rows = [
        (
            int(plan.rank[one.op]),
            message_of.get(one.op, NONE),
            NONE if one.station == NONE else int(plan.stations.unit[one.station]) if is_link[one.station] else ANY,
        )
        for one in path
    ]
    times = [(one.from_s, one.to_s) for one in path]
    return {
        "path": np.array(rows, dtype=np.int64).reshape(-1, 3),
        "path_times": np.array(times, dtype=np.float64).reshape(-1, 2),
    }
