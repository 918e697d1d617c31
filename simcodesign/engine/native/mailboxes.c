/* Mailboxes, where messages meet receives during a run.
 *
 * Where messages suit all receives of their mailbox, both are heaps. Otherwise (`tag`) both are lists, in the order of
 * arrival times and operations. */
#include "run.h"

/* Whether a receive takes the message of a send that arrives at its mailbox or box. */
static inline int suits(const Run *run, int64_t send, int64_t receive) {
    const Program *program = &run->program;
    if (!program->tag) return 1;
    if (program->peer[receive] != ANY && program->peer[receive] != program->rank[send]) return 0;
    return program->tag[receive] == ANY_TAG || program->tag[receive] == program->tag[send];
}

/* --- Lists --- */

/* A request takes its place in a list; the first one of the list then. */
static int32_t in_list(Request *requests, int32_t head, int32_t slot) {
    int32_t before = NONE, after = head;
    while (after != NONE && comes_before(requests, after, slot)) {
        before = after;
        after = requests[after].sibling;
    }
    requests[slot].sibling = after;
    if (before == NONE) return slot;
    requests[before].sibling = slot;
    return head;
}

/* A request leaves its list; the first one of the list then. */
static int32_t out_of_list(Request *requests, int32_t head, int32_t slot) {
    int32_t before = head, after = requests[slot].sibling;
    if (head == slot) return after;
    while (requests[before].sibling != slot) before = requests[before].sibling;
    requests[before].sibling = after;
    return head;
}

/* The first receive of a list that takes a message and comes before `until_s`, or at that time if `then_too`; NONE if
 * there is none. */
static int32_t receive_for(const Run *run, int32_t head, int32_t message, double until_s, int then_too) {
    const Request *requests = run->memory.requests;
    for (int32_t slot = head; slot != NONE; slot = requests[slot].sibling) {
        if (!(requests[slot].arrival_s < until_s || (then_too && requests[slot].arrival_s == until_s))) return NONE;
        if (suits(run, requests[message].op, requests[slot].op)) return slot;
    }
    return NONE;
}

/* Let a mailbox arbitrate as soon as a message and a receive that it suits are both there. */
static void wake_for_pair(Run *run, int64_t box, double now) {
    const Request *requests = run->memory.requests;
    int32_t head = run->memory.stations[box].head, message = run->memory.stock[box - run->program.first_mailbox];
    double first_s = INFINITE_S;
    for (; head != NONE && message != NONE && requests[message].arrival_s < first_s;
         message = requests[message].sibling) {
        int32_t slot = receive_for(run, head, message, first_s, 0);
        if (slot != NONE) first_s = later_of(requests[message].arrival_s, requests[slot].arrival_s);
    }
    if (first_s < INFINITE_S) schedule(run, box, later_of(now, first_s));
}

/* --- Meeting --- */

/* Let the first receive and the first message meet as soon as both have arrived. */
static inline void wake_mailbox(Run *run, int64_t box, double now) {
    if (run->program.tag) {
        wake_for_pair(run, box, now);
        return;
    }
    int32_t stock = run->memory.stock[box - run->program.first_mailbox];
    double first_s = first_arrival_s(run, &run->memory.stations[box]);
    if (stock != NONE && first_s < INFINITE_S)
        schedule(run, box, later_of(now, later_of(first_s, run->memory.requests[stock].arrival_s)));
}

/* Put the message of a send into its mailbox. */
static void put_in_mailbox(Run *run, int64_t op, double time_s) {
    int64_t box = run->program.mailbox[op];
    int32_t slot = new_request(run, op, time_s), *stock = &run->memory.stock[box - run->program.first_mailbox];
    if (run->program.tag) *stock = in_list(run->memory.requests, *stock, slot);
    else *stock = *stock == NONE ? slot : melded(run->memory.requests, *stock, slot);
    wake_mailbox(run, box, 0.0);
}

/* A receive waits at a mailbox. */
static void expect(Run *run, int64_t box, int32_t slot) {
    if (run->program.tag) {
        Station *it = &run->memory.stations[box];
        it->head = in_list(run->memory.requests, it->head, slot);
    } else {
        join(run, box, slot);
    }
    wake_mailbox(run, box, 0.0);
}

/* A message goes to a receive, both by their slots. */
static void hand_over(Run *run, int64_t box, int32_t message, int32_t slot, double now) {
    Program *program = &run->program;
    int32_t receive = run->memory.requests[slot].op, send = run->memory.requests[message].op;
    program->match[receive] = send;
    program->match[send] = receive;
    forget(run, slot);
    forget(run, message);
    wake_mailbox(run, box, now);
    if (program->taken_by && program->taken_by[send] != NONE) release(run, program->taken_by[send], now);
    go_on(run, receive, MET, now);
}

/* A receive examines the messages that came before its own and are still there. */
static void search(Run *run, int32_t head, int32_t message, int64_t receive) {
    const Request *requests = run->memory.requests;
    int32_t earlier = 0;
    for (; requests[head].arrival_s < requests[message].arrival_s; head = requests[head].sibling) earlier++;
    run->program.searched[receive] = earlier;
    run->program.duration_s[receive] += run->program.matching_s * earlier;
}

/* The first message that has come by now and suits a receive that has come by now goes to the first such one. */
static void meet_in_lists(Run *run, int64_t box, int32_t *stock, double now) {
    Request *requests = run->memory.requests;
    Station *it = &run->memory.stations[box];
    int32_t waiting = 0, message = *stock;
    for (int32_t slot = it->head; slot != NONE && requests[slot].arrival_s <= now; slot = requests[slot].sibling)
        waiting++;
    if (waiting > it->longest) it->longest = waiting;
    int32_t slot = receive_for(run, it->head, message, now, 1);
    while (slot == NONE) {
        message = requests[message].sibling;
        slot = receive_for(run, it->head, message, now, 1);
    }
    if (run->program.searched) search(run, *stock, message, requests[slot].op);
    *stock = out_of_list(requests, *stock, message);
    it->head = out_of_list(requests, it->head, slot);
    it->served++;
    it->wait_s += now - requests[slot].arrival_s;
    hand_over(run, box, message, slot, now);
}

/* The first message in a mailbox that can goes to the first receive that takes it. */
static void meet(Run *run, int64_t box, double now) {
    int32_t *stock = &run->memory.stock[box - run->program.first_mailbox];
    if (run->program.tag) {
        meet_in_lists(run, box, stock, now);
        return;
    }
    int32_t slot = grant(run, box, now), message = *stock;
    *stock = without_root(run->memory.requests, message);
    hand_over(run, box, message, slot, now);
}
