/* Plans by the rules of LogGOPSim (number 5 of the event contract): what begins, what ends, and what becomes ready by
 * that. An *item* is an operation; N and more is the message of a send. */
#include "run.h"

/* Introsort sorts ranges no longer than this by insertion. */
enum { SHORT_RANGE = 16 };

/* --- Introsort, line by line as in engine/introsort.py, which says why --- */

static inline void swap_at(int32_t *items, int32_t *keys, int64_t one, int64_t other) {
    int32_t item = items[one], key = keys[one];
    items[one] = items[other];
    keys[one] = keys[other];
    items[other] = item;
    keys[other] = key;
}

/* The place of the median of three keys. */
static inline int64_t median_of(const int32_t *keys, int64_t one, int64_t two, int64_t three) {
    if (keys[one] < keys[two]) return keys[two] < keys[three] ? two : keys[one] < keys[three] ? three : one;
    return keys[one] < keys[three] ? one : keys[two] < keys[three] ? three : two;
}

/* Part a range by the median that is brought to its beginning; where the second part begins. */
static int64_t part(int32_t *items, int32_t *keys, int64_t first, int64_t last) {
    swap_at(items, keys, first, median_of(keys, first + 1, first + (last - first) / 2, last - 1));
    int64_t left = first + 1, right = last;
    for (;;) {
        while (keys[left] < keys[first]) left++;
        right--;
        while (keys[first] < keys[right]) right--;
        if (left >= right) return left;
        swap_at(items, keys, left++, right);
    }
}

static void introsort(int32_t *items, int32_t *keys, int64_t count, int32_t *ranges) {
    int64_t pending = count > SHORT_RANGE ? 1 : 0;
    if (pending) {
        ranges[0] = 0;
        ranges[1] = (int32_t)count;
    }
    while (pending) {
        pending--;
        int64_t first = ranges[2 * pending], last = ranges[2 * pending + 1];
        while (last - first > SHORT_RANGE) {
            int64_t left = part(items, keys, first, last);
            if (last - left > SHORT_RANGE) {
                ranges[2 * pending] = (int32_t)left;
                ranges[2 * pending + 1] = (int32_t)last;
                pending++;
            }
            last = left;
        }
    }
    for (int64_t place = 1; place < count; place++) {
        int32_t item = items[place], key = keys[place];
        int64_t to = place;
        for (; to > 0 && key < keys[to - 1]; to--) {
            items[to] = items[to - 1];
            keys[to] = keys[to - 1];
        }
        items[to] = item;
        keys[to] = key;
    }
}

/* --- When items can begin --- */

/* When an operation can begin whose processor is free at `free_s`. */
static inline double no_earlier_s(const Run *run, int64_t op, double free_s) {
    double time_s = later_of(run->turns.ready_s[op], free_s);
    if (run->program.kind[op] == SEND) time_s = later_of(time_s, run->turns.next_send_s[run->rules.interface[op]]);
    return time_s;
}

/* When an item can begin, as it looks now. */
static inline double item_earliest_s(const Run *run, int64_t item) {
    const Turns *turns = &run->turns;
    if (item < run->program.ops) return no_earlier_s(run, item, turns->free_s[run->program.station[item]]);
    int64_t send = item - run->program.ops;
    return later_of(turns->free_s[run->rules.receiver[send]],
                    turns->next_message_s[run->rules.receiver_interface[send]]);
}

/* --- Becoming ready --- */

/* An operation has become ready. */
static inline void add_ready(Turns *turns, int32_t op) { turns->ready[turns->ready_count++] = op; }

/* Operations to be sorted, first sends, then receives, then the others; how many these are now. */
static int64_t enter_range(Run *run, int64_t low, int64_t high, int64_t count) {
    Turns *turns = &run->turns;
    for (int64_t place = low; place < high; place++) {
        int8_t kind = run->program.kind[turns->ready[place]];
        turns->entering[count] = turns->ready[place];
        turns->keys[count++] = kind == SEND ? 0 : kind == RECEIVE ? 1 : 2;
    }
    return count;
}

/* The ready operations of a rank at these places, two ranges as one list, get numbers. */
static void enter(Run *run, int64_t low, int64_t high, int64_t then_low, int64_t then_high) {
    Turns *turns = &run->turns;
    int64_t count = enter_range(run, then_low, then_high, enter_range(run, low, high, 0));
    if (count > 1) introsort(turns->entering, turns->keys, count, turns->ranges);
    for (int64_t place = 0; place < count; place++) {
        int64_t op = turns->entering[place];
        double free_s = turns->free_s[run->program.station[op]];
        double time_s = no_earlier_s(run, op, free_s < INFINITE_S ? free_s : 0.0);
        add_turn(turns, time_s, new_number(turns), op);
    }
}

static inline void enter_ready(Run *run) { enter(run, 0, run->turns.ready_count, 0, 0); }

/* The operations that waited for this one last become ready. */
static void let_go(Run *run, int64_t op, int early, double time_s) {
    const Program *program = &run->program;
    Turns *turns = &run->turns;
    if (!program->edge_start) return;
    for (int64_t edge = program->edge_start[op]; edge < program->edge_start[op + 1]; edge++) {
        if (program->edge_early[edge] != early) continue;
        int32_t target = program->edge_target[edge];
        turns->ready_s[target] = later_of(turns->ready_s[target], time_s);
        if (--turns->missing[target] == 0) add_ready(turns, target);
    }
}

/* An operation begins; those that become ready. */
static void begins(Run *run, int64_t op, double now) {
    run->turns.begin_s[op] = now;
    let_go(run, op, 1, now);
}

/* It is known when an operation ends; those that become ready. */
static void ends(Run *run, int64_t op, double end_s) {
    run->memory.finish_s[op] = end_s;
    let_go(run, op, 0, end_s);
}

/* --- Processors and stations --- */

/* Note that somebody waits for a processor. */
static inline void wait_for_processor(Run *run, int64_t station) {
    int32_t waiting = ++run->turns.waiting[station];
    if (waiting > run->memory.stations[station].longest) run->memory.stations[station].longest = waiting;
}

/* Somebody gets a processor. */
static inline void take_processor(Run *run, int64_t station, double end_s, double busy_s, double wait_s) {
    Station *it = &run->memory.stations[station];
    run->turns.free_s[station] = end_s;
    run->turns.waiting[station]--;
    it->served++;
    it->busy_s += busy_s;
    it->wait_s += wait_s;
}

/* An operation has its processor, and queues with it at a disk or a memory controller. */
static void come_to_station(Run *run, int64_t op, double now) {
    take_processor(run, run->program.station[op], INFINITE_S, 0.0, now - run->turns.ready_s[op]);
    begins(run, op, now);
    enter_ready(run);
    ask_for(run, run->rules.served_at[op], new_request(run, op, now));
}

/* A disk or a memory controller takes up an operation; it is known when its processor is free. */
static void serve_operation(Run *run, int64_t station, double now) {
    const Program *program = &run->program;
    Turns *turns = &run->turns;
    int64_t op = begin_service(run, station, grant(run, station, now), now);
    wake_after(run, station, now);
    int64_t processor = program->station[op];
    double end_s = now + program->duration_s[op];
    run->memory.stations[processor].busy_s += end_s - turns->begin_s[op];
    turns->free_s[processor] = end_s;
    turns->ready_count = 0;
    ends(run, op, end_s);
    enter_ready(run);
    /* The lines of a program (generate/loggopsim.py): P each of computations, sends and messages, then one of each
     * other part of a rank, which has a processor to itself. */
    int64_t line = run->rules.line[op];
    do {
        int32_t item = turns->first[line];
        if (item != NONE && turns->next_try_s[item] == INFINITE_S)
            try_at(turns, item, later_of(item_earliest_s(run, item), now));
        line += turns->ranks;
    } while (line < 3 * turns->ranks);
}

/* A send or a computation begins; what follows from that follows at once. */
static void begin_operation(Run *run, int64_t op, double now) {
    const Program *program = &run->program;
    Turns *turns = &run->turns;
    if (run->rules.served_at && run->rules.served_at[op] != NONE) {
        come_to_station(run, op, now);
        return;
    }
    double end_s = now + program->duration_s[op];
    take_processor(run, program->station[op], end_s, program->duration_s[op], now - turns->ready_s[op]);
    turns->sent_s[op] = end_s;
    if (program->kind[op] == SEND) {
        turns->next_send_s[run->rules.interface[op]] = now + program->gap_s[op];
        turns->message_number[op] = new_number(turns);
        if (!program->route || program->route[op] == NONE) first_byte_comes(run, op, now + program->flight_s[op]);
        else if (run->flows.stations) become_flow(run, op, now);
        else set_out(run, op, now);
    }
    begins(run, op, now);
    if (!run->rules.rendezvous[op]) ends(run, op, end_s);
    enter_ready(run);
}

/* --- Receives and messages --- */

/* A receive or a message leaves its queue, in which it follows `before`. */
static inline void leave_box(Run *run, int32_t *first, int32_t *last, int32_t before, int32_t op) {
    int32_t following = run->turns.following[op];
    if (before == NONE) {
        *first = following;
    } else {
        run->turns.following[before] = following;
        if (following == NONE) *last = before;
    }
}

/* A receive or a message waits in its queue. */
static inline void enter_box(Run *run, int32_t *first, int32_t *last, int32_t op) {
    if (*first == NONE) *first = op;
    else run->turns.following[*last] = op;
    *last = op;
}

/* A message has its receive, whose end is known; what its posting has let go is ready already. */
static void meet_receive(Run *run, int64_t send, int64_t receive, double end_s, double now) {
    Program *program = &run->program;
    Turns *turns = &run->turns;
    program->match[receive] = (int32_t)send;
    program->match[send] = (int32_t)receive;
    int64_t began = turns->ready_count;
    if (run->rules.rendezvous[send]) {
        double *free_s = &turns->free_s[program->station[send]];
        double *next_send_s = &turns->next_send_s[run->rules.interface[send]];
        *free_s = later_of(*free_s, now);
        *next_send_s = later_of(*next_send_s, now);
        ends(run, send, later_of(now, turns->sent_s[send]));
    }
    int64_t sent = turns->ready_count;
    ends(run, receive, end_s);
    int64_t received = turns->ready_count;
    if (program->rank[send] == program->rank[receive]) {
        enter(run, 0, received, 0, 0);
    } else if (program->rank[send] < program->rank[receive]) {
        enter(run, began, sent, 0, 0);
        enter(run, 0, began, sent, received);
    } else {
        enter(run, 0, began, sent, received);
        enter(run, began, sent, 0, 0);
    }
}

/* A receive takes the first message in its queue that suits it, or waits there for one. */
static void post(Run *run, int64_t op, double now) {
    Turns *turns = &run->turns;
    int64_t box = run->rules.box[op];
    begins(run, op, now);
    int32_t before = NONE, send = turns->first_unexpected[box];
    while (send != NONE && !suits(run, send, op)) {
        before = send;
        send = turns->following[send];
    }
    if (send != NONE) {
        leave_box(run, &turns->first_unexpected[box], &turns->last_unexpected[box], before, send);
        meet_receive(run, send, op, later_of(turns->processed_s[send], now), now);
        return;
    }
    enter_box(run, &turns->first_posted[box], &turns->last_posted[box], (int32_t)op);
    enter_ready(run);
}

/* A message is processed by its receiver. */
static void process_message(Run *run, int64_t send, double now) {
    const Rules *rules = &run->rules;
    Turns *turns = &run->turns;
    double busy_s = rules->receive_s[send] - sooner_of(turns->lag_s[send], rules->spread_s[send]);
    double end_s = now + busy_s;
    take_processor(run, rules->receiver[send], end_s, busy_s, now - turns->first_s[send]);
    turns->next_message_s[rules->receiver_interface[send]] = now + run->program.gap_s[send];
    turns->taken_s[send] = now;
    turns->processed_s[send] = end_s;
    int64_t box = rules->box[send];
    int32_t before = NONE, receive = turns->first_posted[box];
    while (receive != NONE && !suits(run, send, receive)) {
        before = receive;
        receive = turns->following[receive];
    }
    if (receive != NONE) {
        leave_box(run, &turns->first_posted[box], &turns->last_posted[box], before, receive);
        meet_receive(run, send, receive, end_s, now);
        return;
    }
    enter_box(run, &turns->first_unexpected[box], &turns->last_unexpected[box], (int32_t)send);
}

/* --- Turns --- */

/* Where an item waits. */
static inline int64_t line_of(const Run *run, int64_t item) {
    int64_t ops = run->program.ops;
    return item >= ops ? run->rules.message_line[item - ops] : run->rules.line[item];
}

/* The processor that an item waits for. */
static inline int64_t processor_of(const Run *run, int64_t item) {
    int64_t ops = run->program.ops;
    return item >= ops ? run->rules.receiver[item - ops] : run->program.station[item];
}

/* An item begins. */
static void get_processor(Run *run, int64_t item, double now) {
    if (item >= run->program.ops) process_message(run, item - run->program.ops, now);
    else begin_operation(run, item, now);
}

/* Begin, or stand in line. */
static void first_try(Run *run, int64_t item, int64_t number, double now) {
    Turns *turns = &run->turns;
    int64_t line = line_of(run, item);
    turns->tried[item] = 1;
    if (item >= run->program.ops) run->memory.arrival_s[item - run->program.ops] = now;
    wait_for_processor(run, processor_of(run, item));
    double time_s = item_earliest_s(run, item);
    if (time_s <= now) {
        get_processor(run, item, now);
        return;
    }
    join_line(turns, line, (int32_t)item, number);
    if (turns->first[line] == item) try_at(turns, item, time_s);
}

/* The first of a line tries; others have tried to no purpose when they were that. */
static void try_again(Run *run, int64_t item, double now) {
    Turns *turns = &run->turns;
    int64_t line = line_of(run, item);
    if (turns->first[line] != item || turns->next_try_s[item] != now) return;
    double time_s = item_earliest_s(run, item);
    if (time_s > now) {
        try_at(turns, item, time_s);
        return;
    }
    leave_line(turns, line);
    get_processor(run, item, now);
    int32_t following = turns->first[line];
    if (following != NONE) try_at(turns, following, later_of(item_earliest_s(run, following), now));
}

/* The first turn: begin, or try again later. */
static void take_turn(Run *run, double now) {
    Turn turn = run->turns.heap[0];
    remove_first(&run->turns);
    run->turns.ready_count = 0;
    if (turn.item < run->program.ops && run->program.kind[turn.item] == RECEIVE) post(run, turn.item, now);
    else if (!run->turns.tried[turn.item]) first_try(run, turn.item, turn.number, now);
    else try_again(run, turn.item, now);
}

/* Everything that waits for nothing tries to begin. */
static void enter_first(Run *run) {
    const int32_t *rank = run->program.rank;
    for (int64_t op = 0; op < run->program.ops; op++) {
        if (op > 0 && rank[op] != rank[op - 1]) {
            enter_ready(run);
            run->turns.ready_count = 0;
        }
        if (run->turns.missing[op] == 0) add_ready(&run->turns, (int32_t)op);
    }
    enter_ready(run);
}

/* A station takes up the first that waits there. */
static void arbitrate_in_loggopsim(Run *run, int64_t station, double now) {
    if (station == run->program.last_arbiter) share_links(run, now);
    else if (station >= run->program.first_interface) forward(run, station, now);
    else serve_operation(run, station, now);
}

/* Do `limit` turns and arbitrations; the time of the last one then, infinity at the end. */
static double walk_in_loggopsim(Run *run, int64_t limit) {
    Turns *turns = &run->turns;
    double now = 0.0;
    for (int64_t done = 0; done < limit; done++) {
        int64_t station = first_station(run);
        if (station != NONE) take_first(run, station);
        if (station == NONE && turns->size == 0) return INFINITE_S;
        double wake_s = INFINITE_S;
        if (station != NONE) {
            wake_s = run->memory.stations[station].wake_s;
            if (run->others.messages && is_over(run, 1, wake_s)) return INFINITE_S;
            run->memory.stations[station].wake_s = INFINITE_S;
        }
        if (turns->size && turns->heap[0].time_s <= wake_s) {
            if (station != NONE) schedule(run, station, wake_s);
            now = turns->clock_s = turns->heap[0].time_s;
            take_turn(run, now);
        } else {
            now = turns->clock_s = wake_s;
            arbitrate_in_loggopsim(run, station, now);
        }
    }
    return now;
}
