"""What the compiled engine keeps in memory: named tuples of arrays, as Numba takes them.

Requests and stations are records of 64 bytes, one line of the processor's cache, looked at field by field: whatever is
done to a request or a station fetches one line of memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import inlined
from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.generate.plan import INTERFACE, LINK, MAILBOX, NONE, Plan, Routes

Array = NDArray[Any]
CACHE_LINE = 64
#: Stations of a message's way that are copied to its request: as many as fit in its record.
AHEAD = 4
#: ``missing`` of an operation that is done, that a station has granted, that has met its message in a mailbox, and of
#: a send whose message holds it.
DONE, GRANTED, MET, HELD = -1, -2, -3, -4
#: Places of the numbers in ``Memory.state``: ready operations on the stack, requests made so far, a
#: request that is free again, operations that were blocked.
READY, USED, FREE, BLOCKED = range(4)

#: Columns of the costs of messages. From the last two on: service and latency of each group of links.
INJECT_COST, TAIL_COST, INTERFACE_COST, AFTER_INTERFACE_COST, LINK_COST, LATENCY_COST = range(6)


@inlined
def as_int64(value: int) -> int:
    """A number out of an array of 32-bit integers, or a literal, of the type of all others: Numba would compile the
    functions that take it for each type."""
    return np.int64(value)  # type: ignore[return-value]


class Program(NamedTuple):
    """The Plan. Arrays of what it lacks are empty."""

    kind: Array
    match: Array
    follows_previous: Array
    duration_s: Array
    rank: Array
    station: Array
    gap_s: Array
    flight_s: Array
    mailbox: Array
    tag: Array  # empty where messages suit all receives of their mailbox or box
    peer: Array  # empty as ``tag``
    taken_by: Array  # of a send to a mailbox: what waits until its message is taken up
    edge_start: Array
    edge_target: Array
    edge_early: Array
    route: Array
    cost: Array
    other_route: Array  # of a message that chooses between two
    fork: Array  # stations on both of its routes before they part
    links: Array  # by route
    threshold: int  # by how much the queue of a minimal route has to be the longer one
    along_route: bool  # whether it is the sum of all queues to come
    way_start: Array
    way: Array
    costs: Array  # (K, 4 + 2 G) inject, tail, interface, after interface; link and latency of each group of links
    link_group: Array  # by station; empty where all links are of one group
    store_and_forward: bool
    first_interface: int
    first_link: int
    first_mailbox: int
    all_links: int  # under this number links arbitrate together that are shared fairly; and routes are chosen
    discipline: Array  # kind of discipline by station
    capacity: Array  # by station
    service_factor: Array  # by station


class Requests(NamedTuple):
    """Operations and messages that wait for a station or will, by slots that are used again."""

    arrival_s: Array  # when it comes, or came, to its station
    tail_s: Array  # of a message: when its last byte has passed the station before
    place: Array  # of a message: where on its way the station stands
    op: Array
    left: Array  # of a message: stations after this one
    cost: Array
    child: Array
    sibling: Array
    before: Array
    ahead: Array  # (slots, AHEAD) of a message: the next stations, copied from its way to spare a look there


class StationStates(NamedTuple):
    """Stations."""

    free_s: Array  # when the next server is free
    wake_s: Array  # when it arbitrates next
    busy_s: Array
    wait_s: Array
    root: Array  # of the heap of requests to come
    head: Array  # of the line of those that have come
    tail: Array
    waiting: Array  # length of the line
    longest: Array
    served: Array
    later: Array  # neighbours in the queue of events
    earlier: Array


class Memory(NamedTuple):
    """Where the run stands."""

    finish_s: Array  # until an operation is ready, when the last thing that it waited for happened
    arrival_s: Array
    missing: Array  # things that an operation still waits for
    stack: Array  # operations that are ready
    server_start: Array  # of stations with several servers
    server_free_s: Array
    stock: Array  # by mailbox: heap of messages
    state: Array
    blocked: Array  # operations that found their station full


_REQUEST = np.dtype(
    {
        "names": [*Requests._fields],
        "formats": [np.float64, np.float64, np.int64, *[np.int32] * 6, (np.int32, AHEAD)],
        "offsets": [0, 8, 16, 24, 28, 32, 36, 40, 44, 48],
        "itemsize": CACHE_LINE,
    }
)
_STATION = np.dtype(
    [(name, np.float64) for name in StationStates._fields[:4]]
    + [(name, np.int32) for name in StationStates._fields[4:]]
)
assert _STATION.itemsize == CACHE_LINE


def records(count: int, dtype: np.dtype[Any]) -> Array:
    """Uninitialised records, which begin with a line of the cache. Memory that is never touched is never taken."""
    size = count * dtype.itemsize
    buffer = np.empty(size + CACHE_LINE, np.uint8)
    skip = -buffer.ctypes.data % CACHE_LINE
    return buffer[skip : skip + size].view(dtype)


def _given(array: Array | None, dtype: type[np.generic]) -> Array:
    return np.zeros(0, dtype) if array is None else np.ascontiguousarray(array, dtype)


def _of_disciplines(plan: Plan, name: str) -> Array:
    """(S,) a field of the discipline of each station; empty where all are first come, first served."""
    stations = plan.stations
    if stations.discipline is None:
        return np.zeros(0, np.int32)
    return np.array([getattr(discipline, name) for discipline in stations.disciplines], np.int32)[stations.discipline]


def _costs(routes: Routes) -> Array:
    """The table of costs, a row for each."""
    groups = (part.reshape(len(part), -1).T for part in (routes.link_s, routes.latency_s))
    links = [column for pair in zip(*groups, strict=True) for column in pair]
    own = [routes.inject_s, routes.tail_s, routes.interface_s, routes.after_interface_s]
    return np.ascontiguousarray(np.stack(own + links, axis=1))


def _routes_of_messages(routes: Routes | None) -> Array:
    """The route of every operation, of its own where messages choose theirs."""
    if routes is not None and routes.adaptive is not None:
        return routes.route.astype(np.int32)
    return _given(routes.route if routes else None, np.int32)


def program_of(plan: Plan) -> Program:
    """The Plan as plain arrays."""
    routes, edges, kinds = plan.routes, plan.edges, plan.stations.kind
    adaptive = None if routes is None else routes.adaptive
    return Program(
        kind=plan.kind,
        match=plan.match if plan.mailbox is None and plan.loggops is None else plan.match.copy(),
        follows_previous=plan.follows_previous,
        duration_s=plan.duration_s,
        rank=plan.rank if plan.gap_s is not None or plan.tag is not None else np.zeros(0, np.int32),
        station=_given(plan.station, np.int32),
        gap_s=_given(plan.gap_s, np.float64),
        flight_s=_given(plan.flight_s, np.float64),
        mailbox=_given(plan.mailbox, np.int32),
        tag=_given(plan.tag, np.int32),
        peer=_given(None if plan.tag is None else plan.peer, np.int32),
        taken_by=_given(plan.taken_by, np.int32),
        edge_start=_given(edges.start if edges else None, np.int64),
        edge_target=_given(edges.target if edges else None, np.int32),
        edge_early=_given(edges.early if edges else None, np.bool_),
        route=_routes_of_messages(routes),
        cost=_given(routes.cost if routes else None, np.int32),
        other_route=np.array(adaptive.route if adaptive else (), np.int32),  # a copy, since it changes
        fork=_given(adaptive.fork if adaptive else None, np.int32),
        links=_given(adaptive.links if adaptive else None, np.int32),
        threshold=adaptive.threshold if adaptive else 0,
        along_route=adaptive is not None and adaptive.along_route,
        way_start=_given(routes.start if routes else None, np.int64),
        way=_given(routes.station if routes else None, np.int32),
        costs=np.zeros((0, 6)) if routes is None else _costs(routes),
        link_group=_given(routes.group if routes else None, np.int32),
        store_and_forward=routes is not None and routes.store_and_forward,
        first_interface=int(np.searchsorted(kinds, INTERFACE)),
        first_link=int(np.searchsorted(kinds, LINK)),
        first_mailbox=int(np.searchsorted(kinds, MAILBOX)),
        all_links=len(kinds),
        discipline=_of_disciplines(plan, "kind"),
        capacity=_of_disciplines(plan, "capacity"),
        service_factor=_given(plan.stations.service_factor, np.float64),
    )


def requests_for(plan: Plan, for_messages: bool = True) -> Requests:
    """Memory for every operation and, unless they are kept elsewhere, every message that can ever wait at the same
    time."""
    count = 0
    if plan.routes is not None and for_messages:
        travels = plan.routes.route != NONE
        packets = plan.routes.packets
        count = int(np.count_nonzero(travels) if packets is None else packets.count[travels].sum(dtype=np.int64))
    for stations in (plan.station, plan.mailbox):
        count += 0 if stations is None else int(np.count_nonzero(stations != NONE))
    requests = records(max(count, 2), _REQUEST)  # a single record would be of another type
    return Requests(*(requests[name] for name in Requests._fields))


def station_states(plan: Plan) -> StationStates:
    """Stations at which nobody waits."""
    states = records(len(plan.stations) + 2, _STATION)
    states[:] = 0
    stations = StationStates(*(states[name] for name in StationStates._fields))
    stations.wake_s[:] = np.inf
    for links in (stations.root, stations.head, stations.tail, stations.later, stations.earlier):
        links[:] = NONE
    return stations


def memory_for(plan: Plan) -> Memory:
    """The beginning of the run."""
    missing = plan.follows_previous[:-1].astype(np.int32)
    missing += (plan.kind == RECEIVE) & (plan.match != NONE)
    if plan.edges is not None:
        missing += np.bincount(plan.edges.target, minlength=len(plan)).astype(np.int32)
    if plan.taken_by is not None:
        missing += np.bincount(plan.taken_by[plan.taken_by != NONE], minlength=len(plan)).astype(np.int32)
    kinds = plan.stations.kind
    service = int(np.searchsorted(kinds, INTERFACE))
    start = np.concatenate([[0], np.cumsum(plan.stations.servers[:service])]).astype(np.int64)
    with_its_send = plan.routes is None and plan.flight_s is None  # every message arrives when its send is done
    arrival = np.full(0 if with_its_send else len(plan), np.nan)
    ready = np.flatnonzero(missing == 0)[::-1]
    stack = np.empty(len(plan), np.int32)
    stack[: len(ready)] = ready
    return Memory(
        finish_s=np.zeros(len(plan)),
        arrival_s=arrival,
        missing=missing,
        stack=stack,
        server_start=start,
        server_free_s=np.zeros(start[-1]),
        stock=np.full(int(np.count_nonzero(kinds == MAILBOX)), NONE, np.int32),
        state=np.array([len(ready), 0, NONE, 0]),
        blocked=np.empty(_most_blocked(plan), np.int32),
    )


def _most_blocked(plan: Plan) -> int:
    """Operations at stations that may block them."""
    capacity = _of_disciplines(plan, "capacity")
    if not len(capacity) or plan.station is None:
        return 0
    return int(np.count_nonzero((plan.station != NONE) & (capacity[plan.station] != NONE)))
