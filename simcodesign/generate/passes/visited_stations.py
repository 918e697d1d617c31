"""Passes that give operations and messages the stations that they visit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.describe.effects import Mechanism
from simcodesign.generate.messages.all_stations import stations_of
from simcodesign.generate.passes.draft import Draft
from simcodesign.generate.passes.interface_turns import interface_turns
from simcodesign.generate.passes.served_operations import accesses_at, served_at
from simcodesign.generate.plan import ANY_TAG, NONE, UNLIMITED, Int64s


def serve_operations(draft: Draft) -> None:
    """Let operations queue at disks, controllers, accelerators and storage; in LogGOPSim, for processors."""
    draft.served, draft.station = served_at(draft, _passed_controllers(draft))
    dependencies, first = draft.dependencies, np.int32(_serving(draft))
    if dependencies is None or not dependencies.processors:
        return
    assert draft.station is None or draft.loggops is not None
    if draft.loggops is not None:
        receiver = draft.loggops.receiver + first
        draft.loggops = replace(draft.loggops, receiver=receiver, served_at=draft.station)
    draft.station = np.where(dependencies.processor == NONE, NONE, dependencies.processor + first).astype(np.int32)


def route_messages(draft: Draft) -> None:
    """Let messages visit the interfaces and links of their routes, and the memory that they pass."""
    table, machine, fields = draft.prices.route_table, draft.builder.design_point.machine, draft.fields
    if not table:
        return
    passed = _passed_controllers(draft)
    before = _serving(draft) + _processors(draft)
    route, cost = fields["route"], fields["cost"]
    turns = interface_turns(machine, draft, table.between_nodes(route), fields.get("interfaces"))
    if draft.others is not None:
        route, cost, turns = draft.others.after(route, cost, turns)
    draft.routes, draft.visited = table.to_routes(before, route, cost, turns)
    if len(passed) and table.memory:
        station = np.full(len(draft), NONE, np.int32) if draft.station is None else draft.station
        accesses, controller = accesses_at(draft)
        here = np.isin(controller, passed)
        number = np.searchsorted(draft.visited, table.memory.first + controller[here])
        station[accesses[here]] = before + number
        draft.station = station
    if draft.routes is not None and draft.varied is not None:
        draft.routes = draft.varied.on_the_way(draft.routes)


def queue_receives(draft: Draft) -> None:
    """Let receives look for their messages in the mailbox of their rank, if that takes time.

    Messages for anyone keep their mailboxes.

    An MPI library keeps posted receives and unexpected messages of a rank in lists. If a message arrives before another
    and is received after it, it is examined once: as an unexpected message when the other receive is posted, or as the
    message that examines the other receive. So a receive examines the messages that arrived before its own and still
    wait, in whichever list they are. Tags pair the same sends and receives as before; engines count what waits
    (``Plan.matching_s``).

    Source: K. Underwood, R. Brightwell, "The impact of MPI queue usage on message latency", ICPP 2004.
    """
    search_s = float(draft.builder.design_point.machine.network.search_s)
    if draft.loggops is not None or not search_s > 0:
        return
    receive = np.flatnonzero((draft.kind == RECEIVE) & (draft.match != NONE))
    send = draft.match[receive]
    mailbox = np.full(len(draft), NONE, np.int32) if draft.mailbox is None else draft.mailbox.copy()
    tag = np.full(len(draft), ANY_TAG, np.int32) if draft.tag is None else draft.tag.copy()
    mailbox[receive] = mailbox[send] = draft.boxes + draft.rank[receive]
    tag[receive] = tag[send] = send
    match = draft.own("match")
    match[receive] = match[send] = NONE
    draft.mailbox, draft.tag, draft.boxes = mailbox, tag, draft.boxes + draft.ranks
    draft.matching_s = search_s


def number_stations(draft: Draft) -> None:
    """Give all stations numbers in the order of arbitration."""
    discipline = UNLIMITED if draft.dependencies is None else draft.dependencies.disk_discipline
    machine = draft.builder.design_point.machine
    draft.stations = stations_of(machine, draft.served, _processors(draft), draft.visited, draft.boxes, discipline)
    if draft.mailbox is not None:  # the last of all stations
        first = np.int32(len(draft.stations) - draft.boxes)
        draft.mailbox = np.where(draft.mailbox == NONE, NONE, draft.mailbox + first).astype(np.int32)


def _passed_controllers(draft: Draft) -> Int64s:
    """Return the memory controllers that messages pass, where operations queue for them, too."""
    table = draft.prices.route_table
    if Mechanism.CONTROLLERS not in draft.builder.on or not table or draft.loggops is not None:
        return np.zeros(0, np.int64)
    return table.loaded_controllers()


def _serving(draft: Draft) -> int:
    """Stations that serve operations, except for processors."""
    return sum(len(unit) for _, unit in draft.served)


def _processors(draft: Draft) -> int:
    return 0 if draft.dependencies is None else draft.dependencies.processors
