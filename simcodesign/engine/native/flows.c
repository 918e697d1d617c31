/* Messages that share links fairly: which flows there are, when they begin and when they end.
 *
 * A message whose route is shared fairly waits for its latency and is a flow then, until its last byte has passed. All
 * flows that begin or end at the same time do so together; fair_shares.c then says at which rates all go on. The rules
 * are those of the event contract.
 *
 * Flows have slots, which are used again, and one *hop* for each station of their route. The flows of a link stand
 * beside each other, in memory for all that will ever pass it: only as much is touched as flows are there at a time.
 * Nothing else is kept of messages that have not set out or have arrived. */
#include "run.h"

#define HEAP times
#define KEY double
#include "indexed_heap.h"
#define HEAP order
#define KEY int64_t
#include "indexed_heap.h"

/* --- Marks, which hold for one computation of shares --- */

/* Whether the next rate of a flow is known. */
static inline int is_fixed(const Flows *flows, int32_t slot) { return flows->slots[slot].mark == 2 * flows->epoch + 1; }

/* Whether a flow may not keep its rate, and its next one is not known. */
static inline int is_doubted(const Flows *flows, int32_t slot) { return flows->slots[slot].mark == 2 * flows->epoch; }

/* Whether the flows of a link, or their rates, have changed. */
static inline int is_dirty(const Flows *flows, int32_t link) { return flows->links[link].mark >= 2 * flows->epoch; }

/* Whether the next level of a dirty link is known. */
static inline int is_settled(const Flows *flows, int32_t link) {
    return flows->links[link].mark == 2 * flows->epoch + 1;
}

/* The flows of a link, or their rates, have changed. */
static inline void mark_dirty(Flows *flows, int32_t link) {
    if (is_dirty(flows, link)) return;
    flows->links[link].mark = 2 * flows->epoch;
    flows->dirty[flows->dirty_count++] = link;
}

/* The rate of a flow changes. */
static inline void make_links_dirty(Flows *flows, int32_t slot) {
    for (int32_t hop = flows->slots[slot].first_hop; hop < flows->slots[slot].end_hop; hop++)
        mark_dirty(flows, flows->link_of[hop]);
}

/* --- Beginning and end --- */

/* To 43 significant bits (T. J. Dekker, 1971), so that what rounding alone separates happens at the same time. */
static inline double rounded(double time_s) {
    double large = 1025.0 * time_s;
    return large - (large - time_s);
}

/* When the message of a send that begins at `time_s` is a flow. */
static inline double flow_begins_s(const Flows *flows, int64_t op, double time_s) {
    return later_of(time_s, rounded(time_s + flows->delay_s[op]));
}

/* A free slot with so many hops. */
static int32_t slot_with(Flows *flows, int64_t hops) {
    int32_t slot = flows->free[hops];
    if (slot != NONE) {
        flows->free[hops] = flows->loads[slot].next_free;
        return slot;
    }
    slot = (int32_t)flows->slot_count++;
    int64_t own = flows->stations + slot;
    flows->slots[slot].first_hop = (int32_t)flows->hop_count;
    flows->slots[slot].mark = 0;
    flows->hop_count += hops;
    flows->slots[slot].end_hop = (int32_t)flows->hop_count;
    /* The limit of its own, if it has one, is a link with one place, from the end of `there` on. */
    flows->totals[own] = (Total){.first = (int32_t)(flows->there_count - 1 - slot)};
    flows->links[own].mark = 0;
    flows->links[own].level = NO_LIMIT;
    flows->times_place[slot] = flows->order_place[own] = flows->order_place[flows->link_count + slot] = NONE;
    return slot;
}

/* The message of a send will be a flow over the stations of its route. */
static void add_flow(Run *run, int64_t op, double begins_s) {
    const Program *program = &run->program;
    Flows *flows = &run->flows;
    int64_t start = program->way_start[program->route[op]], end = program->way_start[program->route[op] + 1];
    int has_limit = flows->own_rate[op] > 0;
    int32_t slot = slot_with(flows, end - start + has_limit), hop = flows->slots[slot].first_hop;
    flows->loads[slot].op = (int32_t)op;
    flows->loads[slot].left_bytes = flows->size_bytes[op];
    flows->slots[slot].share = NONE;
    flows->slots[slot].weight = flows->weight[op];
    for (int64_t place = start; place < end; place++) flows->link_of[hop++] = program->way[place];
    if (has_limit) {
        flows->totals[flows->stations + slot].capacity = flows->own_rate[op];
        flows->link_of[hop] = (int32_t)(flows->stations + slot);
    }
    put_in_times(flows, slot, begins_s);
}

/* When the next flow begins or ends. */
static inline double next_change_s(const Flows *flows) { return flows->times_size ? flows->times_key[0] : INFINITE_S; }

/* The capacity of a link for as many flows as it has. */
static inline void take_capacity(Flows *flows, int32_t link) {
    Total *total = &flows->totals[link];
    if (link < flows->stations) total->capacity = total->count > 1 ? flows->loaded[link] : flows->alone[link];
}

static void enter_links(Flows *flows, int32_t slot, double now) {
    const Slot *flow = &flows->slots[slot];
    flows->loads[slot].since_s = now;
    flows->loads[slot].place = (int32_t)flows->under_way_count;
    flows->under_way[flows->under_way_count++] = slot;
    flows->hops_under_way += flow->end_hop - flow->first_hop;
    for (int32_t hop = flow->first_hop; hop < flow->end_hop; hop++) {
        int32_t link = flows->link_of[hop];
        Total *total = &flows->totals[link];
        int32_t place = total->first + total->count++;
        flows->there[place] = (There){slot, hop};
        flows->place[hop] = place;
        total->weight += flow->weight;
        if (total->count > total->longest) total->longest = total->count;
        take_capacity(flows, link);
        mark_dirty(flows, link);
    }
}

static void leave_links(Flows *flows, int32_t slot) {
    const Slot *flow = &flows->slots[slot];
    int32_t last_flow = flows->under_way[--flows->under_way_count], under_way = flows->loads[slot].place;
    flows->under_way[under_way] = last_flow;
    flows->loads[last_flow].place = under_way;
    flows->hops_under_way -= flow->end_hop - flow->first_hop;
    for (int32_t hop = flow->first_hop; hop < flow->end_hop; hop++) {
        int32_t link = flows->link_of[hop], place = flows->place[hop];
        Total *total = &flows->totals[link];
        int32_t last = total->first + --total->count;
        flows->there[place] = flows->there[last];
        flows->place[flows->there[last].hop] = place;
        total->weight -= flow->weight;
        total->granted -= flow->share * flow->weight;
        take_capacity(flows, link);
        mark_dirty(flows, link);
    }
}

/* All flows that begin or end now do so; their links are dirty. Ends come first, so that `longest` has what is left. */
static void begin_and_end(Flows *flows, double now) {
    flows->epoch++;
    flows->dirty_count = flows->begun_count = flows->ended_count = 0;
    while (next_change_s(flows) == now) {
        int32_t slot = take_first_of_times(flows);
        if (flows->slots[slot].share == NONE) {
            flows->slots[slot].share = 0;
            flows->slots[slot].mark = 2 * flows->epoch; /* its rate is doubted */
            flows->begun[flows->begun_count++] = slot;
        } else {
            flows->ended[flows->ended_count++] = slot;
            leave_links(flows, slot);
        }
    }
    for (int64_t number = 0; number < flows->begun_count; number++) enter_links(flows, flows->begun[number], now);
}

/* The slot of a flow that has ended may be used again. */
static inline void forget_flow(Flows *flows, int32_t slot) {
    int32_t hops = flows->slots[slot].end_hop - flows->slots[slot].first_hop;
    flows->loads[slot].next_free = flows->free[hops];
    flows->free[hops] = slot;
}

/* A flow goes on at its next rate. */
static void change_rate(Flows *flows, int32_t slot, double now) {
    Slot *flow = &flows->slots[slot];
    Load *load = &flows->loads[slot];
    if (flow->share == flow->next_share) return;
    int64_t old = flow->share * flow->weight, new = flow->next_share * flow->weight;
    double carried = (double)old * flows->unit_bytes_per_s * (now - load->since_s);
    double left = later_of(0.0, load->left_bytes - carried);
    load->left_bytes = left;
    load->since_s = now;
    flow->share = flow->next_share;
    put_in_times(flows, slot, later_of(now, rounded(now + left / ((double)new * flows->unit_bytes_per_s))));
}
