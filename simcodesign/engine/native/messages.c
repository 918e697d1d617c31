/* Messages: through interfaces and links, one after another, in packets, or as flows. */
#include "run.h"

/* --- Sends --- */

/* The message of a send is there at `time_s`. */
static inline void arrive(Run *run, int64_t op, double time_s) {
    if (op >= run->program.ops) return;
    if (run->rules.box) {
        message_comes(run, op, time_s);
        return;
    }
    if (run->memory.arrival_s) run->memory.arrival_s[op] = time_s;
    if (run->program.mailbox && run->program.mailbox[op] != NONE) put_in_mailbox(run, op, time_s);
    else release(run, run->program.match[op], time_s);
}

/* What waited for the beginning of an operation, or for its end, has got it at `time_s`. */
static inline void release_those_after(Run *run, int64_t op, int early, double time_s) {
    const Program *program = &run->program;
    if (!program->edge_start) return;
    for (int64_t edge = program->edge_start[op]; edge < program->edge_start[op + 1]; edge++)
        if (program->edge_early[edge] == early) release(run, program->edge_target[edge], time_s);
}

/* A send has begun, and will be done when its message has. */
static void hold(Run *run, int64_t op, double time_s) {
    run->memory.finish_s[op] = time_s;
    run->memory.missing[op] = HELD;
    release_those_after(run, op, 1, time_s);
}

/* A send that its message has held is done. */
static void end_send(Run *run, int64_t op, double now) {
    run->memory.finish_s[op] = now;
    run->memory.missing[op] = DONE;
    release_those_after(run, op, 0, now);
    if (run->program.follows_previous[op + 1]) release(run, op + 1, now);
}

/* --- The way of a message --- */

/* Copy the next stations of a message's way, each to the place that says how many are left after it. */
static inline void look_ahead(const Run *run, Request *request) {
    for (int32_t step = 0; step <= request->left % AHEAD; step++)
        request->ahead[(request->left - step) % AHEAD] = run->program.way[request->place + step];
}

/* The next station on a message's way. */
static inline int32_t follow(const Run *run, Request *request) {
    request->place++;
    request->left--;
    if (request->left % AHEAD == AHEAD - 1) look_ahead(run, request);
    return request->ahead[request->left % AHEAD];
}

/* Whether a message or a packet is at the first station of its way. */
static inline int is_at_first(const Run *run, const Request *request) {
    return request->place == run->program.way_start[run->program.route[request->op]];
}

static inline const double *costs_of(const Run *run, int64_t cost) {
    return run->program.costs + cost * run->program.costs_width;
}

/* Ask for a station from `arrival_s` on. */
static inline void ask_for(Run *run, int64_t station, int32_t slot) {
    join(run, station, slot);
    wake(run, station);
}

/* --- Choosing between two routes --- */

/* Whether the two routes of a message part at this place of its way. */
static inline int chooses(const Run *run, int64_t op, int64_t place) {
    const Program *program = &run->program;
    if (!program->other_route || program->other_route[op] == NONE) return 0;
    return place == program->way_start[program->route[op]] + program->fork[op];
}

/* A message will choose its route when its head is where the two part. */
static void come_to_choose(Run *run, int32_t slot) {
    come(run, run->program.last_arbiter, slot);
    schedule(run, run->program.last_arbiter, run->memory.requests[slot].arrival_s);
}

/* Requests that wait at a link by now, or are in service. */
static inline int64_t queue_at(Run *run, int64_t station, double now) {
    Station *it = &run->memory.stations[station];
    line_up(run, it, now);
    return it->waiting + (it->free_s > now);
}

/* The queue at a place of a route, times its links; or those from there on together. */
static int64_t queue_ahead(Run *run, int64_t route, int64_t fork, double now) {
    const Program *program = &run->program;
    int64_t place = program->way_start[route] + fork, queues = 0;
    if (!program->along_route) return queue_at(run, program->way[place], now) * program->links[route];
    for (; place < program->way_start[route + 1]; place++) queues += queue_at(run, program->way[place], now);
    return queues;
}

/* The first message that is to choose takes the other route if its queue, weighted by links, is shorter. */
static void choose_route(Run *run, double now) {
    Program *program = &run->program;
    Request *requests = run->memory.requests;
    int64_t chooser = program->last_arbiter;
    int32_t slot = leave_the_way(run, chooser), following = run->memory.stations[chooser].root;
    if (following != NONE) schedule(run, chooser, later_of(requests[following].arrival_s, now));
    Request *request = &requests[slot];
    int64_t op = request->op, fork = program->fork[op];
    int32_t other = program->other_route[op];
    program->other_route[op] = NONE; /* it chooses once: `chooses` */
    int64_t first_queue = queue_ahead(run, program->route[op], fork, now);
    if (first_queue > queue_ahead(run, other, fork, now) + program->threshold) program->route[op] = other;
    request->place = program->way_start[program->route[op]] + fork;
    request->left = (int32_t)(program->way_start[program->route[op] + 1] - request->place - 1);
    request->child = request->sibling = NONE;
    look_ahead(run, request);
    ask_for(run, program->way[request->place], slot);
}

/* --- In turn, whole or in packets --- */

/* A message or a packet, whose head is there at `head_s`, asks for the first station of its way. */
static void make_for_first(Run *run, int64_t op, int32_t cost, double head_s, double asks_s) {
    const Program *program = &run->program;
    int32_t slot = new_request(run, op, asks_s), route = program->route[op];
    Request *request = &run->memory.requests[slot];
    request->tail_s = head_s + costs_of(run, cost)[TAIL_COST];
    request->cost = cost;
    request->place = program->way_start[route];
    request->left = (int32_t)(program->way_start[route + 1] - request->place - 1);
    look_ahead(run, request);
    if (chooses(run, op, request->place)) come_to_choose(run, slot);
    else ask_for(run, program->way[request->place], slot);
}

/* The message of a send, or its first packet, makes for the first station on its way. An only one is the last. */
static void set_out(Run *run, int64_t op, double time_s) {
    int32_t cost = run->program.cost[op];
    if (run->packets.count && run->packets.left[op] == 0) cost++;
    double head_s = time_s + costs_of(run, cost)[INJECT_COST];
    make_for_first(run, op, cost, head_s, head_s);
}

/* The packet after this one may ask for the station when this one has been served. */
static void follow_up(Run *run, int64_t station, int32_t slot, double served_s) {
    Packets *packets = &run->packets;
    const Request *request = &run->memory.requests[slot];
    int64_t op = request->op;
    if (packets->count[op] == 1) return;
    if (!is_at_first(run, request)) {
        int32_t following = next_to_ask(run, packets->shift[op] + request->place, served_s);
        if (following != NONE) join(run, station, following);
    } else if (packets->left[op]) {
        packets->left[op]--;
        double head_s = request->tail_s;
        int32_t cost = run->program.cost[op] + (packets->left[op] == 0);
        make_for_first(run, op, cost, head_s, later_of(head_s, served_s));
    }
}

/* A memory controller that messages pass takes up an operation. */
static void serve_access(Run *run, int64_t station, int32_t slot, double now) {
    int64_t op = run->memory.requests[slot].op;
    Station *it = &run->memory.stations[station];
    forget(run, slot);
    it->busy_s += run->program.duration_s[op];
    it->free_s = now + run->program.duration_s[op];
    go_on(run, op, GRANTED, now);
    wake_after(run, station, now);
}

/* How long a station serves a message or a packet, and how long head and tail then are on their way to the next. */
typedef struct {
    double service_s, delay_s;
} Pass;

static inline Pass pass_of(const Run *run, int64_t station, int64_t cost, int is_last) {
    const Program *program = &run->program;
    int is_link = station >= program->first_link;
    int64_t group = is_link && program->link_group ? 2 * program->link_group[station] : 0;
    const double *costs = costs_of(run, cost);
    Pass pass = {costs[is_link ? LINK_COST + group : INTERFACE_COST], 0.0};
    if (program->service_factor) pass.service_s *= program->service_factor[station];
    if (is_link || !is_last) pass.delay_s = costs[is_link ? LATENCY_COST + group : AFTER_INTERFACE_COST];
    return pass;
}

/* Whether a link passes on a message to a link only when all of it is there. */
static inline int is_stored(const Run *run, int64_t station, int64_t following) {
    const Program *program = &run->program;
    return program->store_and_forward && station >= program->first_link && following >= program->first_link;
}

/* A message or a packet that a station has taken up goes on to its next one. */
static inline void go_to_next(Run *run, int64_t station, int32_t slot, double head_s, double tail_s) {
    Request *request = &run->memory.requests[slot];
    int64_t op = request->op;
    int32_t following = follow(run, request);
    request->tail_s = tail_s;
    request->arrival_s = is_stored(run, station, following) ? tail_s : head_s;
    request->child = request->sibling = NONE;
    if (chooses(run, op, request->place)) {
        come_to_choose(run, slot);
        return;
    }
    const Packets *packets = &run->packets;
    if (packets->count && packets->count[op] > 1 && !may_ask(run, packets->shift[op] + request->place, slot))
        return;
    ask_for(run, following, slot);
}

/* An interface or a link takes up a message or a packet: head and tail go on (see `Routes`). */
static inline void forward(Run *run, int64_t station, double now) {
    const Program *program = &run->program;
    const Packets *packets = &run->packets;
    int32_t slot = grant(run, station, now);
    Request *request = &run->memory.requests[slot];
    int64_t op = request->op;
    if (program->station && op < program->ops && program->station[op] == station) {
        serve_access(run, station, slot, now);
        return;
    }
    int32_t cost = request->cost, left = request->left;
    Pass pass = pass_of(run, station, cost, !left);
    double tail_s = later_of(request->tail_s, now + pass.service_s);
    run->memory.stations[station].busy_s += pass.service_s;
    if (op >= program->ops) run->others.busy_s[station] += pass.service_s;
    run->memory.stations[station].free_s = now + pass.service_s;
    if (packets->count) follow_up(run, station, slot, now + pass.service_s);
    wake_after(run, station, now);
    int ends_message = !packets->count || cost > program->cost[op];
    int holds = packets->count && ends_message && packets->holds[op];
    if (holds && packets->until_away && is_at_first(run, request)) end_send(run, op, tail_s);
    tail_s += pass.delay_s;
    if (left) {
        go_to_next(run, station, slot, now + pass.delay_s, tail_s);
        return;
    }
    forget(run, slot);
    if (ends_message) arrive(run, op, tail_s);
    if (holds && !packets->until_away) end_send(run, op, tail_s);
}

/* --- Flows --- */

/* The message of a send will be a flow when its delay is over. */
static void become_flow(Run *run, int64_t op, double time_s) {
    double begins_s = flow_begins_s(&run->flows, op, time_s);
    if (run->flows.size_bytes[op] == 0.0) {
        arrive(run, op, begins_s + run->flows.after_s[op]);
        return;
    }
    add_flow(run, op, begins_s);
    schedule(run, run->program.last_arbiter, begins_s);
}

/* All flows that begin or end now do so, and the others go on with their new shares. */
static void share_links(Run *run, double now) {
    Flows *flows = &run->flows;
    begin_and_end(flows, now);
    compute_shares(flows);
    for (int64_t number = 0; number < flows->fixed_count; number++) change_rate(flows, flows->fixed[number], now);
    for (int64_t number = 0; number < flows->ended_count; number++) {
        int32_t slot = flows->ended[number];
        forget_flow(flows, slot);
        int64_t op = flows->loads[slot].op;
        if (op >= run->program.ops || run->program.kind[op] == SEND) arrive(run, op, now + flows->after_s[op]);
        if (flows->holds[op]) end_send(run, op, now);
    }
    double next_s = next_change_s(flows);
    if (next_s < INFINITE_S) schedule(run, run->program.last_arbiter, next_s);
}

/* --- All kinds --- */

/* The message of a send sets out, or is there when its send is done, or after its flight. */
static inline void send(Run *run, int64_t op, double time_s, double end_s) {
    if (run->program.route && run->program.route[op] != NONE) {
        if (run->flows.stations) become_flow(run, op, time_s);
        else if (run->journeys.days) begin_journey(run, op, time_s);
        else set_out(run, op, time_s);
    } else {
        arrive(run, op, run->program.flight_s ? time_s + run->program.flight_s[op] : end_s);
    }
}

/* Messages of other jobs are on their way from the beginning. */
static void send_of_others(Run *run) {
    for (int64_t number = 0; number < run->others.messages; number++) {
        int64_t message = run->program.ops + number;
        if (run->flows.stations) become_flow(run, message, run->others.sets_out_s[number]);
        else set_out(run, message, run->others.sets_out_s[number]);
    }
}

/* Of a run that ended with its job: what others have asked for since a station arbitrated last. */
static void count_last_queues(Run *run) {
    for (int64_t station = run->program.first_interface; station < run->program.first_mailbox; station++)
        line_up(run, &run->memory.stations[station], run->others.end_s);
}
