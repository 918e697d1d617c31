"""The Plans of several jobs on one machine as one Plan, which engines walk as any other.

Each Plan has the operations of its job alone, with prices and random numbers of its own; its ranks are a communicator
that no other job is in. Put together, their messages share the links of the network, and their accesses the servers of
the storage, since these are the same stations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import WAIT
from simcodesign.generate.dependencies import edges_of
from simcodesign.generate.jobs.merged_routes import merged_routes
from simcodesign.generate.jobs.numbering import Numbering, renumbered
from simcodesign.generate.plan import ANY_TAG, NONE, Edges, LogGOPS, Plan, Polls

Array = NDArray[Any]


def merged_plan(
    plans: Sequence[Plan],
    places: Sequence[Sequence[int]],
    starts_s: Sequence[float],
    names: Sequence[str],
    bytes_hold_sender: bool,
) -> tuple[Plan, Numbering]:
    """Return one Plan of Plans whose messages do not share stations yet, and the numbers that all have in it.

    ``places``: those that the ranks of each have on the machine. ``starts_s``: when the ranks of each begin; before
    that they wait. ``names``: of the jobs, which their phases begin with. ``bytes_hold_sender``: whether the network
    holds senders for the bytes of their messages, in jobs whose sends are alike in that.
    Raises InputError for jobs of which some are in LogGOPS, jobs in LogGOPS that start later, and limited disks.
    """
    _check(plans, starts_s)
    numbering = Numbering.of(plans, places, starts_s)
    gathered = numbering.gathered
    phase_offset = np.cumsum([0] + [len(plan.phases) for plan in plans])
    rank = gathered([numbering.rank[number][plan.rank] for number, plan in enumerate(plans)], 0, np.int32)
    plan = Plan(
        first=numbering.first,
        kind=gathered([plan.kind for plan in plans], WAIT, np.int8),
        phase=gathered([plan.phase + offset for plan, offset in zip(plans, phase_offset, strict=False)], 0, np.int16),
        rank=rank,
        peer=gathered([renumbered(p.peer, numbering.rank[n]) for n, p in enumerate(plans)], NONE, np.int32),
        size_bytes=gathered([plan.size_bytes for plan in plans], 0.0, np.float64),
        duration_s=gathered([plan.duration_s for plan in plans], 0.0, np.float64),
        match=gathered([renumbered(p.match, numbering.operation[n]) for n, p in enumerate(plans)], NONE, np.int32),
        follows_previous=_follows_previous(plans, numbering),
        phases=tuple(f"{name}/{phase}" for name, plan in zip(names, plans, strict=True) for phase in plan.phases),
        stations=numbering.stations,
        station=_of_some(plans, numbering, "station", lambda _: NONE, numbering.station),
        routes=merged_routes(plans, numbering),
        edges=_edges(plans, numbering),
        polls=_polls(plans, numbering),
        mailbox=_of_some(plans, numbering, "mailbox", lambda _: NONE, numbering.station),
        tag=_of_some(plans, numbering, "tag", lambda _: ANY_TAG),
        taken_by=_of_some(plans, numbering, "taken_by", lambda _: NONE, numbering.operation),
        matching_s=max(plan.matching_s for plan in plans),
        gap_s=_of_some(plans, numbering, "gap_s", lambda _: 0.0),
        flight_s=_of_some(plans, numbering, "flight_s", lambda plan: plan.duration_s),
        loggops=_loggops(plans, numbering),
        train=_of_some(plans, numbering, "train", lambda _: 1.0),
        holds=_of_some(plans, numbering, "holds", lambda _: bytes_hold_sender),
        unit=_of_some(plans, numbering, "unit", lambda _: 0),
        background=next((plan.background for plan in plans if plan.background is not None), None),
    )
    _set_waits(plan, numbering, starts_s)
    return plan, numbering


def _check(plans: Sequence[Plan], starts_s: Sequence[float]) -> None:
    in_loggops = [plan.loggops is not None for plan in plans]
    if any(in_loggops) and not all(in_loggops):
        raise InputError("some jobs are in LogGOPS and others are not", allowed="all jobs on one network model")
    if any(in_loggops) and any(starts_s):
        raise InputError("the start of a job in LogGOPS", value=max(starts_s), allowed="0 s, or a network in Hockney")


def _of_some(
    plans: Sequence[Plan],
    numbering: Numbering,
    name: str,
    otherwise: Callable[[Plan], Any],
    numbers: Sequence[Array] | None = None,
) -> Array | None:
    """Return a column that a Plan may not have, None if none has it; ``otherwise``: the value in Plans without it.

    ``numbers``: those that the values have now.
    """
    known = [getattr(plan, name) for plan in plans]
    dtype = next((values.dtype for values in known if values is not None), None)
    if dtype is None:
        return None
    parts = []
    for number, (plan, values) in enumerate(zip(plans, known, strict=True)):
        if values is None:
            parts.append(np.broadcast_to(np.asarray(otherwise(plan), dtype), len(plan)))
        else:
            parts.append(values if numbers is None else renumbered(values, numbers[number]))
    default = NONE if numbers is not None else (ANY_TAG if name == "tag" else 0)
    return numbering.gathered(parts, 1 if name == "train" else default, dtype)


def _follows_previous(plans: Sequence[Plan], numbering: Numbering) -> NDArray[np.bool_]:
    """(N + 1,) whether operations wait for the previous one; the first of a rank waits for the start of its job."""
    follows = np.zeros(numbering.operations + 1, bool)  # the last one belongs to no operation
    follows[:-1] = numbering.gathered([plan.follows_previous for plan in plans], False, np.bool_)
    for plan, operation, waiting in zip(plans, numbering.operation, numbering.waiting, strict=True):
        later = np.flatnonzero(waiting != NONE)
        follows[operation[plan.first[later]]] = True
    follows[numbering.first[:-1][np.diff(numbering.first) > 0]] = False
    return follows


def _edges(plans: Sequence[Plan], numbering: Numbering) -> Edges | None:
    """Return the dependencies of all Plans, and of operations that wait for nothing but the start of their job."""
    source, target, early = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, bool)]
    for plan, operation, waiting in zip(plans, numbering.operation, numbering.waiting, strict=True):
        awaited = np.zeros(len(plan), bool)
        if plan.edges is not None:
            source.append(operation[np.repeat(np.arange(len(plan)), np.diff(plan.edges.start))])
            target.append(operation[plan.edges.target])
            early.append(plan.edges.early)
            awaited[plan.edges.target] = True
        awaited |= plan.follows_previous[:-1]
        awaited[plan.first[:-1][np.diff(plan.first) > 0]] = True
        free = np.flatnonzero(~awaited & (waiting[plan.rank] != NONE))
        source.append(waiting[plan.rank[free]])
        target.append(operation[free])
        early.append(np.zeros(len(free), bool))
    return edges_of(numbering.operations, *(np.concatenate(parts) for parts in (source, target, early)))


def _polls(plans: Sequence[Plan], numbering: Numbering) -> Polls | None:
    """Return the polls of all Plans."""
    if all(plan.polls is None for plan in plans):
        return None
    every = [
        Polls(*(np.full(len(plan), NONE, np.int32),) * 3, np.zeros(len(plan), bool))
        if plan.polls is None
        else plan.polls
        for plan in plans
    ]
    numbers = zip(*((one.part, one.end, one.receive) for one in every), strict=True)
    moved = (map(renumbered, part, numbering.operation) for part in numbers)
    part, end, receive = (numbering.gathered([*one], NONE, np.int32) for one in moved)
    return Polls(part, end, receive, numbering.gathered([one.waits for one in every], False, np.bool_))


def _set_waits(plan: Plan, numbering: Numbering, starts_s: Sequence[float]) -> None:
    """Let ranks wait for the starts of their jobs, in the phase that each begins with."""
    duration_s, rank, phase = plan.duration_s, plan.rank, plan.phase
    for number, (waiting, start_s) in enumerate(zip(numbering.waiting, starts_s, strict=True)):
        later = waiting != NONE
        operation = waiting[later]
        duration_s[operation], rank[operation] = start_s, numbering.rank[number][later]
        phase[operation] = phase[operation + 1]


def _loggops(plans: Sequence[Plan], numbering: Numbering) -> LogGOPS | None:
    """Return the rules of LogGOPSim of all Plans: interfaces, queues and lines of one Plan after another."""
    rules = [plan.loggops for plan in plans if plan.loggops is not None]
    if not rules:
        return None
    stations = numbering.station
    every = list(enumerate(rules))
    interfaces, boxes, lines = (
        np.cumsum([0] + [getattr(one, name) for one in rules]) for name in ("interfaces", "boxes", "lines")
    )

    def moved(name: str, offset: Array) -> Array:
        parts = [getattr(one, name) for one in rules]
        shifted = [np.where(part == NONE, NONE, part + offset[number]) for number, part in enumerate(parts)]
        return numbering.gathered(shifted, NONE, np.int32)

    served = None
    if any(one.served_at is not None for one in rules):
        parts = [
            np.full(len(plans[n]), NONE) if one.served_at is None else renumbered(one.served_at, stations[n])
            for n, one in every
        ]
        served = numbering.gathered(parts, NONE, np.int32)
    return LogGOPS(
        interface=moved("interface", interfaces),
        receiver=numbering.gathered([renumbered(one.receiver, stations[n]) for n, one in every], 0, np.int32),
        receiver_interface=moved("receiver_interface", interfaces),
        receive_s=numbering.gathered([one.receive_s for one in rules], 0.0, np.float64),
        spread_s=numbering.gathered([one.spread_s for one in rules], 0.0, np.float64),
        rendezvous=numbering.gathered([one.rendezvous for one in rules], False, np.bool_),
        box=moved("box", boxes),
        line=moved("line", lines),
        message_line=moved("message_line", lines),
        interfaces=int(interfaces[-1]),
        boxes=int(boxes[-1]),
        lines=int(lines[-1]),
        served_at=served,
    )
