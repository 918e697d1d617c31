/* Stations: who is served next and when to arbitrate again, also with limited capacity; and what becomes ready. */
#include "run.h"

/* --- Operations that become ready --- */

/* An operation is ready. */
static inline void push_ready(Run *run, int64_t op) { run->memory.ready[run->memory.ready_count++] = (int32_t)op; }

/* An operation has got now what it waited for. */
static inline void go_on(Run *run, int64_t op, int stage, double now) {
    run->memory.finish_s[op] = now;
    run->memory.missing[op] = stage;
    push_ready(run, op);
}

/* One thing that an operation waited for happens at `time_s`, which may be to come. */
static inline void release(Run *run, int64_t op, double time_s) {
    run->memory.finish_s[op] = later_of(run->memory.finish_s[op], time_s);
    if (--run->memory.missing[op] == 0) push_ready(run, op);
}

/* Whether all operations are done before now. Each of them is looked at once. By the rules of LogGOPSim an end is a
 * number once it is known. */
static inline int is_over(Run *run, int in_loggopsim, double now) {
    Others *others = &run->others;
    const double *finish_s = run->memory.finish_s;
    int64_t op = others->undone;
    while (op < run->program.ops && (in_loggopsim ? finish_s[op] == finish_s[op] : run->memory.missing[op] == DONE))
        others->end_s = later_of(others->end_s, finish_s[op++]);
    others->undone = op;
    return op == run->program.ops && now > others->end_s;
}

/* --- Arbitration --- */

/* Arbitrate as soon as a request has come and a server is free; with one in line, that is settled already. */
static inline void wake(Run *run, int64_t station) {
    const Station *it = &run->memory.stations[station];
    if (it->head == NONE) schedule(run, station, later_of(it->free_s, run->memory.requests[it->root].arrival_s));
}

/* The first in line is next, with the station's statistics. */
static inline int32_t take_next(Run *run, Station *station, double now) {
    int32_t slot = next_in_line(run, station);
    station->served++;
    station->wait_s += now - run->memory.requests[slot].arrival_s;
    return slot;
}

static inline int32_t grant(Run *run, int64_t station, double now) {
    line_up(run, &run->memory.stations[station], now);
    return take_next(run, &run->memory.stations[station], now);
}

/* The first server of a heap to be free is taken `until_s`; when the next is free. */
static inline double occupied(double *free_s, int64_t count, double until_s) {
    int64_t place = 0, child = 1;
    while (child < count) {
        if (child + 1 < count && free_s[child + 1] < free_s[child]) child++;
        if (free_s[child] >= until_s) break;
        free_s[place] = free_s[child];
        place = child;
        child = 2 * place + 1;
    }
    free_s[place] = until_s;
    return free_s[0];
}

/* A server is taken for as long as an operation lasts, which is no request any more; the operation. */
static inline int64_t begin_service(Run *run, int64_t station, int32_t slot, double now) {
    int64_t op = run->memory.requests[slot].op;
    forget(run, slot);
    Station *it = &run->memory.stations[station];
    it->busy_s += run->program.duration_s[op];
    int64_t first = run->memory.server_start[station], count = run->memory.server_start[station + 1] - first;
    it->free_s = occupied(run->memory.server_free_s + first, count, now + run->program.duration_s[op]);
    return op;
}

/* After a grant: arbitrate again as soon as possible if somebody has come already or is known to come. */
static inline void wake_after(Run *run, int64_t station, double now) {
    const Station *it = &run->memory.stations[station];
    double first_s = first_arrival_s(run, it);
    if (first_s < INFINITE_S) schedule(run, station, later_of(it->free_s, later_of(first_s, now)));
}

/* --- Stations of limited capacity --- */

static inline int is_limited(const Run *run, int64_t station) {
    return run->program.discipline && run->program.discipline[station] == LIMITED;
}

/* An operation that finds its station full is done. */
static void block(Run *run, int32_t slot, double now) {
    const Program *program = &run->program;
    int64_t op = run->memory.requests[slot].op;
    forget(run, slot);
    run->memory.blocked[run->memory.blocked_count++] = (int32_t)op;
    run->memory.finish_s[op] = now;
    run->memory.missing[op] = DONE;
    if (program->edge_start)
        for (int64_t edge = program->edge_start[op]; edge < program->edge_start[op + 1]; edge++)
            release(run, program->edge_target[edge], now);
    if (program->follows_previous[op + 1]) release(run, op + 1, now);
}

/* Requests that have arrived by now join the line, or are blocked. */
static void judge(Run *run, int64_t station, double now) {
    Station *it = &run->memory.stations[station];
    int64_t vacant = run->program.capacity[station] - it->waiting;
    for (int64_t server = run->memory.server_start[station]; server < run->memory.server_start[station + 1]; server++)
        vacant -= run->memory.server_free_s[server] > now;
    while (it->root != NONE && run->memory.requests[it->root].arrival_s <= now) {
        int32_t slot = leave_the_way(run, station);
        if (vacant > 0) {
            vacant--;
            line_up_one(run, it, slot);
        } else {
            block(run, slot, now);
        }
    }
    if (it->waiting > it->longest) it->longest = it->waiting;
}

/* Judge who has come, then take up an operation if possible, and arbitrate again when somebody comes and when a server
 * is free for those in line. */
static void serve_limited(Run *run, int64_t station, double now) {
    Station *it = &run->memory.stations[station];
    judge(run, station, now);
    if (it->head != NONE && it->free_s <= now)
        go_on(run, begin_service(run, station, take_next(run, it, now), now), GRANTED, now);
    if (it->root != NONE) schedule(run, station, later_of(run->memory.requests[it->root].arrival_s, now));
    if (it->head != NONE) schedule(run, station, later_of(it->free_s, now));
}

/* A disk or a processor takes up an operation. */
static void serve(Run *run, int64_t station, double now) {
    if (is_limited(run, station)) {
        serve_limited(run, station, now);
        return;
    }
    go_on(run, begin_service(run, station, grant(run, station, now), now), GRANTED, now);
    wake_after(run, station, now);
}
