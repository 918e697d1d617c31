"""From a segment to a Plan: messages paired, chance spent, stations found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Machine
from simcodesign.describe.setting import Setting
from simcodesign.describe.workload import Receive, Send, walk
from simcodesign.errors import InputError, Place
from simcodesign.generate.chance import factors, imbalance_shares, stream
from simcodesign.generate.dependencies import edges_of, rendezvous
from simcodesign.generate.matching import matches
from simcodesign.generate.paths import disks_of, stations_of
from simcodesign.generate.plan import MOST_OPERATIONS, NONE, Edges, Plan, Stations
from simcodesign.generate.prices import Prices
from simcodesign.generate.replay import Order
from simcodesign.generate.segment import Segment
from simcodesign.result import COMPUTE, MEMORY, READ, WRITE

Int32s = NDArray[np.int32]


def assembled(
    segment: Segment,
    setting: Setting,
    prices: Prices,
    phases: tuple[str, ...],
    effects: frozenset[str],
    seed: int,
    order: Order | None = None,
) -> Plan:
    """The Plan of a program's operations. Without an ``order``, each waits for the one before it in its rank.

    Raises InputError when sends and receives do not match in number or size.
    """
    messages = (step.place for step in walk(setting.workload.program) if isinstance(step, Send | Receive))
    place = next(messages, setting.workload.program[0].place)
    fields = segment.fields
    if len(fields["kind"]) > MOST_OPERATIONS:
        raise InputError("operations of a simulation", place, value=len(fields["kind"]), allowed=f"{MOST_OPERATIONS}")
    rank = np.repeat(np.arange(len(segment.first) - 1, dtype=np.int32), segment.counts)
    match, mailbox, boxes = matches(segment, rank, place)
    prices.price_receives(fields, place)
    chained = np.ones(len(match) + 1, bool)
    if order is not None:
        chained[:-1] = order.chained
    chained[segment.first] = False
    plan = Plan(
        first=segment.first,
        kind=fields["kind"],
        phase=fields["phase"],
        rank=rank,
        peer=fields["peer"],
        size_bytes=fields["size_bytes"],
        duration_s=fields["duration_s"],
        match=match,
        chained=chained,
        phases=phases,
        stations=Stations(np.zeros(0, np.int8), np.zeros(0, np.int64), np.zeros(0, np.int32)),
        edges=_edges(segment, rank, match, order),
        mailbox=mailbox,
        gap_s=fields.get("gap_s"),
        flight_s=fields.get("flight_s"),
        train=fields.get("train"),
    )
    _spend_chance(plan, setting, effects, seed)
    _check_finite(plan, place)
    return _with_stations(plan, setting.machine, prices, segment, effects, boxes, order)


def _edges(segment: Segment, rank: Int32s, match: Int32s, order: Order | None) -> Edges | None:
    """Dependencies besides program order: of a schedule, and of what waits for a rendezvous."""
    if order is not None:
        sends, waiting = order.held
        known = match[sends] != NONE
        source = np.concatenate([order.source, match[sends[known]]])
        target = np.concatenate([order.target, waiting[known]])
        early = np.concatenate([order.early, np.zeros(int(known.sum()), bool)])
        return edges_of(len(match), source, target, early)
    if "hold" not in segment.fields:
        return None
    return edges_of(len(match), *rendezvous(segment.first, rank, match, segment.fields["hold"]))


def _check_finite(plan: Plan, place: Place) -> None:
    every = [plan.duration_s, plan.size_bytes, plan.flight_s, plan.gap_s]
    if not np.isfinite(sum(float(np.nansum(part)) for part in every if part is not None)):
        raise InputError(
            "the time or the bytes of an operation, or of all together, are too large to be a number", place
        )


def _with_stations(
    plan: Plan,
    machine: Machine,
    prices: Prices,
    segment: Segment,
    effects: frozenset[str],
    boxes: int,
    order: Order | None,
) -> Plan:
    """The Plan with the disks, processors, interfaces, links and mailboxes that operations and messages visit."""
    disks, controllers = np.zeros(0, np.int64), np.zeros(0, np.int64)
    station, processors = None, 0
    if order is not None and order.processors:
        station, processors = order.processor, order.processors
    if "disks" in effects and machine.disk is not None:
        accesses = np.flatnonzero((plan.kind == READ) | (plan.kind == WRITE))
        disks, index = disks_of(machine, plan.rank[accesses], prices.node_of)
        if len(disks):
            station = np.full(len(plan), NONE, np.int32)
            station[accesses] = index
    if "memory" in effects:
        moves = np.flatnonzero((plan.kind == MEMORY) & (plan.size_bytes > 0))
        controllers, place = np.unique(prices.node_of[plan.rank[moves]], return_inverse=True)
        if len(controllers):
            station = np.full(len(plan), NONE, np.int32) if station is None else station
            station[moves] = len(disks) + place
    routes, visited = None, np.zeros(0, np.int64)
    if prices.roads:
        routes, visited = prices.roads.built(
            len(disks) + len(controllers) + processors, segment.fields["route"], segment.fields["cost"]
        )
    stations = stations_of(machine, disks, controllers, processors, visited, boxes)
    mailbox = plan.mailbox
    if mailbox is not None:
        mailbox = np.where(mailbox == NONE, NONE, mailbox + np.int32(len(stations) - boxes)).astype(np.int32)
    return replace(plan, stations=stations, station=station, routes=routes, mailbox=mailbox)


def _spend_chance(plan: Plan, setting: Setting, effects: frozenset[str], seed: int) -> None:
    """Imbalance (one factor per rank) and noise (one per operation) of computation, in place."""
    shares = imbalance_shares(setting, effects, seed)
    noisy = "noise" in effects and setting.machine.noise
    if shares is None and not noisy:
        return
    computes = np.flatnonzero(plan.kind == COMPUTE)
    if shares is not None:
        plan.duration_s[computes] *= shares[plan.rank[computes]]
    if noisy:
        for number, phase in enumerate(setting.workload.phases()):  # so that a phase alone has the same noise
            mine = computes[plan.phase[computes] == number]
            plan.duration_s[mine] *= factors(stream(seed, f"noise in {phase}"), setting.machine.noise, len(mine))
