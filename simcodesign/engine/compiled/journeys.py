"""Messages in turn on ways where every hop takes time, compiled: one event for each hop, and no arbitration.

Where nobody comes to a station in the very instant in which something else happens that sends him there, all who come
at a time are known before. Then a message is granted when it comes: at once, or when the station will have served those
before it, who came earlier or have a lower operation. So the queue of events holds messages, by the time at which their
heads come to their next stations, and a station keeps no requests.

A calendar queue, as in ``calendar.py``, of whole messages: those of a day to come are written one after another in
blocks, and read again in that order. In a large run that is what the memory is quick at. Only the stations are looked
up here and there; since the events of the current day are known and sorted, they are fetched into the cache ahead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import called, inlined
from simcodesign.engine.compiled.calendar import is_sooner, sort_events
from simcodesign.engine.compiled.state import INJECT_COST, TAIL_COST, Array, Program, as_int64, records
from simcodesign.generate.plan import INTERFACE, LINK, MAILBOX, NONE, Plan, Routes

#: Days in a year, see ``calendar.py``; and messages in a block of memory for those of a day to come.
DAYS, BLOCK = 2**15, 8
#: As in ``calendar.py``: with more empty days than this between events, days become longer by this factor.
EMPTY_DAYS, EVENTS, LONGER = 32, 4096, 8
#: An event's order among those of its time: links after interfaces, then by operation; its slot in the lowest bits.
LINK_ORDER, OP_ORDER = 2**62, 2**31
#: Places of the numbers in ``counts``. LOST: how many times were lost to rounding, as 1e-9 s after a year.
TODAY, SLOTS, SORTED, NEXT, HEAPED, LATER, BLOCKS, FREE_BLOCK, NODES, FREE_NODE, EMPTY, VISITED, FIRST_LINK, LOST = (
    range(14)
)

_MESSAGE = np.dtype(
    [
        ("time_s", np.float64),  # when its head comes to the station
        ("tail_s", np.float64),  # when its last byte has passed the station before
        ("place", np.int64),  # of the station on its way
        ("op", np.int32),
        ("cost", np.int32),
        ("left", np.int32),  # stations after this one
        ("station", np.int32),
    ]
)
_DAY = np.dtype([("first", np.int32), ("last", np.int32), ("count", np.int32), ("unused", np.int32)])
_NODE = np.dtype([("grant_s", np.float64), ("following", np.int32), ("unused", np.int32)])
#: An array of records whose fields are attributes: mypy knows no names of fields.
Records = Any


class Journeys(NamedTuple):
    """All about messages on their way; no days where the Plan has none of this kind."""

    now: Records  # messages of the current day, by slot
    later: Records  # of days to come, block after block
    following: Array  # the block after each
    days: Records  # (DAYS,) the first and the last block of each day, and the messages in the last
    key_s: Array  # the events of the current day, sorted from NEXT to SORTED
    order: Array
    spare_s: Array  # for sorting
    spare_order: Array
    heap_s: Array  # later additions to the current day
    heap_order: Array
    nodes: Records  # of lists of grants by station: those to come but the last
    counts: NDArray[np.int64]
    days_per_s: NDArray[np.float64]


def every_hop_takes_time(plan: Plan) -> bool:
    """Whether nobody comes to a station of a route in the instant in which another event sends him there.

    One exception does no harm: from an interface to a link, since links come after all interfaces of an instant. What
    arrives in the instant of its last grant may not send anything on in it, nor ask for a disk or a processor.
    """
    routes, kinds = plan.routes, plan.stations.kind
    if routes is None or routes.fair or routes.packets or routes.adaptive or plan.loggops or not len(routes.inject_s):
        return False
    first, link = int(np.searchsorted(kinds, INTERFACE)), int(np.searchsorted(kinds, LINK))
    has_links, has_mailboxes = link < int(np.searchsorted(kinds, MAILBOX)), int(kinds[-1]) == MAILBOX
    if has_links and not routes.latency_s.min() > 0:
        return False
    if first < link and not routes.after_interface_s.min() > 0 and not _links_follow_interfaces(routes, link):
        return False
    factor = plan.stations.service_factor
    serves = routes.interface_s.min() > 0 and (factor is None or factor[first:link].min(initial=1.0) > 0)
    if (first == link or serves) and not has_mailboxes:
        return True  # whatever arrives does so later
    return bool(routes.inject_s.min() > 0 and (first == link or serves or not first))


def _links_follow_interfaces(routes: Routes, first_link: int) -> bool:
    """Whether every interface is the last station of its route or is followed by a link."""
    last = np.zeros(len(routes.station), bool)
    last[routes.start[1:][np.diff(routes.start) > 0] - 1] = True
    is_link = routes.station >= first_link
    return bool((last | is_link)[:-1].all() if len(last) < 2 else (last[:-1] | is_link[:-1] | is_link[1:]).all())


def journeys_for(plan: Plan, used: bool) -> Journeys:
    """No messages yet. Memory that is never touched is never taken."""
    routes = plan.routes
    most = int(np.count_nonzero(routes.route != NONE)) if used and routes is not None else 0
    days = DAYS if used else 0
    blocks = most // BLOCK + days + 2
    lookahead_s = 1.0
    if used and routes is not None:
        delays = np.concatenate([routes.latency_s.ravel(), routes.after_interface_s])
        lookahead_s = float(np.min(delays[delays > 0], initial=1.0))
    counts = np.zeros(14, np.int64)
    counts[TODAY] = counts[FREE_BLOCK] = counts[FREE_NODE] = NONE
    counts[FIRST_LINK] = np.searchsorted(plan.stations.kind, LINK)
    journeys = Journeys(
        now=_with_fields(most + 1, _MESSAGE),
        later=_with_fields(blocks * BLOCK if used else 1, _MESSAGE),
        following=np.empty(blocks, np.int32),
        days=_with_fields(days, _DAY),
        key_s=np.empty(most + 1),
        order=np.empty(most + 1, np.int64),
        spare_s=np.empty(most + 1),
        spare_order=np.empty(most + 1, np.int64),
        heap_s=np.empty(most + 1),
        heap_order=np.empty(most + 1, np.int64),
        nodes=_with_fields(2 * len(plan.stations) + 1024 if used else 1, _NODE),
        counts=counts,
        days_per_s=np.array([min(1 / lookahead_s, 1e300)]),
    )
    journeys.days.first[:] = NONE
    return journeys


def with_more_nodes(journeys: Journeys) -> Journeys:
    """The same with room for twice as many grants to come."""
    count = len(journeys.nodes)
    nodes = _with_fields(2 * count, _NODE)
    nodes[:count] = journeys.nodes
    return journeys._replace(nodes=nodes)


def _with_fields(count: int, dtype: np.dtype[Any]) -> Records:
    return records(count, np.dtype(dtype.descr, align=True)).view(np.recarray)


@inlined
def needs_nodes(journeys: Journeys) -> bool:
    """Whether the next grant might find no room."""
    return bool(journeys.counts[FREE_NODE] == NONE and journeys.counts[NODES] == len(journeys.nodes))


# --- Events -----------------------------------------------------------------------------------------------------------


@inlined
def next_message_s(journeys: Journeys) -> float:
    """When the next message comes to a station; infinity if none is on its way."""
    counts = journeys.counts
    while counts[NEXT] == counts[SORTED] and not counts[HEAPED]:
        if not counts[LATER]:
            return np.inf
        _begin_next_day(journeys)
    if counts[NEXT] == counts[SORTED]:
        return float(journeys.heap_s[0])
    time_s = float(journeys.key_s[counts[NEXT]])
    return min(time_s, float(journeys.heap_s[0])) if counts[HEAPED] else time_s


@inlined
def take_message(journeys: Journeys) -> int:
    """The slot of the message that comes next; there is one."""
    counts = journeys.counts
    place = counts[NEXT]
    if place == counts[SORTED] or (
        counts[HEAPED]
        and is_sooner(journeys.heap_s[0], journeys.heap_order[0], journeys.key_s[place], journeys.order[place])
    ):
        return _out_of_heap(journeys)
    counts[NEXT] = place + 1
    return int(journeys.order[place] & (OP_ORDER - 1))


@inlined
def slot_ahead(journeys: Journeys, ahead: int) -> int:
    """The slot of a message that comes some events later; NONE if that is not known."""
    place = journeys.counts[NEXT] + ahead
    return int(journeys.order[place] & (OP_ORDER - 1)) if place < journeys.counts[SORTED] else NONE


@inlined
def come_later(journeys: Journeys, slot: int) -> bool:
    """The message in a slot will come to its station at its time: whether that is in the current day."""
    time_s = journeys.now.time_s[slot]
    day = _day_of(journeys, time_s)
    if day <= journeys.counts[TODAY]:
        _into_heap(journeys, time_s, _order_of(journeys, slot))
        return True
    _write(journeys, journeys.now, slot, day & (DAYS - 1))
    return False


@inlined
def begin_journey(journeys: Journeys, program: Program, op: int, time: float) -> None:
    """The message of a send makes for the first station on its way."""
    now, slot, cost, route = journeys.now, journeys.counts[SLOTS], program.cost[op], program.route[op]
    place = program.way_start[route]
    head = time + program.costs[cost, INJECT_COST]
    now.time_s[slot], now.tail_s[slot] = head, head + program.costs[cost, TAIL_COST]
    now.place[slot], now.op[slot], now.cost[slot] = place, op, cost
    now.left[slot], now.station[slot] = program.way_start[route + 1] - place - 1, program.way[place]
    journeys.counts[LOST] += head <= time and program.costs[cost, INJECT_COST] > 0
    if come_later(journeys, slot):
        journeys.counts[SLOTS] = slot + 1


@inlined
def _order_of(journeys: Journeys, slot: int) -> int:
    level = LINK_ORDER if journeys.now.station[slot] >= journeys.counts[FIRST_LINK] else 0
    return int(level + np.int64(journeys.now.op[slot]) * OP_ORDER + slot)


@inlined
def _day_of(journeys: Journeys, time_s: float) -> int:
    return int(min(time_s * journeys.days_per_s[0], 4e18))


# --- Days to come -----------------------------------------------------------------------------------------------------


@inlined
def _copy(source: Records, one: int, target: Records, other: int) -> None:
    target.time_s[other], target.tail_s[other] = source.time_s[one], source.tail_s[one]
    target.place[other], target.op[other] = source.place[one], source.op[one]
    target.cost[other], target.left[other] = source.cost[one], source.left[one]
    target.station[other] = source.station[one]


@inlined
def _write(journeys: Journeys, source: Records, one: int, day: int) -> None:
    """Add a message to those of a day."""
    days, counts = journeys.days, journeys.counts
    if days.first[day] == NONE or days.count[day] == BLOCK:
        block = counts[FREE_BLOCK]
        if block == NONE:
            block = counts[BLOCKS]
            counts[BLOCKS] += 1
        else:
            counts[FREE_BLOCK] = journeys.following[block]
        if days.first[day] == NONE:
            days.first[day] = block
        else:
            journeys.following[days.last[day]] = block
        journeys.following[block] = NONE
        days.last[day], days.count[day] = block, 0
    _copy(source, one, journeys.later, np.int64(days.last[day]) * BLOCK + days.count[day])
    days.count[day] += 1
    counts[LATER] += 1


@called
def _collect(journeys: Journeys, day: int, today: int) -> None:
    """Messages of one day out of a list, or of all years if ``today`` is NONE; those of other years stay."""
    days, counts, block, last = journeys.days, journeys.counts, journeys.days.first[day], journeys.days.last[day]
    in_last = days.count[day]
    days.first[day] = NONE
    while block != NONE:
        for number in range(in_last if block == last else BLOCK):
            one = as_int64(block) * BLOCK + number
            counts[LATER] -= 1
            if today == NONE or _day_of(journeys, journeys.later.time_s[one]) == today:
                _copy(journeys.later, one, journeys.now, counts[SLOTS])
                counts[SLOTS] += 1
            else:
                _write(journeys, journeys.later, one, day)
                counts[EMPTY] += 1  # as dear as an empty day
        follower = journeys.following[block]
        journeys.following[block] = counts[FREE_BLOCK]
        counts[FREE_BLOCK] = block
        block = follower


@called
def _begin_next_day(journeys: Journeys) -> None:
    """Collect the messages of the next day that has any, with their keys."""
    counts = journeys.counts
    counts[SLOTS] = 0
    if counts[EMPTY] > EMPTY_DAYS * max(counts[VISITED], EVENTS):
        _lengthen_days(journeys)
    if counts[VISITED] >= EVENTS:
        counts[EMPTY] = counts[VISITED] = 0
    counts[NEXT] = counts[SORTED] = 0
    for _ in range(DAYS):
        counts[TODAY] += 1
        if journeys.days.first[counts[TODAY] & (DAYS - 1)] != NONE:
            _collect(journeys, counts[TODAY] & (DAYS - 1), counts[TODAY])
            if counts[SLOTS]:
                break
        counts[EMPTY] += 1
    if not counts[SLOTS]:  # nothing in a whole year: look up when it goes on
        counts[TODAY] = _first_day(journeys)
        _collect(journeys, counts[TODAY] & (DAYS - 1), counts[TODAY])
    counts[VISITED] += counts[SLOTS]
    counts[SORTED] = counts[SLOTS]
    for slot in range(counts[SLOTS]):
        journeys.key_s[slot], journeys.order[slot] = journeys.now.time_s[slot], _order_of(journeys, slot)
    sort_events(journeys.key_s, journeys.order, journeys.spare_s, journeys.spare_order, counts[SORTED])


@called
def _first_day(journeys: Journeys) -> int:
    first_s = np.inf
    for day in range(DAYS):
        block = journeys.days.first[day]
        while block != NONE:
            is_last = block == journeys.days.last[day]
            for number in range(journeys.days.count[day] if is_last else BLOCK):
                first_s = min(first_s, journeys.later.time_s[np.int64(block) * BLOCK + number])
            block = journeys.following[block]
    return _day_of(journeys, first_s)


@called
def _lengthen_days(journeys: Journeys) -> None:
    """Write all messages into longer days. The current day is over."""
    counts, now_s = journeys.counts, journeys.counts[TODAY] / journeys.days_per_s[0]
    for day in range(DAYS):
        _collect(journeys, day, NONE)
    journeys.days_per_s[0] /= LONGER
    counts[EMPTY] = counts[VISITED] = 0
    counts[TODAY] = _day_of(journeys, now_s) - 1  # the day that goes on may begin again
    count, counts[SLOTS] = counts[SLOTS], 0
    for slot in range(count):
        day = max(_day_of(journeys, journeys.now.time_s[slot]), counts[TODAY] + 1)
        _write(journeys, journeys.now, slot, day & (DAYS - 1))


# --- Later additions to the current day -------------------------------------------------------------------------------


@called
def _into_heap(journeys: Journeys, time_s: float, order: int) -> None:
    times, orders = journeys.heap_s, journeys.heap_order
    place = journeys.counts[HEAPED]
    journeys.counts[HEAPED] += 1
    while place > 0:
        above = (place - 1) // 2
        if not is_sooner(time_s, order, times[above], orders[above]):
            break
        times[place], orders[place] = times[above], orders[above]
        place = above
    times[place], orders[place] = time_s, order


@called
def _out_of_heap(journeys: Journeys) -> int:
    """The slot of the first message."""
    times, orders, first = journeys.heap_s, journeys.heap_order, journeys.heap_order[0]
    journeys.counts[HEAPED] -= 1
    count, place, below = journeys.counts[HEAPED], 0, 1
    time_s, order = times[count], orders[count]
    while below < count:
        if below + 1 < count and is_sooner(times[below + 1], orders[below + 1], times[below], orders[below]):
            below += 1
        if not is_sooner(times[below], orders[below], time_s, order):
            break
        times[place], orders[place] = times[below], orders[below]
        place, below = below, 2 * below + 1
    times[place], orders[place] = time_s, order
    return int(first & (OP_ORDER - 1))
