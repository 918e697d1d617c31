"""The event contract: what every engine must do in the same way, to the last bit.

1. Events are ordered by (time, phase, id). Phase 0: arrivals and completions. Phase 1: arbitration, one event per
   station, in station order, when the instant has no event of phase 0 left. A station that arbitrates grants
   one of its free servers to the waiting request that is least by (arrival time, rank, operation); operations are
   numbered rank by rank, so (arrival time, operation) is the same order. A mailbox that arbitrates gives its least
   message, by (arrival time, operation of the send), that suits a receive there to the least such receive, by (time
   posted, operation); operations that wait until that message is taken up (``Plan.taken_by``) may continue. The receive
   lasts ``Plan.matching_s`` longer for each message that arrived there earlier than its own and is still there.
   A station of limited ``capacity`` also arbitrates in every instant in which a request arrives. It first admits or
   blocks the requests that have arrived since it last arbitrated, in the same order. A request that finds ``capacity``
   others, waiting or with a service that ends later than now, is blocked: its operation is done in this instant,
   with no service and no duration. Then one server is granted, if one is free and a request waits.
   If messages share links fairly (``FairSharing``), all interfaces and links arbitrate as one, after all others.
   In that event all flows end and begin that do so in this instant, and then the rates are computed again. The share
   of a link is the rest of its capacity (for one flow alone, or for several), divided by the sum of the weights of
   its flows without a rate, rounded down; all links of the smallest share are saturated together, and their flows get
   that fair share times their weight. Only when its rate changes, the rest of a flow becomes
   ``max(0, left - rate / unit * (now - since))``, and it ends at ``max(now, now + left / (rate / unit))``; it begins at
   ``max(now, now + delay)``. Both sums are rounded to 43 bits. A memory controller that messages pass may serve
   operations as well: requests of both are one queue. If messages share links fairly, such an operation is a flow there
   from its beginning, and done when the flow has ended. If messages choose between two routes (``AlternativeRoutes``),
   all choices are made as by one more station, which arbitrates after all others: in one event the message that is
   least by (arrival time, operation) chooses, and requests the next station of its route in the same instant. A request
   is in service while its server is not free yet. If messages pass as packets (``PacketSharing``), packets request
   interfaces and links, one packet of each message at a time: the arrival time of a request is the time at which the
   packet's head arrives, or at which the station has served the message's previous packet, if that is later. No packet
   overtakes another of its message, since all have the same delays.
2. Time is float64 seconds and only ever ``start + duration``, or the later of two times; the Plan stores durations
   (a service time on a route is the time in the Plan times the ``service_factor`` of the station).
3. No random number is drawn in an engine. A run ends with its last event.
4. A run that can never finish is a DeadlockError that names the ranks and operations that wait.
5. A Plan with ``loggops`` follows LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010). Operations and messages get
   numbers, and try to begin: a try is an event of phase 0 whose id is the number, after all others of the instant.
   An operation gets its number when every operation that it waits for has begun, even if one has not ended. If several
   operations of a rank get theirs together, first sends, then receives, then computations, each in the order of
   the edges of the operation they waited for (more than 16 as ``introsort`` leaves them). An operation first tries
   when its predecessors have ended and its processor (of a send also the interface) is free; a receive is posted then,
   and takes no processor. Others begin if processor and interface are free, and try again when these will be. A send
   that begins gives its message a number before it lets others go; the message first tries when its first byte arrives.
   It occupies processor and interface of its receiver, whether or not the receive is posted; then they meet in their
   queue: each takes the first one there that it suits. A receive is done when its message has been processed, or when
   it is posted, if that is later. A send with a rendezvous is done when the two meet, and its processor and interface
   are not free before that; of their two ranks the lower lets its operations go first. An operation with a
   ``served_at`` begins when it gets its processor, and is then a request at that station; the grant determines when it
   ends, which lets others go, and when its processor is free. A message that shares links fairly first tries when its
   last byte arrives. If all times are whole nanoseconds (or picoseconds) except for rounding, the run counts in these,
   so that simultaneous events on paper are simultaneous in the run.
6. The operations that poll (``Polls``) look as at one more station, which arbitrates after all others, in one event
   for each of them, in the order of arrival times and operations. If the part has not begun, and the message
   of its first receive has arrived by now, or it has none, or the poll waits, the part begins now, and the operation is
   done when the part is. Otherwise it is done now.
7. Messages of other jobs (``BackgroundMessages``) set out at their times and pass the stations of their routes as
   messages of sends do; as operations they come after all others. No one receives them. The run ends when the last
   operation is done: later events do not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import DeadlockError
from simcodesign.core.operation_kinds import RECEIVE, WAIT
from simcodesign.core.stations.services import Services
from simcodesign.generate.plan import INTERFACE, LINK, MESSAGE_MEMORY, NONE, Plan, Polls

#: Called now and then with how far a run is: simulated seconds, events processed.
OnProgress = Callable[[float, int], None]
FLOWS_AT_A_TIME = 2**14
#: Kinds of stations that messages pass.
ON_ROUTES = (INTERFACE, LINK, MESSAGE_MEMORY)


@dataclass(frozen=True)
class Log:
    """What happened: when every operation was done, when every message had arrived, what every station did."""

    finish_s: NDArray[np.float64]  # (N,)
    arrival_s: NDArray[np.float64]  # (N,) of the message of a send; nan otherwise
    match: NDArray[np.int32]  # (N,) as in the Plan, with what met in mailboxes
    served: NDArray[np.int64]  # (S,) requests granted
    busy_s: NDArray[np.float64]  # (S,) sum of service times
    wait_s: NDArray[np.float64]  # (S,) sum of waiting times
    longest_queue: NDArray[np.int64]  # (S,) most requests waiting at a time, the one to be granted included
    blocked: NDArray[np.int64]  # (S,) requests that found the station full
    blocked_operations: NDArray[np.int64]  # ascending
    events: int
    begin_s: NDArray[np.float64] | None = None  # (N,) when operations began, if that is not their duration before
    searched: NDArray[np.int32] | None = None  # (N,) messages that a receive examined, with ``Plan.matching_s``
    taken_s: NDArray[np.float64] | None = None  # (N,) with ``loggops``: when a receiver took up the message of a send,
    processed_s: NDArray[np.float64] | None = None  # (N,) and when it was done with it
    others_busy_s: NDArray[np.float64] | None = None  # (S,) of ``busy_s``, for messages of others
    services: Services | None = None  # who was served where and when, where the reference engine was to record it


def link_capacities(plan: Plan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the capacities in units of every station that is shared fairly, over its ``service_factor``, (S,) each.

    For a flow alone and for several concurrent flows.
    """
    assert plan.routes is not None
    fair, factor = plan.routes.fair, plan.stations.service_factor
    assert fair is not None
    if factor is None:
        return fair.capacity, fair.loaded
    alone, loaded = (np.floor(one / factor).astype(np.int64) for one in (fair.capacity, fair.loaded))
    return alone, loaded


def hops_of_flows(plan: Plan) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int32]]]:
    """Yield the send and the station of every hop of every flow, by the number of the send, some at a time.

    For many messages, all of them would be most of the memory that a run takes.
    """
    assert plan.routes is not None
    routes, fair = plan.routes, plan.routes.fair
    assert fair is not None
    flows = np.flatnonzero((routes.route != NONE) & (fair.size_bytes > 0))
    for begin in range(0, len(flows), FLOWS_AT_A_TIME):
        some = flows[begin : begin + FLOWS_AT_A_TIME]
        first = routes.start[routes.route[some]]
        count = routes.start[routes.route[some] + 1] - first
        place = np.arange(count.sum()) + np.repeat(first - (np.cumsum(count) - count), count)
        yield np.repeat(some, count), routes.station[place]


def count_flows(
    plan: Plan,
    finish_s: Sequence[float] | NDArray[np.float64],
    served: NDArray[Any],
    busy_s: NDArray[np.float64],
    others_busy_s: NDArray[np.float64],
) -> None:
    """Add to the statistics of stations what the flows of a finished run did there.

    A station that is shared fairly has served each flow once and been busy for as long as it would take for all their
    bytes. Flows of other jobs count if they begin before the job ends.
    """
    assert plan.routes is not None
    fair = plan.routes.fair
    assert fair is not None
    begins_s = np.zeros(len(fair.delay_s))
    if plan.background is not None:
        begins_s[len(plan) :] = plan.background.sets_out_s + fair.delay_s[len(plan) :]
    has_begun, is_other = begins_s <= np.max(finish_s, initial=0.0), np.arange(len(begins_s)) >= len(plan)
    used, carried, of_others = np.zeros(len(served), np.int64), np.zeros(len(served)), np.zeros(len(served))
    for flow, station in hops_of_flows(plan):
        size_bytes = np.where(has_begun[flow], fair.size_bytes[flow], 0.0)
        used += np.bincount(station[has_begun[flow]], minlength=len(served))
        carried += np.bincount(station, size_bytes, minlength=len(served))
        of_others += np.bincount(station, size_bytes * is_other[flow], minlength=len(served))
    served += used.astype(served.dtype)
    where = used > 0
    capacity_per_s = link_capacities(plan)[0][where] / fair.unit
    busy_s[where] += carried[where] / capacity_per_s
    if plan.background is not None:
        others_busy_s[where] += of_others[where] / capacity_per_s


def count_events(plan: Plan, served: NDArray[np.int64]) -> int:
    """Events of a finished run: operations that took their time, grants, and heads and tails of messages arriving.

    For messages of others, grants and heads.

    An operation takes no event of its own if it is a receive of no duration that nothing but its message holds up.
    """
    kind = plan.stations.kind
    own = np.count_nonzero(~ends_at_once(plan))
    travelling = 0 if plan.routes is None else np.count_nonzero(plan.routes.route[: len(plan)] != NONE)
    if plan.routes is not None and plan.routes.fair is not None:  # flows begin and end
        route, size_bytes = plan.routes.route[: len(plan)], plan.routes.fair.size_bytes[: len(plan)]
        flows = np.count_nonzero((route != NONE) & (size_bytes > 0))
        return int(own + travelling + flows + served[~np.isin(kind, ON_ROUTES)].sum())
    on_the_way = served[np.isin(kind, ON_ROUTES)].sum()
    if plan.station is not None and (kind == MESSAGE_MEMORY).any():  # which serves operations, too
        on_the_way -= np.count_nonzero((plan.station != NONE) & (kind[plan.station] == MESSAGE_MEMORY))
    return int(own + travelling + served.sum() + on_the_way)


def blocked_by_station(plan: Plan, blocked: NDArray[np.int64]) -> NDArray[np.int64]:
    """(S,) how many of the blocked operations each station has blocked."""
    count = len(plan.stations)
    if plan.station is None:
        return np.zeros(count, np.int64)
    return np.bincount(plan.station[blocked], minlength=count).astype(np.int64)


def ends_at_once(plan: Plan) -> NDArray[np.bool_]:
    """(N,) receives that are done in the instant in which their message arrives."""
    at_once: NDArray[np.bool_] = (plan.kind == RECEIVE) & (plan.duration_s == 0)
    for stations in (plan.station, plan.mailbox):
        if stations is not None:
            at_once &= stations == NONE
    return at_once if plan.gap_s is None else np.zeros(len(plan), bool)


def check_finished(plan: Plan, finish_s: Sequence[float] | NDArray[np.float64]) -> None:
    """Raise DeadlockError with the waiting ranks and what each waits for, unless every operation is done."""
    finish = np.asarray(finish_s, dtype=np.float64)
    open_ops = np.flatnonzero(np.isnan(finish))
    if not len(open_ops):
        return
    ranks, first = np.unique(plan.rank[open_ops], return_index=True)
    some = zip(ranks[:5].tolist(), open_ops[first[:5]].tolist(), strict=True)
    waits = [f"rank {rank} waits in {_described(plan, op, finish)}" for rank, op in some]
    more = f"; and {len(ranks) - 5} more ranks" if len(ranks) > 5 else ""
    raise DeadlockError(f"the ranks wait for each other: {'; '.join(waits)}{more}")


def dependencies_of_run(plan: Plan, log: Log) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]] | None:
    """Return the source, the target and whether it is early of each dependency other than program order.

    Including dependencies on receives that were determined when they met their messages; None if there are none.
    """
    if plan.edges is None and plan.taken_by is None and plan.polls is None:
        return None
    source, target, early = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.bool_)
    if plan.edges is not None:
        source = np.repeat(np.arange(len(plan)), np.diff(plan.edges.start))
        target, early = plan.edges.target, plan.edges.early
    if plan.taken_by is not None:
        sends = np.flatnonzero(plan.taken_by != NONE)
        source, target = np.append(source, log.match[sends]), np.append(target, plan.taken_by[sends])
        early = np.append(early, np.ones(len(sends), bool))
    if plan.polls is not None:
        before, poll, part = polls_that_began(plan.polls, log)
        source = np.concatenate([source, before, plan.polls.end[part]])
        target = np.concatenate([target, part, poll]).astype(np.int32)
        early = np.append(early, np.zeros(2 * len(part), bool))
    return source, target, early


def polls_that_began(polls: Polls, log: Log) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return what was done before each poll that began its part, these polls, and the parts.

    It is the first poll of a part that was not done before the part.
    """
    poll = np.flatnonzero(polls.part != NONE)
    part = polls.part[poll]
    poll = poll[log.finish_s[poll] >= log.finish_s[polls.end[part]]]
    part, first = np.unique(polls.part[poll], return_index=True)
    return poll[first] - 1, poll[first], part


def _described(plan: Plan, op: int, finish_s: NDArray[np.float64]) -> str:
    """Return an operation that is not done, and what it waits for."""
    held_by = _unfinished_before(plan, op, finish_s)
    if held_by != NONE:
        sent = int(plan.match[held_by])
        if plan.kind[op] == WAIT and sent != NONE and plan.rank[sent] == plan.rank[op]:
            op = sent  # the wait is for the receiver of a message above S
        return f"{plan.describe(op)}, after rank {plan.rank[held_by]}'s {plan.describe(held_by)}"
    if plan.kind[op] != RECEIVE or plan.match[op] == NONE:
        return plan.describe(op)
    return f"{plan.describe(op)}, whose message is its {plan.describe(int(plan.match[op]))}"


def _unfinished_before(plan: Plan, op: int, finish_s: NDArray[np.float64]) -> int:
    """Return an operation elsewhere that is not done and that ``op`` depends on, as on a rendezvous.

    NONE if there is none.
    """
    if plan.edges is None:
        return NONE
    for edge in np.flatnonzero(plan.edges.target == op).tolist():
        source = int(np.searchsorted(plan.edges.start, edge, side="right")) - 1
        if np.isnan(finish_s[source]) and plan.rank[source] != plan.rank[op]:
            return source
    return NONE
