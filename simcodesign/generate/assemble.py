"""From a segment to a Plan: messages paired, randomness applied, stations added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.demands.point_to_point import Receive, Send
from simcodesign.describe.effects import BACKGROUND, ladder
from simcodesign.describe.machine import Machine
from simcodesign.describe.programs.program import walk
from simcodesign.generate.background import BackgroundRoutes, background_routes
from simcodesign.generate.dependencies import Dependencies, edges_of
from simcodesign.generate.loggopsim import program_in_loggopsim
from simcodesign.generate.messages.interface_turns import interface_turns
from simcodesign.generate.messages.matching import matches
from simcodesign.generate.messages.pricing import MessagePricing
from simcodesign.generate.messages.rendezvous import with_rendezvous
from simcodesign.generate.messages.routes_and_stations import stations_of
from simcodesign.generate.messages.sharing.base import shared
from simcodesign.generate.plan import MOST_OPERATIONS, NONE, UNLIMITED, Edges, Plan, Stations
from simcodesign.generate.plan_builder import LoweredProgram, PlanBuilder
from simcodesign.generate.programs.segment import Segment
from simcodesign.generate.programs.side_chains import dependencies_of_chains
from simcodesign.generate.randomness.noise import Messages, apply_randomness
from simcodesign.generate.served_operations import accesses_at, served_at

Int32s = NDArray[np.int32]


def assembled(lowered: LoweredProgram, builder: PlanBuilder) -> Plan:
    """The Plan of a program's operations, randomness applied.

    Raises InputError when sends and receives do not match in number or size.
    """
    design_point, prices, effects = builder.design_point, builder.prices, builder.effects
    segment, dependencies = lowered.segment, lowered.dependencies
    messages = (step.place for step in walk(design_point.workload.program) if isinstance(step, Send | Receive))
    place = next(messages, design_point.workload.program[0].place)
    fields = segment.fields
    if len(fields["kind"]) > MOST_OPERATIONS:
        raise InputError("operations of a simulation", place, value=len(fields["kind"]), allowed=f"{MOST_OPERATIONS}")
    rank = np.repeat(np.arange(len(segment.first) - 1, dtype=np.int32), segment.counts)
    found = matches(segment, rank, place)
    match, mailbox, boxes = found.match, found.mailbox, found.boxes
    prices.price_receives(fields, rank, place)
    if dependencies is None:
        dependencies = _dependencies_of_program(segment, rank, match, mailbox, prices)
    taken_by = None
    if prices.waits_for_receivers:
        dependencies, taken_by = with_rendezvous(dependencies, segment, rank, match)
    follows_previous = np.ones(len(match) + 1, bool)
    if dependencies is not None:
        follows_previous[:-1] = dependencies.follows_previous
    follows_previous[segment.first] = False
    plan = Plan(
        first=segment.first,
        kind=fields["kind"],
        phase=fields["phase"],
        rank=rank,
        peer=fields["peer"],
        size_bytes=fields["size_bytes"],
        duration_s=fields["duration_s"],
        match=match,
        follows_previous=follows_previous,
        phases=tuple(builder.phases),
        stations=Stations(np.zeros(0, np.int8), np.zeros(0, np.int64), np.zeros(0, np.int32)),
        edges=_edges(len(match), dependencies),
        mailbox=mailbox,
        tag=found.tag,
        taken_by=taken_by,
        gap_s=fields.get("gap_s"),
        flight_s=fields.get("flight_s"),
        train=fields.get("train"),
        holds=fields.get("holds"),
        unit=fields.get("unit"),
        loggops=None if dependencies is None else dependencies.loggops,
    )
    varied = _varied(plan, builder, fields.get("varies"), None if dependencies is None else dependencies.without_noise)
    _check_finite(plan, place)
    if plan.loggops is not None:  # messages meet their receives in queues of its own
        rules = plan.loggops if varied is None else varied.in_loggops(plan.loggops)
        plan, boxes = replace(plan, mailbox=None, loggops=rules), 0
    others = None
    if BACKGROUND in effects:
        others = background_routes(design_point.machine, prices, builder.background, builder.seed)
    plan = _with_stations(plan, design_point.machine, prices, segment, effects, boxes, dependencies, varied, others)
    for effect in ladder():
        if effect.name in effects and effect.change_plan is not None:
            plan = effect.change_plan(plan, design_point, builder.seed)
    return plan


def _varied(
    plan: Plan, builder: PlanBuilder, varies: Int32s | None, without_noise: NDArray[np.int64] | None
) -> Messages | None:
    """Apply randomness to the durations of a Plan, in place, except for the operations ``without_noise``."""
    kept = np.zeros(0, np.int64) if without_noise is None else without_noise
    lasts = plan.duration_s[kept]
    varied = apply_randomness(plan, builder.design_point, builder.effects, builder.seed, builder.variations, varies)
    plan.duration_s[kept] = lasts
    return varied


def _dependencies_of_program(
    segment: Segment, rank: Int32s, match: Int32s, mailbox: Int32s | None, prices: MessagePricing
) -> Dependencies | None:
    """Return dependencies of operations other than on the previous ones, if any: in LogGOPS, and if parts are
    started."""
    if prices.loggops:
        return program_in_loggopsim(segment, rank, match, mailbox)
    return dependencies_of_chains(segment, rank) if "back" in segment.fields else None


def _edges(count: int, dependencies: Dependencies | None) -> Edges | None:
    """Dependencies besides program order, where there are any."""
    if dependencies is None:
        return None
    return edges_of(count, dependencies.source, dependencies.target, dependencies.early)


def _check_finite(plan: Plan, place: Place) -> None:
    every = [plan.duration_s, plan.size_bytes, plan.flight_s, plan.gap_s]
    if not np.isfinite(sum(_sum(part) for part in every if part is not None)):
        raise InputError(
            "the time or the bytes of an operation, or of all together, are too large to be a number", place
        )


def _sum(values: NDArray[np.float64]) -> float:
    """Without those that are not known yet (NaN)."""
    total = float(values.sum())
    return float(np.nansum(values)) if np.isnan(total) else total


def _with_stations(
    plan: Plan,
    machine: Machine,
    prices: MessagePricing,
    segment: Segment,
    effects: frozenset[str],
    boxes: int,
    dependencies: Dependencies | None,
    varied: Messages | None,
    others: BackgroundRoutes | None,
) -> Plan:
    """The Plan with all stations that operations and messages visit."""
    shared_memory = np.zeros(0, np.int64)
    if "memory" in effects and prices.route_table and plan.loggops is None:
        shared_memory = prices.route_table.loaded_controllers()
    served, station = served_at(plan, machine, prices.node_of, effects, segment.fields, shared_memory)
    count = sum(len(unit) for _, unit in served)
    processors, rules = 0, plan.loggops
    if dependencies is not None and dependencies.processors:
        assert station is None or rules is not None
        first, processors = np.int32(count), dependencies.processors
        if rules is not None:
            rules = replace(rules, receiver=rules.receiver + first, served_at=station)
        station = np.where(dependencies.processor == NONE, NONE, dependencies.processor + first).astype(np.int32)
    routes, visited = None, np.zeros(0, np.int64)
    if prices.route_table:
        before = count + processors
        route, cost = segment.fields["route"], segment.fields["cost"]
        turns = interface_turns(
            machine, plan, prices.route_table.between_nodes(route), segment.fields.get("interfaces")
        )
        if others is not None:
            route, cost, turns = others.after(route, cost, turns)
            plan = replace(plan, background=others.messages)
        routes, visited = prices.route_table.to_routes(before, route, cost, turns)
    if len(shared_memory) and prices.route_table and prices.route_table.memory:
        station = np.full(len(plan), NONE, np.int32) if station is None else station
        accesses, controller = accesses_at(plan, machine, prices.node_of, segment.fields)
        here = np.isin(controller, shared_memory)
        number = np.searchsorted(visited, prices.route_table.memory.first + controller[here])
        station[accesses[here]] = count + processors + number
    if routes is not None and varied is not None:
        routes = varied.on_the_way(routes)
    discipline = UNLIMITED if dependencies is None else dependencies.disk_discipline
    stations = stations_of(machine, served, processors, visited, boxes, discipline)
    mailbox = plan.mailbox
    if mailbox is not None:
        mailbox = np.where(mailbox == NONE, NONE, mailbox + np.int32(len(stations) - boxes)).astype(np.int32)
    plan = replace(plan, stations=stations, station=station, routes=routes, mailbox=mailbox, loggops=rules)
    return shared(plan, machine)
