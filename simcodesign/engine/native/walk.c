/* The walk of a Plan under the event contract.
 *
 * Ranks run ahead of the clock. When an operation begins it is known when it will be done, so nothing happens when it
 * is; the next one begins in the same breath, until a rank must wait for a message or a station. A message in turn asks
 * for its next station as soon as it is known when it will come there. What is left for the queue of events are
 * arbitrations: one event for every request at a station, and none at all where nothing is shared. Ready operations may
 * begin in any order: they only ask for something from a time on, and who asks is served by (time, operation).
 *
 * What a process of engine/reference does between two `yield` is a function here. Of `strand`, `proceed` takes the
 * operations, `ask` makes the requests of `receive` and `perform_at`, `serve` and `meet` grant them, and `begin` does
 * `begin` and `end` at once, unless `hold` and `end_send` do. Of `message`, `send` begins `travel`; `forward`, or
 * `pass_station` for journeys, is a turn of the loop in `pass_stations`; `arrive` is `arrive`. */
#include "run.h"

/* Ready operations that are looked at ahead. */
enum { READY_AHEAD = 4 };
/* Events of the current day that are looked at ahead: their messages first, then their stations, then the receives of
 * those that will have arrived. */
enum { MESSAGES_AHEAD = 24, STATIONS_AHEAD = 12, RECEIVES_AHEAD = 5 };

/* --- Fetching into the cache --- */

/* Fetch what will be needed of an operation that may begin soon, and of those after it. */
static inline void fetch_operation(const Run *run, int64_t op) {
    if (op < 0) return;
    FETCH(&run->memory.missing[op]);
    FETCH(&run->memory.finish_s[op]);
    FETCH(&run->program.duration_s[op]);
    FETCH(&run->program.kind[op]);
    FETCH(&run->program.match[op]);
    if (run->program.route) {
        FETCH(&run->program.route[op]);
        FETCH(&run->program.cost[op]);
    }
}

/* Fetch what the next events will need. */
static inline void fetch_events(const Run *run) {
    const Message *now = run->journeys.now;
    int64_t slot = slot_ahead(&run->journeys, MESSAGES_AHEAD);
    if (slot != NONE) FETCH(&now[slot]);
    slot = slot_ahead(&run->journeys, STATIONS_AHEAD);
    if (slot == NONE) return;
    FETCH(&run->memory.stations[now[slot].station]);
    if (now[slot].left) {
        FETCH(&run->program.way[now[slot].place + 1]);
    } else {
        FETCH(&run->program.match[now[slot].op]);
        FETCH(&run->memory.arrival_s[now[slot].op]);
    }
    slot = slot_ahead(&run->journeys, RECEIVES_AHEAD);
    if (!now[slot].left) fetch_operation(run, run->program.match[now[slot].op]);
}

/* --- Hops of journeys --- */

/* How many wait at a station when a message comes, itself included: those granted now or later, as an instant's grants
 * follow all its arrivals. The last grant, if it is one of these, gets a node; those that are over lose theirs. */
static inline int32_t count_with(Run *run, Station *station, double now) {
    Journeys *journeys = &run->journeys;
    Node *nodes = journeys->nodes;
    int32_t first = station->head;
    if (station->wake_s < now) {
        if (first != NONE) {
            nodes[station->tail].following = (int32_t)journeys->free_node;
            journeys->free_node = first;
            station->head = NONE;
            station->waiting = 0;
        }
        return 1;
    }
    while (first != NONE && nodes[first].grant_s < now) {
        int32_t follower = nodes[first].following;
        nodes[first].following = (int32_t)journeys->free_node;
        journeys->free_node = first;
        first = follower;
        station->waiting--;
    }
    int64_t node = journeys->free_node;
    if (node == NONE) node = journeys->node_count++;
    else journeys->free_node = nodes[node].following;
    nodes[node] = (Node){station->wake_s, NONE, 0};
    if (first == NONE) first = (int32_t)node;
    else nodes[station->tail].following = (int32_t)node;
    station->head = first;
    station->tail = (int32_t)node;
    return ++station->waiting + 1;
}

/* The message that comes next is granted, now or later, where it comes: head and tail go on (see `Routes`). */
static inline void pass_station(Run *run, double now) {
    fetch_events(run);
    int64_t slot = take_message(&run->journeys);
    Message *message = &run->journeys.now[slot];
    Station *it = &run->memory.stations[message->station];
    Pass pass = pass_of(run, message->station, message->cost, !message->left);
    int32_t waiting = count_with(run, it, now);
    double granted_s = later_of(now, it->free_s);
    if (waiting > it->longest) it->longest = waiting;
    it->served++;
    it->wait_s += granted_s - now;
    it->busy_s += pass.service_s;
    it->free_s = granted_s + pass.service_s;
    it->wake_s = granted_s;
    double tail_s = later_of(message->tail_s, granted_s + pass.service_s) + pass.delay_s;
    run->journeys.lost += tail_s <= now && pass.service_s + pass.delay_s > 0;
    if (!message->left) {
        arrive(run, message->op, tail_s);
        return;
    }
    int32_t following = run->program.way[++message->place];
    message->time_s = is_stored(run, message->station, following) ? tail_s : granted_s + pass.delay_s;
    message->tail_s = tail_s;
    run->journeys.lost += message->time_s <= now && pass.delay_s > 0;
    message->left--;
    message->station = following;
    come_later(run, slot);
}

/* --- Operations --- */

/* The station or mailbox at which an operation must wait now; NONE if it may begin. */
static inline int64_t waits_at(const Run *run, int64_t op) {
    const Program *program = &run->program;
    int32_t stage = run->memory.missing[op];
    if (stage == GRANTED) return NONE;
    if (program->polled && program->polled[op] != NONE) return program->polling;
    if (stage != MET && program->mailbox && program->mailbox[op] != NONE && program->kind[op] == RECEIVE)
        return program->mailbox[op];
    return program->station ? program->station[op] : NONE;
}

/* An operation that is ready comes to a station or a mailbox. */
static void ask(Run *run, int64_t station, int64_t op) {
    int32_t slot = new_request(run, op, run->memory.finish_s[op]);
    if (station == run->program.polling) {
        come(run, station, slot);
        schedule(run, station, run->memory.requests[slot].arrival_s);
    } else if (is_limited(run, station)) {
        come(run, station, slot);
        schedule(run, station, run->memory.requests[slot].arrival_s);
    } else if (station >= run->program.first_mailbox) {
        expect(run, station, slot);
    } else {
        ask_for(run, station, slot);
    }
}

/* The operation begins, and all that follows from it is known; the one after it if that is ready then. */
static inline int64_t begin(Run *run, int64_t op) {
    const Program *program = &run->program;
    double time_s = run->memory.finish_s[op], end_s = time_s + program->duration_s[op];
    run->memory.finish_s[op] = end_s;
    run->memory.missing[op] = DONE;
    if (program->kind[op] == SEND) {
        send(run, op, time_s, end_s);
        if ((run->flows.stations && run->flows.holds[op]) || (run->packets.count && run->packets.holds[op])) {
            hold(run, op, time_s);
            return NONE;
        }
    } else if (run->flows.stations && program->route[op] != NONE) {
        become_flow(run, op, time_s); /* an access shares a memory controller with messages */
        hold(run, op, time_s);
        return NONE;
    }
    if (program->edge_start)
        for (int64_t edge = program->edge_start[op]; edge < program->edge_start[op + 1]; edge++)
            release(run, program->edge_target[edge], program->edge_early[edge] ? time_s : end_s);
    if (program->polled && run->memory.poll[op] != NONE) go_on(run, run->memory.poll[op], GRANTED, end_s);
    op++;
    if (!program->follows_previous[op]) return NONE;
    run->memory.finish_s[op] = later_of(run->memory.finish_s[op], end_s);
    return --run->memory.missing[op] == 0 ? op : NONE;
}

/* Start the operations that are ready, and those that follow them, `limit` at most; how many these were. */
static inline int64_t proceed(Run *run, int64_t limit) {
    Memory *memory = &run->memory;
    int64_t done = 0;
    while (memory->ready_count && done < limit) {
        int64_t op = memory->ready[--memory->ready_count];
        if (memory->ready_count >= READY_AHEAD) fetch_operation(run, memory->ready[memory->ready_count - READY_AHEAD]);
        while (op != NONE) {
            if (done == limit) {
                push_ready(run, op);
                break;
            }
            done++;
            int64_t station = waits_at(run, op);
            if (station == NONE) {
                op = begin(run, op);
            } else {
                ask(run, station, op);
                op = NONE;
            }
        }
    }
    return done;
}

/* --- Polls --- */

/* Whether the message of a part's first receive has arrived, if it has one; that waits for nothing else but the operation
 * before it. */
static inline int has_come(const Run *run, int64_t part, double now) {
    int32_t receive = run->program.polled_receive[part];
    return receive == NONE || (run->memory.missing[receive] == 1 && run->memory.finish_s[receive] <= now);
}

/* The first operation that polls looks whether its part can begin. */
static void look(Run *run, double now) {
    const Program *program = &run->program;
    int64_t station = program->polling;
    int32_t slot = leave_the_way(run, station), following = run->memory.stations[station].root;
    if (following != NONE) schedule(run, station, later_of(run->memory.requests[following].arrival_s, now));
    int64_t op = run->memory.requests[slot].op, part = program->polled[op];
    forget(run, slot);
    if (run->memory.missing[part] == 1 && (program->waits[op] || has_come(run, part, now))) {
        run->memory.missing[op] = HELD;
        run->memory.poll[program->polled_end[part]] = (int32_t)op;
        release(run, part, now);
    } else {
        go_on(run, op, GRANTED, now);
    }
}

/* --- Events --- */

/* Whether a message passes its next station before this one arbitrates: of an instant, disks and processors come first,
 * then interfaces and links, then mailboxes. */
static inline int messages_are_first(const Run *run, double message_s, int64_t station) {
    if (station == NONE || run->memory.stations[station].wake_s > message_s) return 1;
    return run->memory.stations[station].wake_s == message_s && station >= run->program.first_interface;
}

/* A station, a mailbox, or all links together. */
static inline void arbitrate(Run *run, int64_t station, double now) {
    if (station == run->program.last_arbiter) {
        if (run->flows.stations) share_links(run, now);
        else choose_route(run, now);
    } else if (station == run->program.polling) {
        look(run, now);
    } else if (station >= run->program.first_mailbox) {
        meet(run, station, now);
    } else if (station >= run->program.first_interface) {
        forward(run, station, now);
    } else {
        serve(run, station, now);
    }
}

/* Do `limit` operations and arbitrations; the time of the last arbitration then, infinity at the end. */
static double walk(Run *run, int64_t limit) {
    double now = 0.0;
    for (int64_t done = 1; done <= limit; done++) {
        if (run->memory.ready_count) {
            done += proceed(run, limit);
            if (run->memory.ready_count) return now;
        }
        int64_t station = first_station(run);
        if (run->journeys.days) {
            if (needs_nodes(&run->journeys)) return now;
            double message_s = next_message_s(run);
            if (message_s < INFINITE_S && messages_are_first(run, message_s, station)) {
                now = message_s;
                pass_station(run, now);
                continue;
            }
        }
        if (station == NONE) return INFINITE_S;
        take_first(run, station);
        now = run->memory.stations[station].wake_s;
        if (run->others.messages && is_over(run, 0, now)) return INFINITE_S;
        run->memory.stations[station].wake_s = INFINITE_S;
        arbitrate(run, station, now);
    }
    return now;
}
