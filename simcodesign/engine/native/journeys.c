/* Messages in turn on ways where every hop takes time: one event for each hop, and no arbitration.
 *
 * Where nobody comes to a station in the very instant in which something else happens that sends him there, all who come
 * at a time are known before. Then a message is granted when it comes: at once, or when the station will have served
 * those before it, who came earlier or have a lower operation. So the queue of events holds messages, by the time at
 * which their heads come to their next stations, and a station keeps no requests.
 *
 * A calendar queue, as in queue.c, of whole messages: those of a day to come are written one after another in blocks,
 * and read again in that order. In a large run that is what the memory is quick at. Only the stations are looked up here
 * and there; since the events of the current day are known and sorted, they are fetched into the cache ahead. */
#include "run.h"

/* An event's order among those of its time: links after interfaces, then by operation; its slot in the lowest 31 bits,
 * which decide nothing, since an operation has one message. */
#define LINK_ORDER ((int64_t)1 << 62)
#define OP_ORDER ((int64_t)1 << 31)

static inline int64_t order_of(const Run *run, int64_t slot) {
    const Message *message = &run->journeys.now[slot];
    return (message->station >= run->program.first_link ? LINK_ORDER : 0) + message->op * OP_ORDER + slot;
}

static inline int64_t day_of_message(const Run *run, const Message *message) {
    return day_at(run->journeys.days_per_s, message->time_s);
}

/* --- Later additions to the current day --- */

static void put_in_day(Journeys *journeys, Event event) {
    Event *heap = journeys->heap;
    int64_t place = journeys->heaped++;
    for (; place > 0; place = (place - 1) / 2) {
        if (!is_sooner(&event, &heap[(place - 1) / 2])) break;
        heap[place] = heap[(place - 1) / 2];
    }
    heap[place] = event;
}

/* The slot of the first message. */
static int64_t take_out_of_day(Journeys *journeys) {
    Event *heap = journeys->heap;
    int64_t order = heap[0].order, count = --journeys->heaped, place = 0, below = 1;
    Event last = heap[count];
    while (below < count) {
        if (below + 1 < count && is_sooner(&heap[below + 1], &heap[below])) below++;
        if (!is_sooner(&heap[below], &last)) break;
        heap[place] = heap[below];
        place = below;
        below = 2 * below + 1;
    }
    heap[place] = last;
    return order & (OP_ORDER - 1);
}

/* --- Days to come --- */

/* Add a message to those of a day. */
static inline void write_message(Journeys *journeys, Message message, int64_t day) {
    Day *it = &journeys->days[day];
    if (it->first == NONE || it->count == MESSAGES_IN_BLOCK) {
        int64_t block = journeys->free_block;
        if (block == NONE) block = journeys->block_count++;
        else journeys->free_block = journeys->following[block];
        if (it->first == NONE) it->first = (int32_t)block;
        else journeys->following[it->last] = (int32_t)block;
        journeys->following[block] = NONE;
        it->last = (int32_t)block;
        it->count = 0;
    }
    journeys->later[(int64_t)it->last * MESSAGES_IN_BLOCK + it->count++] = message;
    journeys->later_count++;
}

/* Messages of one day out of a list, or of all years if `today` is NONE; those of other years stay. */
static void collect_messages(Run *run, int64_t day, int64_t today) {
    Journeys *journeys = &run->journeys;
    int32_t block = journeys->days[day].first, last = journeys->days[day].last, in_last = journeys->days[day].count;
    journeys->days[day].first = NONE;
    while (block != NONE) {
        for (int number = 0, count = block == last ? in_last : MESSAGES_IN_BLOCK; number < count; number++) {
            Message message = journeys->later[(int64_t)block * MESSAGES_IN_BLOCK + number];
            journeys->later_count--;
            if (today == NONE || day_of_message(run, &message) == today) {
                journeys->now[journeys->slots++] = message;
            } else {
                write_message(journeys, message, day);
                journeys->empty++; /* as dear as an empty day */
            }
        }
        int32_t follower = journeys->following[block];
        journeys->following[block] = (int32_t)journeys->free_block;
        journeys->free_block = block;
        block = follower;
    }
}

static int64_t first_message_day(const Run *run) {
    const Journeys *journeys = &run->journeys;
    double first_s = INFINITE_S;
    for (int64_t day = 0; day < JOURNEY_DAYS; day++)
        for (int32_t block = journeys->days[day].first; block != NONE; block = journeys->following[block])
            for (int number = 0; number < (block == journeys->days[day].last ? journeys->days[day].count : MESSAGES_IN_BLOCK);
                 number++)
                first_s = sooner_of(first_s, journeys->later[(int64_t)block * MESSAGES_IN_BLOCK + number].time_s);
    return day_at(journeys->days_per_s, first_s);
}

/* Write all messages into longer days. The current day is over. */
static void lengthen_days_of_messages(Run *run) {
    Journeys *journeys = &run->journeys;
    double now_s = (double)journeys->today / journeys->days_per_s;
    for (int64_t day = 0; day < JOURNEY_DAYS; day++) collect_messages(run, day, NONE);
    journeys->days_per_s /= LONGER;
    journeys->empty = journeys->visited = 0;
    journeys->today = day_at(journeys->days_per_s, now_s) - 1; /* the day that goes on may begin again */
    int64_t count = journeys->slots;
    journeys->slots = 0;
    for (int64_t slot = 0; slot < count; slot++) {
        int64_t day = larger_of(day_of_message(run, &journeys->now[slot]), journeys->today + 1);
        write_message(journeys, journeys->now[slot], day & (JOURNEY_DAYS - 1));
    }
}

/* Collect the messages of the next day that has any, with their keys. */
static void begin_next_day_of_messages(Run *run) {
    Journeys *journeys = &run->journeys;
    journeys->slots = 0;
    if (journeys->empty > EMPTY_DAYS * larger_of(journeys->visited, EVENTS)) lengthen_days_of_messages(run);
    if (journeys->visited >= EVENTS) journeys->empty = journeys->visited = 0;
    journeys->next = journeys->sorted = 0;
    for (int number = 0; number < JOURNEY_DAYS; number++) {
        journeys->today++;
        int64_t day = journeys->today & (JOURNEY_DAYS - 1);
        if (journeys->days[day].first != NONE) {
            collect_messages(run, day, journeys->today);
            if (journeys->slots) break;
        }
        journeys->empty++;
    }
    if (!journeys->slots) { /* nothing in a whole year: look up when it goes on */
        journeys->today = first_message_day(run);
        collect_messages(run, journeys->today & (JOURNEY_DAYS - 1), journeys->today);
    }
    journeys->visited += journeys->slots;
    journeys->sorted = journeys->slots;
    for (int64_t slot = 0; slot < journeys->slots; slot++)
        journeys->events[slot] = (Event){journeys->now[slot].time_s, order_of(run, slot)};
    sort_events(journeys->events, journeys->spare, journeys->sorted);
}

/* --- Events --- */

/* Whether the next grant might find no room. */
static inline int needs_nodes(const Journeys *journeys) {
    return journeys->free_node == NONE && journeys->node_count == journeys->node_room;
}

/* When the next message comes to a station; infinity if none is on its way. */
static inline double next_message_s(Run *run) {
    Journeys *journeys = &run->journeys;
    while (journeys->next == journeys->sorted && !journeys->heaped) {
        if (!journeys->later_count) return INFINITE_S;
        begin_next_day_of_messages(run);
    }
    if (journeys->next == journeys->sorted) return journeys->heap[0].time_s;
    double time_s = journeys->events[journeys->next].time_s;
    return journeys->heaped ? sooner_of(time_s, journeys->heap[0].time_s) : time_s;
}

/* The slot of the message that comes next; there is one. */
static inline int64_t take_message(Journeys *journeys) {
    const Event *next = &journeys->events[journeys->next];
    if (journeys->next == journeys->sorted || (journeys->heaped && is_sooner(&journeys->heap[0], next)))
        return take_out_of_day(journeys);
    journeys->next++;
    return next->order & (OP_ORDER - 1);
}

/* The slot of a message that comes some events later; NONE if that is not known. */
static inline int64_t slot_ahead(const Journeys *journeys, int ahead) {
    int64_t place = journeys->next + ahead;
    return place < journeys->sorted ? journeys->events[place].order & (OP_ORDER - 1) : NONE;
}

/* The message in a slot will come to its station at its time: whether that is in the current day. */
static inline int come_later(Run *run, int64_t slot) {
    const Message *message = &run->journeys.now[slot];
    int64_t day = day_of_message(run, message);
    if (day <= run->journeys.today) {
        put_in_day(&run->journeys, (Event){message->time_s, order_of(run, slot)});
        return 1;
    }
    write_message(&run->journeys, *message, day & (JOURNEY_DAYS - 1));
    return 0;
}

/* The message of a send makes for the first station on its way. */
static inline void begin_journey(Run *run, int64_t op, double time_s) {
    const Program *program = &run->program;
    Journeys *journeys = &run->journeys;
    int32_t cost = program->cost[op], route = program->route[op];
    int64_t place = program->way_start[route];
    const double *costs = program->costs + cost * program->costs_width;
    double head_s = time_s + costs[INJECT_COST];
    journeys->now[journeys->slots] =
        (Message){head_s, head_s + costs[TAIL_COST], place, (int32_t)op, cost,
                  (int32_t)(program->way_start[route + 1] - place - 1), program->way[place]};
    journeys->lost += head_s <= time_s && costs[INJECT_COST] > 0;
    if (come_later(run, journeys->slots)) journeys->slots++;
}
