"""The routes of the messages of several Plans as the routes of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.generate.jobs.numbering import Numbering, renumbered
from simcodesign.generate.plan import NONE, AlternativeRoutes, Plan, Routes

#: The times of a row of costs.
COSTS = ("inject_s", "tail_s", "interface_s", "link_s", "after_interface_s", "latency_s")


def merged_routes(plans: Sequence[Plan], numbering: Numbering) -> Routes | None:
    """Return the routes of all Plans, each before its messages share stations; None if no message has a route.

    The messages of others, which one Plan may have, come last.
    """
    routed = [(plan, plan.routes, number) for number, plan in enumerate(plans) if plan.routes is not None]
    if not routed:
        return None
    every = [routes for _, routes, _ in routed]
    rows = np.cumsum([0] + [len(routes.start) - 1 for routes in every])
    costs = np.cumsum([0] + [len(routes.inject_s) for routes in every])
    hops = np.cumsum([0] + [len(routes.station) for routes in every])
    route = _by_message(routed, numbering, [routes.route for routes in every], NONE, rows)
    stations = [renumbered(routes.station, numbering.station[number]) for _, routes, number in routed]
    starts = [routes.start[:-1] + first for routes, first in zip(every, hops, strict=False)]
    costs_of_all: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in every]) for name in COSTS}
    return Routes(
        route=route,
        cost=_by_message(routed, numbering, [routes.cost for routes in every], 0, costs),
        start=np.concatenate([*starts, hops[-1:]]).astype(np.int64),
        station=np.concatenate(stations).astype(np.int32),
        **costs_of_all,
        store_and_forward=every[0].store_and_forward,
        group=_groups(routed, numbering),
        adaptive=_alternatives(routed, numbering, rows),
    )


def _by_message(
    routed: Sequence[tuple[Plan, Routes, int]],
    numbering: Numbering,
    parts: Sequence[NDArray[Any]],
    default: int,
    offsets: NDArray[Any] | None = None,
) -> NDArray[np.int32]:
    """Values of operations, and of the messages of others after them, (N + B,); by their ``offsets`` from 0 on."""
    every = np.full(numbering.operations, default, np.int32)
    others = [np.zeros(0, np.int32)]
    for place, ((plan, _, number), values) in enumerate(zip(routed, parts, strict=True)):
        moved = values if offsets is None else np.where(values == NONE, NONE, values + offsets[place])
        every[numbering.operation[number]] = moved[: len(plan)]
        others.append(moved[len(plan) :].astype(np.int32))
    return np.concatenate([every, *others])


def _groups(routed: Sequence[tuple[Plan, Routes, int]], numbering: Numbering) -> NDArray[np.int32] | None:
    """Return the group of links of each station; None if all are alike."""
    if all(routes.group is None for _, routes, _ in routed):
        return None
    group = np.zeros(len(numbering.stations), np.int32)
    for _, routes, number in routed:
        if routes.group is not None:
            group[numbering.station[number][: len(routes.group)]] = routes.group
    return group


def _alternatives(
    routed: Sequence[tuple[Plan, Routes, int]], numbering: Numbering, rows: NDArray[Any]
) -> AlternativeRoutes | None:
    """Return the alternatives of messages that choose; of a Plan without any, all messages have none."""
    known = [routes.adaptive for _, routes, _ in routed if routes.adaptive is not None]
    if not known:
        return None
    chosen, forks, links = [], [], []
    for _, routes, _ in routed:
        own = routes.adaptive
        chosen.append(np.full(len(routes.route), NONE, np.int32) if own is None else own.route)
        forks.append(np.zeros(len(routes.route), np.int32) if own is None else own.fork)
        links.append(np.zeros(len(routes.start) - 1, np.int32) if own is None else own.links)
    return AlternativeRoutes(
        route=_by_message(routed, numbering, chosen, NONE, rows),
        fork=_by_message(routed, numbering, forks, 0),
        links=np.concatenate(links),
        threshold=known[0].threshold,
        along_route=known[0].along_route,
    )
