/* The events to come: stations by the time at which they arbitrate, then by their number.
 *
 * A calendar queue (R. Brown, "Calendar queues", CACM 31, 1988). Time is cut into days. A day to come is a list of
 * stations, linked through the stations themselves, so that putting one there, or moving it to an earlier day, takes a
 * few steps however many there are. The current day is sorted when it begins, which costs little where all ranks do the
 * same in the same instant; what is scheduled while it lasts goes to a small heap. */
#include "run.h"

/* Empty days between two events, on average over so many events, that are too many: days get longer by this factor. */
enum { EMPTY_DAYS = 32, EVENTS = 4096, LONGER = 8 };
/* Runs of so many events are sorted by insertion. */
enum { SHORT = 8 };
/* `earlier` of a station in the heap; that of the first of a list is `FIRST - day`. NONE is in neither. */
enum { IN_HEAP = -2, FIRST = -3 };

/* --- Sorting --- */

/* Whether an event comes before another: by time, then by number. */
static inline int is_sooner(const Event *one, const Event *other) {
    return one->time_s < other->time_s || (one->time_s == other->time_s && one->order < other->order);
}

static void merge(Event *events, Event *spare, int64_t low, int64_t middle, int64_t high) {
    for (int64_t place = low; place < middle; place++) spare[place] = events[place];
    int64_t left = low, right = middle, place = low;
    while (left < middle)
        events[place++] = right < high && is_sooner(&events[right], &spare[left]) ? events[right++] : spare[left++];
}

/* Merge sort from the bottom; runs that are in order are left as they are. */
static void sort_events(Event *events, Event *spare, int64_t count) {
    for (int64_t low = 0; low < count; low += SHORT)
        for (int64_t place = low + 1; place < smaller_of(low + SHORT, count); place++) {
            Event event = events[place];
            int64_t hole = place;
            for (; hole > low && is_sooner(&event, &events[hole - 1]); hole--) events[hole] = events[hole - 1];
            events[hole] = event;
        }
    for (int64_t width = SHORT; width < count; width *= 2)
        for (int64_t low = 0; low < count - width; low += 2 * width) {
            int64_t middle = low + width, high = smaller_of(low + 2 * width, count);
            if (is_sooner(&events[middle], &events[middle - 1])) merge(events, spare, low, middle, high);
        }
}

/* --- The current day --- */

static inline int arbitrates_sooner(const Run *run, int32_t one, int32_t other) {
    double one_s = run->memory.stations[one].wake_s, other_s = run->memory.stations[other].wake_s;
    return one_s < other_s || (one_s == other_s && one < other);
}

static inline void put_in_heap(Run *run, int64_t place, int32_t station) {
    run->calendar.heap[place] = station;
    run->memory.stations[station].later = (int32_t)place;
}

/* Put a station at `place` of the heap or above. */
static void rise_in_heap(Run *run, int64_t place, int32_t station) {
    for (; place > 0; place = (place - 1) / 2) {
        int32_t other = run->calendar.heap[(place - 1) / 2];
        if (!arbitrates_sooner(run, station, other)) break;
        put_in_heap(run, place, other);
    }
    put_in_heap(run, place, station);
}

/* Take the first station out of the heap. */
static void take_out_of_heap(Run *run) {
    int32_t *heap = run->calendar.heap, first = heap[0];
    int64_t count = --run->calendar.heaped, place = 0, child = 1;
    int32_t moved = heap[count];
    while (child < count) {
        if (child + 1 < count && arbitrates_sooner(run, heap[child + 1], heap[child])) child++;
        if (!arbitrates_sooner(run, heap[child], moved)) break;
        put_in_heap(run, place, heap[child]);
        place = child;
        child = 2 * child + 1;
    }
    put_in_heap(run, place, moved);
    run->memory.stations[first].earlier = NONE;
}

/* --- Days to come --- */

static inline void list_station(Run *run, int64_t day, int32_t station) {
    int32_t follower = run->calendar.first[day];
    run->calendar.first[day] = station;
    run->memory.stations[station].later = follower;
    run->memory.stations[station].earlier = (int32_t)(FIRST - day);
    if (follower != NONE) run->memory.stations[follower].earlier = station;
    run->calendar.listed++;
}

static inline void unlist_station(Run *run, int32_t station) {
    Station *stations = run->memory.stations;
    int32_t before = stations[station].earlier, after = stations[station].later;
    if (before <= FIRST) run->calendar.first[FIRST - before] = after;
    else stations[before].later = after;
    if (after != NONE) stations[after].earlier = before;
    stations[station].earlier = NONE;
    run->calendar.listed--;
}

/* The stations of this day, out of a list with the same day of other years, in the order in which they came: often that
 * of their numbers, in which sorting is quick. */
static void collect_day(Run *run, int64_t today) {
    Calendar *calendar = &run->calendar;
    Station *stations = run->memory.stations;
    int64_t day = today & (DAYS - 1);
    int32_t kept = NONE, station = calendar->first[day];
    calendar->first[day] = NONE;
    while (station != NONE) {
        int32_t follower = stations[station].later;
        double time_s = stations[station].wake_s;
        if (day_at(calendar->days_per_s, time_s) == today) {
            stations[station].earlier = NONE;
            calendar->events[calendar->sorted++] = (Event){time_s, station};
        } else {
            stations[station].later = kept;
            kept = station;
            calendar->empty++; /* as dear as an empty day */
        }
        station = follower;
    }
    calendar->listed -= calendar->sorted;
    while (kept != NONE) {
        int32_t follower = stations[kept].later;
        calendar->listed--;
        list_station(run, day, kept);
        kept = follower;
    }
    for (int64_t place = 0; place < calendar->sorted / 2; place++) {
        Event event = calendar->events[place];
        calendar->events[place] = calendar->events[calendar->sorted - 1 - place];
        calendar->events[calendar->sorted - 1 - place] = event;
    }
}

static int64_t first_listed_day(const Run *run) {
    double first_s = INFINITE_S;
    for (int64_t day = 0; day < DAYS; day++)
        for (int32_t station = run->calendar.first[day]; station != NONE; station = run->memory.stations[station].later)
            first_s = sooner_of(first_s, run->memory.stations[station].wake_s);
    return day_at(run->calendar.days_per_s, first_s);
}

/* Put all stations into a calendar of longer days. The current day is over. */
static void lengthen_days(Run *run) {
    Calendar *calendar = &run->calendar;
    Station *stations = run->memory.stations;
    int32_t chain = NONE;
    double now = (double)calendar->today / calendar->days_per_s;
    for (int64_t day = 0; day < DAYS; day++) {
        int32_t station = calendar->first[day];
        calendar->first[day] = NONE;
        while (station != NONE) {
            int32_t follower = stations[station].later;
            stations[station].later = chain;
            chain = station;
            station = follower;
        }
    }
    calendar->days_per_s /= LONGER;
    calendar->listed = 0;
    calendar->today = day_at(calendar->days_per_s, now) - 1; /* the day that goes on may begin again */
    while (chain != NONE) {
        int32_t follower = stations[chain].later;
        list_station(run, day_at(calendar->days_per_s, stations[chain].wake_s) & (DAYS - 1), chain);
        chain = follower;
    }
}

/* Collect and sort the stations of the next day that has any. */
static void begin_next_day(Run *run) {
    Calendar *calendar = &run->calendar;
    if (calendar->empty > EMPTY_DAYS * larger_of(calendar->visited, EVENTS)) {
        lengthen_days(run);
        calendar->empty = calendar->visited = 0;
    } else if (calendar->visited >= EVENTS) {
        calendar->empty = calendar->visited = 0;
    }
    calendar->next = calendar->sorted = 0;
    for (int number = 0; number < DAYS; number++) {
        calendar->today++;
        if (calendar->first[calendar->today & (DAYS - 1)] != NONE) {
            collect_day(run, calendar->today);
            if (calendar->sorted) break;
        }
        calendar->empty++;
    }
    if (!calendar->sorted) { /* nothing in a whole year: look up when it goes on */
        calendar->today = first_listed_day(run);
        collect_day(run, calendar->today);
    }
    calendar->visited += calendar->sorted;
    sort_events(calendar->events, calendar->spare, calendar->sorted);
}

/* --- The queue --- */

/* Let a station arbitrate at `time_s`, if it does not do so before. Its `wake_s` is infinity out of the queue. */
static inline void schedule(Run *run, int64_t station, double time_s) {
    Station *it = &run->memory.stations[station];
    if (time_s >= it->wake_s) return;
    it->wake_s = time_s;
    if (it->earlier == IN_HEAP) {
        rise_in_heap(run, it->later, (int32_t)station);
        return;
    }
    if (it->earlier != NONE) unlist_station(run, (int32_t)station);
    int64_t day = day_at(run->calendar.days_per_s, time_s);
    if (day <= run->calendar.today) {
        it->earlier = IN_HEAP;
        rise_in_heap(run, run->calendar.heaped++, (int32_t)station);
    } else {
        list_station(run, day & (DAYS - 1), (int32_t)station);
    }
}

/* Whether the sorted part of the day goes on, after stations that were meanwhile moved to an earlier time. */
static inline int skip_changed(Run *run) {
    Calendar *calendar = &run->calendar;
    for (; calendar->next < calendar->sorted; calendar->next++) {
        const Event *event = &calendar->events[calendar->next];
        const Station *station = &run->memory.stations[event->order];
        if (station->wake_s == event->time_s && station->earlier == NONE) return 1;
    }
    return 0;
}

/* The next station in the queue; NONE if there is none. */
static inline int64_t first_station(Run *run) {
    Calendar *calendar = &run->calendar;
    while (!skip_changed(run) && !calendar->heaped) {
        if (!calendar->listed) return NONE;
        begin_next_day(run);
    }
    if (calendar->next == calendar->sorted) return calendar->heap[0];
    int32_t station = (int32_t)calendar->events[calendar->next].order;
    return calendar->heaped && arbitrates_sooner(run, calendar->heap[0], station) ? calendar->heap[0] : station;
}

/* Take the next station, which is this one, out of the queue. */
static inline void take_first(Run *run, int64_t station) {
    if (run->memory.stations[station].earlier == IN_HEAP) take_out_of_heap(run);
    else run->calendar.next++;
}
