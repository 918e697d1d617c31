/* Requests at a station: a heap of future arrivals, and a line of those that have arrived.
 *
 * A message asks for the next station on its way as soon as it is known when it will come there. So every station has a
 * pairing heap of requests to come, ordered by (arrival time, operation), and nothing else has to happen when one
 * arrives. When a station arbitrates, all that have come by then move to its line. No request in the heap comes before
 * the last one in the line, nor with it (`join`), but at stations of limited capacity. Both are linked through the
 * requests themselves and take no memory of their own. */
#include "run.h"

/* A slot for operation `op` that comes at `arrival_s`. */
static inline int32_t new_request(Run *run, int64_t op, double arrival_s) {
    int64_t slot = run->memory.free_slot;
    if (slot == NONE) slot = run->memory.used++;
    else run->memory.free_slot = run->memory.requests[slot].sibling;
    Request *request = &run->memory.requests[slot];
    request->op = (int32_t)op;
    request->arrival_s = arrival_s;
    request->child = request->sibling = NONE;
    return (int32_t)slot;
}

/* The slot may be used again. */
static inline void forget(Run *run, int32_t slot) {
    run->memory.requests[slot].sibling = (int32_t)run->memory.free_slot;
    run->memory.free_slot = slot;
}

/* The contract's order: by arrival time, then by operation. */
static inline int comes_before(const Request *requests, int32_t one, int32_t other) {
    if (requests[one].arrival_s != requests[other].arrival_s)
        return requests[one].arrival_s < requests[other].arrival_s;
    return requests[one].op < requests[other].op;
}

/* The root of two heaps made one. */
static inline int32_t melded(Request *requests, int32_t one, int32_t other) {
    if (comes_before(requests, other, one)) {
        int32_t first = other;
        other = one;
        one = first;
    }
    requests[other].sibling = requests[one].child;
    requests[one].child = other;
    return one;
}

/* The root of what remains of a heap: its children in pairs from left to right, then all from right to left. */
static int32_t without_root(Request *requests, int32_t root) {
    int32_t child = requests[root].child, pairs = NONE, rest = NONE;
    while (child != NONE) {
        int32_t pair = child, other = requests[child].sibling;
        child = NONE;
        if (other != NONE) {
            child = requests[other].sibling;
            pair = melded(requests, pair, other);
        }
        requests[pair].sibling = pairs;
        pairs = pair;
    }
    while (pairs != NONE) {
        int32_t pair = pairs;
        pairs = requests[pair].sibling;
        requests[pair].sibling = NONE;
        rest = rest == NONE ? pair : melded(requests, rest, pair);
    }
    return rest;
}

/* Take one's place in the line among those that have come in this same instant. */
static void step_in(Run *run, Station *station, int32_t slot) {
    Request *requests = run->memory.requests;
    int32_t after = NONE, before = station->tail;
    while (before != NONE && comes_before(requests, slot, before)) {
        after = before;
        before = requests[before].before;
    }
    requests[slot].before = before;
    requests[slot].sibling = after;
    if (before == NONE) station->head = slot;
    else requests[before].sibling = slot;
    if (after == NONE) station->tail = slot;
    else requests[after].before = slot;
    station->waiting++;
}

/* Stand behind all others in the line. */
static inline void stand_last(Request *requests, Station *station, int32_t slot) {
    int32_t tail = station->tail;
    requests[slot].before = tail;
    requests[slot].sibling = NONE;
    if (tail == NONE) station->head = slot;
    else requests[tail].sibling = slot;
    station->tail = slot;
    station->waiting++;
}

static inline int steps_in(const Request *requests, const Station *station, int32_t slot) {
    return station->tail != NONE && requests[slot].arrival_s <= requests[station->tail].arrival_s;
}

/* Be on the way to a station that judges everybody who comes. */
static inline void come(Run *run, int64_t station, int32_t slot) {
    int32_t root = run->memory.stations[station].root;
    run->memory.stations[station].root = root == NONE ? slot : melded(run->memory.requests, root, slot);
}

/* Wait at a station, from `arrival_s` on. */
static inline void join(Run *run, int64_t station, int32_t slot) {
    Station *it = &run->memory.stations[station];
    if (steps_in(run->memory.requests, it, slot)) step_in(run, it, slot);
    else come(run, station, slot);
}

/* The first of those to come leaves the heap. */
static inline int32_t leave_the_way(Run *run, int64_t station) {
    Request *requests = run->memory.requests;
    int32_t root = run->memory.stations[station].root;
    run->memory.stations[station].root = requests[root].child == NONE ? NONE : without_root(requests, root);
    return root;
}

/* Stand in line, behind those who have come before. */
static inline void line_up_one(Run *run, Station *station, int32_t slot) {
    if (steps_in(run->memory.requests, station, slot)) step_in(run, station, slot);
    else stand_last(run->memory.requests, station, slot);
}

/* All that have come by now stand in line. */
static inline void line_up(Run *run, Station *station, double now) {
    Request *requests = run->memory.requests;
    int32_t root = station->root;
    while (root != NONE && requests[root].arrival_s <= now) {
        int32_t rest = requests[root].child == NONE ? NONE : without_root(requests, root);
        stand_last(requests, station, root);
        root = rest;
    }
    station->root = root;
    if (station->waiting > station->longest) station->longest = station->waiting;
}

/* The first leaves the line. */
static inline int32_t next_in_line(Run *run, Station *station) {
    int32_t slot = station->head, follower = run->memory.requests[slot].sibling;
    station->head = follower;
    if (follower == NONE) station->tail = NONE;
    else run->memory.requests[follower].before = NONE;
    station->waiting--;
    return slot;
}

/* When the first of all requests comes, or came; infinity if there is none. */
static inline double first_arrival_s(const Run *run, const Station *station) {
    int32_t slot = station->head == NONE ? station->root : station->head;
    return slot != NONE ? run->memory.requests[slot].arrival_s : INFINITE_S;
}
