"""The events to come, compiled: stations by the time at which they arbitrate, then by their number.

A calendar queue (R. Brown, "Calendar queues", CACM 31, 1988). Time is cut into days. A day to come is a list of
stations, linked through the stations themselves, so that putting one there, or moving it to an earlier day, takes a few
steps however many there are. The current day is sorted when it begins, which costs little where all ranks do the same
in the same instant; what is scheduled while it lasts goes to a small heap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import called, inlined
from simcodesign.engine.compiled.state import Array, StationStates, as_int64
from simcodesign.generate.plan import NONE, Plan

#: Days in a year: lists of stations. A day holds the stations of the same day of all years.
DAYS = 2**14
#: Empty days between two events, on average over so many events, that are too many: days get longer by this factor.
EMPTY_DAYS, EVENTS, LONGER = 32, 4096, 8
#: Runs of so many events are sorted by insertion.
SHORT = 8
#: ``earlier`` of a station in the heap; that of the first of a list is ``FIRST - day``. NONE is in neither.
IN_HEAP, FIRST = -2, -3
#: Places of the numbers in ``counts``.
LISTED, HEAPED, TODAY, SORTED, NEXT, EMPTY, VISITED = range(7)


class Calendar(NamedTuple):
    """The queue. The current day: ``time_s`` and ``station`` from NEXT to SORTED, and a ``heap`` of later additions."""

    first: Array  # (DAYS,) first station of each list
    time_s: Array
    station: Array
    spare_time_s: Array  # for sorting
    spare_station: Array
    heap: Array
    counts: NDArray[np.int64]
    days_per_s: NDArray[np.float64]


def calendar_for(plan: Plan) -> Calendar:
    """An empty queue for the stations of a Plan. A day is as short as the shortest delay, so that few events are added
    to the current one; where that leaves too many days empty, days become longer during the run."""
    count = len(plan.stations) + 1
    delays = [] if plan.station is None else [plan.duration_s[plan.station != NONE]]
    if plan.routes is not None:
        routes = plan.routes
        delays += [routes.link_s.ravel(), routes.interface_s, routes.latency_s.ravel(), routes.after_interface_s]
    every = np.concatenate([np.zeros(0), *delays])
    shortest = np.min(every[every > 0], initial=1.0)
    return Calendar(
        np.full(DAYS, NONE, np.int32),
        np.empty(count),
        np.empty(count, np.int32),
        np.empty(count),
        np.empty(count, np.int32),
        np.empty(count, np.int32),
        np.zeros(7, np.int64),
        np.array([min(1 / shortest, 1e300)]),
    )


@inlined
def schedule(stations: StationStates, calendar: Calendar, station: int, time: float) -> None:
    """Let a station arbitrate at ``time``, if it does not do so before."""
    if time >= stations.wake_s[station]:
        return
    stations.wake_s[station] = time
    if stations.earlier[station] == IN_HEAP:
        _rise(stations, calendar.heap, stations.later[station], station)
        return
    if stations.earlier[station] != NONE:
        _unlist(stations, calendar, station)
    day = _day_of(calendar, time)
    if day <= calendar.counts[TODAY]:
        place = calendar.counts[HEAPED]
        calendar.counts[HEAPED] += 1
        stations.earlier[station] = IN_HEAP
        _rise(stations, calendar.heap, place, station)
    else:
        _list(stations, calendar, day & (DAYS - 1), station)


@inlined
def next_station(stations: StationStates, calendar: Calendar) -> int:
    """Take the next station out of the queue; NONE if there is none."""
    station = first_station(stations, calendar)
    if station != NONE:
        take_first(stations, calendar, station)
    return station


@inlined
def first_station(stations: StationStates, calendar: Calendar) -> int:
    """The next station in the queue; NONE if there is none."""
    counts = calendar.counts
    while not _skip_changed(stations, calendar) and not counts[HEAPED]:
        if not counts[LISTED]:
            return NONE
        _begin_next_day(stations, calendar)
    place = counts[NEXT]
    if place == counts[SORTED] or (counts[HEAPED] and _sooner(stations, calendar.heap[0], calendar.station[place])):
        return as_int64(calendar.heap[0])
    return as_int64(calendar.station[place])


@inlined
def take_first(stations: StationStates, calendar: Calendar, station: int) -> None:
    """Take the next station, which is this one, out of the queue."""
    if stations.earlier[station] == IN_HEAP:
        _out_of_heap(stations, calendar)
    else:
        calendar.counts[NEXT] += 1


@inlined
def _skip_changed(stations: StationStates, calendar: Calendar) -> bool:
    """Whether the sorted part of the day goes on, after stations that were meanwhile moved to an earlier time."""
    counts = calendar.counts
    while counts[NEXT] < counts[SORTED]:
        place = counts[NEXT]
        station = calendar.station[place]
        if stations.wake_s[station] == calendar.time_s[place] and stations.earlier[station] == NONE:
            return True
        counts[NEXT] = place + 1
    return False


@inlined
def _sooner(stations: StationStates, one: int, other: int) -> bool:
    return is_sooner(stations.wake_s[one], one, stations.wake_s[other], other)


# --- Days to come ---------------------------------------------------------------------------------------------


@inlined
def _day_of(calendar: Calendar, time: float) -> int:
    return int(min(time * calendar.days_per_s[0], 4e18))


@inlined
def _list(stations: StationStates, calendar: Calendar, day: int, station: int) -> None:
    follower = calendar.first[day]
    calendar.first[day] = station
    stations.later[station], stations.earlier[station] = follower, FIRST - day
    if follower != NONE:
        stations.earlier[follower] = station
    calendar.counts[LISTED] += 1


@inlined
def _unlist(stations: StationStates, calendar: Calendar, station: int) -> None:
    before, after = stations.earlier[station], stations.later[station]
    if before <= FIRST:
        calendar.first[FIRST - before] = after
    else:
        stations.later[before] = after
    if after != NONE:
        stations.earlier[after] = before
    stations.earlier[station] = NONE
    calendar.counts[LISTED] -= 1


@called
def _begin_next_day(stations: StationStates, calendar: Calendar) -> None:
    """Collect and sort the stations of the next day that has any."""
    counts = calendar.counts
    if counts[EMPTY] > EMPTY_DAYS * max(counts[VISITED], EVENTS):
        _lengthen_days(stations, calendar)
        counts[EMPTY] = counts[VISITED] = 0
    elif counts[VISITED] >= EVENTS:
        counts[EMPTY] = counts[VISITED] = 0
    counts[NEXT] = counts[SORTED] = 0
    for _ in range(DAYS):
        counts[TODAY] += 1
        if calendar.first[counts[TODAY] & (DAYS - 1)] != NONE:
            _collect(stations, calendar, counts[TODAY])
            if counts[SORTED]:
                break
        counts[EMPTY] += 1
    if not counts[SORTED]:  # nothing in a whole year: look up when it goes on
        counts[TODAY] = _first_day(stations, calendar)
        _collect(stations, calendar, counts[TODAY])
    counts[VISITED] += counts[SORTED]
    sort_events(calendar.time_s, calendar.station, calendar.spare_time_s, calendar.spare_station, counts[SORTED])


@inlined
def _collect(stations: StationStates, calendar: Calendar, today: int) -> None:
    """The stations of this day, out of a list with the same day of other years, in the order in which they came."""
    counts, day, kept = calendar.counts, today & (DAYS - 1), NONE
    station = calendar.first[day]
    calendar.first[day] = NONE
    while station != NONE:
        follower, time = stations.later[station], stations.wake_s[station]
        if _day_of(calendar, time) == today:
            stations.earlier[station] = NONE
            calendar.station[counts[SORTED]], calendar.time_s[counts[SORTED]] = station, time
            counts[SORTED] += 1
        else:
            stations.later[station] = kept
            kept = station
            counts[EMPTY] += 1  # as dear as an empty day
        station = follower
    counts[LISTED] -= counts[SORTED]
    while kept != NONE:
        follower = stations.later[kept]
        counts[LISTED] -= 1
        _list(stations, calendar, day, kept)
        kept = follower
    _reverse(calendar.station, counts[SORTED])
    _reverse(calendar.time_s, counts[SORTED])


@inlined
def _reverse(values: Array, count: int) -> None:
    for place in range(count // 2):
        values[place], values[count - 1 - place] = values[count - 1 - place], values[place]


@called
def _first_day(stations: StationStates, calendar: Calendar) -> int:
    first = np.inf
    for day in range(DAYS):
        station = calendar.first[day]
        while station != NONE:
            first = min(first, stations.wake_s[station])
            station = stations.later[station]
    return _day_of(calendar, first)


@called
def _lengthen_days(stations: StationStates, calendar: Calendar) -> None:
    """Put all stations into a calendar of longer days. The current day is over."""
    chain = NONE
    now = calendar.counts[TODAY] / calendar.days_per_s[0]
    for day in range(DAYS):
        station = calendar.first[day]
        calendar.first[day] = NONE
        while station != NONE:
            follower = stations.later[station]
            stations.later[station] = chain
            chain, station = station, follower
    calendar.days_per_s[0] /= LONGER
    calendar.counts[LISTED] = 0
    calendar.counts[TODAY] = _day_of(calendar, now) - 1  # the day that goes on may begin again
    while chain != NONE:
        follower = stations.later[chain]
        _list(stations, calendar, _day_of(calendar, stations.wake_s[chain]) & (DAYS - 1), chain)
        chain = follower


# --- The current day ------------------------------------------------------------------------------------------


@inlined
def _rise(stations: StationStates, heap: Array, place: int, station: int) -> None:
    """Put a station at ``place`` of the heap or above."""
    while place > 0:
        other = heap[(place - 1) // 2]
        if not _sooner(stations, station, other):
            break
        heap[place] = other
        stations.later[other] = place
        place = (place - 1) // 2
    heap[place] = station
    stations.later[station] = place


@inlined
def _out_of_heap(stations: StationStates, calendar: Calendar) -> None:
    """Take the first station out of the heap."""
    heap, first = calendar.heap, calendar.heap[0]
    calendar.counts[HEAPED] -= 1
    count = calendar.counts[HEAPED]
    moved, place, child = heap[count], 0, 1
    while child < count:
        if child + 1 < count and _sooner(stations, heap[child + 1], heap[child]):
            child += 1
        if not _sooner(stations, heap[child], moved):
            break
        heap[place] = heap[child]
        stations.later[heap[place]] = place
        place, child = child, 2 * child + 1
    heap[place] = moved
    stations.later[moved] = place
    stations.earlier[first] = NONE


# --- Sorting ----------------------------------------------------------------------------------------------------


@inlined
def is_sooner(one_s: float, one: int, other_s: float, other: int) -> bool:
    """Whether an event comes before another: by time, then by number."""
    return one_s < other_s or (one_s == other_s and one < other)


@called
def sort_events(times: Array, numbers: Array, spare_times: Array, spare_numbers: Array, count: int) -> None:
    """Sort by time, then by number: merge sort from the bottom; runs that are in order are left as they are."""
    for low in range(0, count, SHORT):
        for place in range(low + 1, min(low + SHORT, count)):
            time, number, hole = times[place], numbers[place], place
            while hole > low and is_sooner(time, number, times[hole - 1], numbers[hole - 1]):
                times[hole], numbers[hole] = times[hole - 1], numbers[hole - 1]
                hole -= 1
            times[hole], numbers[hole] = time, number
    width = SHORT
    while width < count:
        for low in range(0, count - width, 2 * width):
            middle, high = low + width, min(low + 2 * width, count)
            if is_sooner(times[middle], numbers[middle], times[middle - 1], numbers[middle - 1]):
                _merge(times, numbers, spare_times, spare_numbers, low, middle, high)
        width *= 2


@inlined
def _merge(
    times: Array, numbers: Array, spare_times: Array, spare_numbers: Array, low: int, middle: int, high: int
) -> None:
    for place in range(low, middle):
        spare_times[place], spare_numbers[place] = times[place], numbers[place]
    left, right, place = low, middle, low
    while left < middle:
        if right < high and is_sooner(times[right], numbers[right], spare_times[left], spare_numbers[left]):
            times[place], numbers[place] = times[right], numbers[right]
            right += 1
        else:
            times[place], numbers[place] = spare_times[left], spare_numbers[left]
            left += 1
        place += 1
