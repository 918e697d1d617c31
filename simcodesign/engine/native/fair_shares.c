/* Max-min fair shares of links: which rates flows have after some have begun or ended.
 *
 * Water filling: the links with the smallest share, what is left of their capacity over the flows that have no rate yet
 * (over the sum of their weights), are saturated; these flows get that share (times their weight) as their rate; and so
 * on with what is left. Rates are whole numbers and all links of the smallest share are saturated together, so that the
 * rates do not depend on any order.
 *
 * After a change most rates stay. Two ways find those that do not, and both give what filling everything anew would:
 *
 * - `refill` fills anew all flows above a *cut*, the least share that can have changed;
 * - `follow_changes` goes through the shares from the smallest one upwards and looks at links whose flows have changed
 *   (*dirty* ones) and at flows that these links had limited (*doubted* ones); a flow keeps its rate as long as a link
 *   that is not dirty limits it to that.
 *
 * The first is quick where much changes, the second where little does, which is not known before: the one that was
 * cheaper lately is taken, and now and then the other. */
#include "run.h"

/* Where dirty links have more than one in so many of all hops under way, all above the cut is filled anew. */
enum { FEW = 8 };
/* The dearer way is tried again when this many times its work has been done on the other one. */
enum { PATIENCE = 16 };
/* To fill a hop anew takes about as long as to look at so many flows of a link. */
enum { FILLING = 4 };

/* Whether filling anew was the cheaper way lately, or has not been tried for long. */
static int refilling_is_due(Flows *flows) {
    int cheaper = flows->refill_work < flows->follow_work;
    if (flows->spent <= PATIENCE * larger_of(flows->refill_work, flows->follow_work)) return cheaper;
    flows->spent = 0;
    return !cheaper;
}

/* The next rate of a flow is known. */
static inline void fix(Flows *flows, int32_t slot, int64_t share) {
    flows->slots[slot].next_share = share;
    flows->slots[slot].mark = 2 * flows->epoch + 1;
    flows->fixed[flows->fixed_count++] = slot;
}

/* --- All above a cut --- */

/* The least rate of flows that begin at a link while the others keep their rates, if that is below `enough`. */
static int64_t share_of_new_flows(const Flows *flows, int32_t link, int64_t enough) {
    const Total *total = &flows->totals[link];
    int64_t share = floor_of(total->capacity, total->weight);
    while (share < enough) {
        int64_t left = total->capacity, sharing = 0;
        for (int32_t place = total->first; place < total->first + total->count; place++) {
            const Slot *flow = &flows->slots[flows->there[place].slot];
            if (0 < flow->share && flow->share < share) left -= flow->share * flow->weight;
            else sharing += flow->weight;
        }
        int64_t larger = floor_of(left, sharing);
        if (larger == share) break;
        share = larger;
    }
    return share;
}

/* No flow with a smaller rate than this can change: the rates of flows that have ended, and the shares at which the
 * links of new flows are saturated if these take all they can. */
static int64_t least_changed_share(Flows *flows) {
    int64_t cut = NO_LIMIT;
    for (int64_t number = 0; number < flows->ended_count; number++)
        cut = smaller_of(cut, flows->slots[flows->ended[number]].share);
    flows->round++;
    for (int64_t number = 0; number < flows->begun_count; number++) {
        const Slot *flow = &flows->slots[flows->begun[number]];
        for (int32_t hop = flow->first_hop; hop < flow->end_hop; hop++) {
            int32_t link = flows->link_of[hop];
            if (flows->totals[link].queued == flows->round) continue;
            flows->totals[link].queued = flows->round;
            cut = smaller_of(cut, share_of_new_flows(flows, link, cut));
        }
    }
    return cut;
}

/* Take what is left of the capacity of a link, which no flow without a rate shares yet. */
static inline void take_spare(Flows *flows, int32_t link) {
    flows->links[link].spare = flows->totals[link].capacity - flows->totals[link].granted;
    flows->links[link].unfixed = 0;
}

/* Take the rates from flows that are filled anew, and make their links dirty; how many flows these are. */
static int64_t collect_flows(Flows *flows, int64_t cut) {
    for (int64_t number = 0; number < flows->dirty_count; number++) take_spare(flows, flows->dirty[number]);
    for (int64_t number = 0; number < flows->under_way_count; number++) {
        int32_t slot = flows->under_way[number];
        const Slot *flow = &flows->slots[slot];
        if (0 < flow->share && flow->share < cut) continue;
        int64_t weight = flow->weight, rate = flow->share * weight;
        fix(flows, slot, NONE);
        flows->work += FILLING * (flow->end_hop - flow->first_hop);
        for (int32_t hop = flow->first_hop; hop < flow->end_hop; hop++) {
            int32_t link = flows->link_of[hop];
            if (!is_dirty(flows, link)) {
                mark_dirty(flows, link);
                take_spare(flows, link);
            }
            flows->links[link].spare += rate;
            flows->links[link].unfixed += weight;
        }
    }
    return flows->fixed_count;
}

/* Put a link at a place of the heap of those that are filled, or below it where it belongs. Unlike those of
 * indexed_heap.h it need not know where its items are, which takes as long again. */
static void sink_filling(Fill *filling, int64_t size, int64_t place, Fill fill) {
    int64_t child = 2 * place + 1;
    while (child < size) {
        if (child + 1 < size && filling[child + 1].share < filling[child].share) child++;
        if (filling[child].share >= fill.share) break;
        filling[place] = filling[child];
        place = child;
        child = 2 * child + 1;
    }
    filling[place] = fill;
}

/* Put all links of the smallest share into the queue; how many these are, with the size of the heap that is left. */
static int64_t take_saturated(Flows *flows, int64_t *size) {
    Fill *filling = flows->filling;
    int64_t share = NONE, count = 0;
    while (*size && (count == 0 || filling[0].share == share)) {
        Fill now = filling[0];
        Link *link = &flows->links[now.link];
        if (link->unfixed) now.share = floor_of(link->spare, link->unfixed);
        if (now.share == filling[0].share) { /* else it has grown since it was put there */
            if (link->unfixed) {
                share = link->level = now.share;
                flows->queue[count++] = (int32_t)now.link;
            }
            now = filling[--*size];
        }
        sink_filling(filling, *size, 0, now);
    }
    return count;
}

/* The flows without a rate at the links in the queue get the share of these; how many flows these are. */
static int64_t saturate(Flows *flows, int64_t count) {
    int64_t fixed = 0, mark = 2 * flows->epoch + 1;
    for (int64_t number = 0; number < count; number++) {
        int32_t saturated = flows->queue[number], place = flows->totals[saturated].first;
        int64_t share = flows->links[saturated].level;
        while (flows->links[saturated].unfixed) {
            Slot *flow = &flows->slots[flows->there[place++].slot];
            if (flow->next_share != NONE || flow->mark != mark) continue;
            flow->next_share = share;
            fixed++;
            for (int32_t hop = flow->first_hop; hop < flow->end_hop; hop++) {
                Link *link = &flows->links[flows->link_of[hop]];
                link->spare -= share * flow->weight;
                link->unfixed -= flow->weight;
            }
        }
    }
    return fixed;
}

/* Fill anew all flows at the cut or above; nearly all of them are connected with dirty links. */
static void refill(Flows *flows, int64_t cut) {
    Fill *filling = flows->filling;
    int64_t waiting = collect_flows(flows, cut), size = 0;
    for (int64_t number = 0; number < flows->dirty_count; number++) {
        Link *link = &flows->links[flows->dirty[number]];
        link->level = NO_LIMIT;
        if (link->unfixed) filling[size++] = (Fill){floor_of(link->spare, link->unfixed), flows->dirty[number]};
    }
    for (int64_t place = size / 2 - 1; place >= 0; place--) sink_filling(filling, size, place, filling[place]);
    while (waiting > 0) {
        int64_t count = take_saturated(flows, &size);
        waiting -= saturate(flows, count);
    }
    for (int64_t number = 0; number < flows->dirty_count; number++) {
        int32_t link = flows->dirty[number];
        flows->totals[link].granted = flows->totals[link].capacity - flows->links[link].spare;
    }
}

/* --- Along changes --- */

/* The share at which a link is saturated if flows whose rates are neither fixed nor doubted keep them. */
static int64_t new_level(Flows *flows, int32_t link) {
    const Total *total = &flows->totals[link];
    if (total->count == 0) return NO_LIMIT;
    int64_t share = floor_of(total->capacity, total->weight), doubted = 2 * flows->epoch;
    for (;;) {
        int64_t left = total->capacity, sharing = 0;
        flows->work += total->count;
        for (int32_t place = total->first; place < total->first + total->count; place++) {
            const Slot *flow = &flows->slots[flows->there[place].slot];
            int64_t other = flow->mark > doubted ? flow->next_share : flow->mark == doubted ? NO_LIMIT : flow->share;
            if (other < share) left -= other * flow->weight;
            else sharing += flow->weight;
        }
        if (sharing == 0) return NO_LIMIT;
        int64_t larger = floor_of(left, sharing);
        if (larger == share) return share;
        share = larger;
    }
}

/* Look at a link in this round, unless its level is known already; the length of the queue. */
static inline int64_t put_into_queue(Flows *flows, int32_t link, int64_t queued) {
    if (flows->totals[link].queued == flows->round || is_settled(flows, link)) return queued;
    flows->totals[link].queued = flows->round;
    flows->queue[queued] = link;
    return queued + 1;
}

/* Whether a link that is not dirty limits a flow to its rate. */
static inline int keeps_its_limit(const Flows *flows, int32_t slot) {
    const Slot *flow = &flows->slots[slot];
    for (int32_t hop = flow->first_hop; hop < flow->end_hop; hop++) {
        int32_t link = flows->link_of[hop];
        if (!is_dirty(flows, link) && flows->links[link].level == flow->share) return 1;
    }
    return 0;
}

/* Doubt the flows that a dirty link has limited, unless a link that is not dirty limits them to the same share. */
static int64_t doubt_flows_of(Flows *flows, int32_t link, int64_t queued) {
    const Total *total = &flows->totals[link];
    int64_t level = flows->links[link].level;
    flows->work += total->count;
    for (int32_t place = total->first; place < total->first + total->count; place++) {
        int32_t slot = flows->there[place].slot;
        Slot *flow = &flows->slots[slot];
        if (flow->share != level || is_fixed(flows, slot) || is_doubted(flows, slot) || keeps_its_limit(flows, slot))
            continue;
        flow->mark = 2 * flows->epoch;
        /* After the links of this share, one of which may give it the same again. */
        put_in_order(flows, (int32_t)(flows->link_count + slot), level * 2 + 1);
        for (int32_t hop = flow->first_hop; hop < flow->end_hop; hop++)
            if (is_dirty(flows, flows->link_of[hop])) queued = put_into_queue(flows, flows->link_of[hop], queued);
    }
    return queued;
}

/* Doubt the flows that newly dirty links had limited, and put links with their new level into the order; how many
 * dirty links have been looked at. */
static int64_t look_at_dirty_links(Flows *flows, int64_t looked_at, int64_t share) {
    int64_t queued = 0;
    flows->round++;
    while (looked_at < flows->dirty_count) {
        int32_t link = flows->dirty[looked_at++];
        queued = put_into_queue(flows, link, queued);
        if (share <= flows->links[link].level && flows->links[link].level < NO_LIMIT)
            queued = doubt_flows_of(flows, link, queued);
    }
    for (int64_t number = 0; number < queued; number++) {
        int64_t level = new_level(flows, flows->queue[number]);
        if (level < NO_LIMIT) put_in_order(flows, flows->queue[number], level * 2);
    }
    return looked_at;
}

/* A link is saturated at a share, unless that has grown meanwhile; its flows above it, or in doubt, get it. */
static void settle(Flows *flows, int32_t link, int64_t share) {
    const Total *total = &flows->totals[link];
    int64_t level = new_level(flows, link);
    if (level > share) {
        if (level < NO_LIMIT) put_in_order(flows, link, level * 2);
        return;
    }
    flows->links[link].mark = 2 * flows->epoch + 1;
    flows->links[link].level = share;
    flows->work += total->count;
    for (int32_t place = total->first; place < total->first + total->count; place++) {
        int32_t slot = flows->there[place].slot;
        if (is_fixed(flows, slot) || !(is_doubted(flows, slot) || flows->slots[slot].share > share)) continue;
        fix(flows, slot, share);
        if (flows->slots[slot].share != share) make_links_dirty(flows, slot);
    }
}

/* Look at what may change, from the smallest share upwards. */
static void follow_changes(Flows *flows) {
    int64_t share = 0, looked_at = 0;
    for (;;) {
        looked_at = look_at_dirty_links(flows, looked_at, share);
        if (flows->order_size == 0) break;
        share = flows->order_key[0] / 2;
        int32_t item = take_first_of_order(flows);
        if (item < flows->link_count) {
            settle(flows, item, share);
        } else {
            int32_t slot = (int32_t)(item - flows->link_count);
            if (!is_fixed(flows, slot)) make_links_dirty(flows, slot); /* what limited it to this share no longer does */
        }
    }
    for (int64_t number = 0; number < flows->dirty_count; number++)
        if (!is_settled(flows, flows->dirty[number])) flows->links[flows->dirty[number]].level = NO_LIMIT;
    for (int64_t number = 0; number < flows->fixed_count; number++) {
        const Slot *flow = &flows->slots[flows->fixed[number]];
        for (int32_t hop = flow->first_hop; hop < flow->end_hop; hop++)
            flows->totals[flows->link_of[hop]].granted += (flow->next_share - flow->share) * flow->weight;
    }
}

/* Find the next rate of all flows whose rate may change: the list `fixed`. */
static void compute_shares(Flows *flows) {
    int64_t hops = 0;
    flows->fixed_count = flows->work = 0;
    for (int64_t number = 0; number < flows->dirty_count; number++) hops += flows->totals[flows->dirty[number]].count;
    if (hops * FEW > flows->hops_under_way || refilling_is_due(flows)) {
        refill(flows, least_changed_share(flows));
        flows->refill_work = flows->work;
    } else {
        follow_changes(flows);
        flows->follow_work = flows->work;
    }
    flows->spent += flows->work;
}
