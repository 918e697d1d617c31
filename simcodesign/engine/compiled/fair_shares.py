"""Max-min fair shares of links, compiled: which rates flows have after some have begun or ended.

Water filling: the links with the smallest share, what is left of their capacity over the flows that have no rate yet
(over the sum of their weights), are saturated; these flows get that share (times their weight) as their rate; and so on
with what is left. Rates are whole numbers and all
links of the smallest share are saturated together, so that the rates do not depend on any order.

After a change most rates stay. Two ways find those that do not, and both give what filling everything anew would:

* ``refill`` fills anew all flows above a *cut*, the least share that can have changed;
* ``follow_changes`` goes through the shares from the smallest one upwards and looks at links whose flows have changed
  (*dirty* ones) and at flows that these links had limited (*doubted* ones); a flow keeps its rate as long as a link
  that is not dirty limits it to that.

The first is quick where much changes, the second where little does.
"""

from __future__ import annotations

from simcodesign.core.jit import called, inlined
from simcodesign.engine.compiled.flows import (
    BEGUN,
    DIRTY,
    ENDED,
    EPOCH,
    FIXED,
    HOPS_UNDER_WAY,
    NO_LIMIT,
    ROUND,
    UNDER_WAY,
    Flows,
    is_dirty,
    is_doubted,
    is_fixed,
    is_settled,
    mark_dirty,
)
from simcodesign.engine.compiled.indexed_heap import empty, put, take_first
from simcodesign.generate.plan import NONE

#: Where dirty links have more than this part of all hops under way, all above the cut is filled anew.
FEW = 1 / 8


@called
def compute_shares(flows: Flows) -> None:
    """Find the next rate of all flows whose rate may change: the list ``fixed``."""
    flows.counts[FIXED] = 0
    hops = 0
    for number in range(flows.counts[DIRTY]):
        hops += flows.totals.count[flows.link_lists.dirty[number]]
    if hops > FEW * flows.counts[HOPS_UNDER_WAY]:
        refill(flows, least_changed_share(flows))
    else:
        follow_changes(flows)


@inlined
def fix(flows: Flows, slot: int, share: int) -> None:
    """The next rate of a flow is known."""
    flows.slots.next_share[slot] = share
    flows.slots.mark[slot] = 2 * flows.counts[EPOCH] + 1
    flows.slot_lists.fixed[flows.counts[FIXED]] = slot
    flows.counts[FIXED] += 1


# --- All above a cut --------------------------------------------------------------------------------------------


@inlined
def least_changed_share(flows: Flows) -> int:
    """No flow with a smaller rate than this can change: the rates of flows that have ended, and the shares at which
    the links of new flows are saturated if these take all they can."""
    slots, counts = flows.slots, flows.counts
    cut = NO_LIMIT
    for number in range(counts[ENDED]):
        cut = min(cut, slots.share[flows.slot_lists.ended[number]])
    counts[ROUND] += 1
    for number in range(counts[BEGUN]):
        slot = flows.slot_lists.begun[number]
        for hop in range(slots.first_hop[slot], slots.end_hop[slot]):
            link = flows.way[hop]
            if flows.totals.queued[link] != counts[ROUND]:
                flows.totals.queued[link] = counts[ROUND]
                cut = min(cut, share_of_new_flows(flows, link, cut))
    return cut


@inlined
def share_of_new_flows(flows: Flows, link: int, enough: int) -> int:
    """What flows get at least that begin at a link while the others keep their rates, if that is below ``enough``."""
    slots, hops = flows.slots, flows.hops
    share = int(flows.totals.capacity[link] // flows.totals.weight[link])
    while share < enough:
        left, sharing, hop = flows.totals.capacity[link], 0, flows.totals.first[link]
        while hop != NONE:
            slot = hops.slot[hop]
            if 0 < slots.share[slot] < share:
                left -= slots.share[slot] * slots.weight[slot]
            else:
                sharing += slots.weight[slot]
            hop = hops.after[hop]
        larger = int(left // sharing)
        if larger == share:
            break
        share = larger
    return share


@called
def refill(flows: Flows, cut: int) -> None:
    """Fill anew all flows at the cut or above; nearly all of them are connected with dirty links."""
    links, totals, counts = flows.links, flows.totals, flows.counts
    waiting = collect(flows, cut)
    for number in range(counts[DIRTY]):
        link = flows.link_lists.dirty[number]
        links.level[link] = NO_LIMIT
        if links.unfixed[link]:
            put(flows.order, link, links.spare[link] // links.unfixed[link])
    while waiting > 0:
        waiting -= saturate(flows, take_saturated(flows))
    empty(flows.order)
    for number in range(counts[DIRTY]):
        link = flows.link_lists.dirty[number]
        totals.granted[link] = totals.capacity[link] - links.spare[link]


@inlined
def collect(flows: Flows, cut: int) -> int:
    """Take the rates from flows that are filled anew, and make their links dirty; how many flows these are."""
    slots, links, counts = flows.slots, flows.links, flows.counts
    for number in range(counts[DIRTY]):
        take_spare(flows, flows.link_lists.dirty[number])
    for number in range(counts[UNDER_WAY]):
        slot = flows.slot_lists.under_way[number]
        if 0 < slots.share[slot] < cut:
            continue
        weight = slots.weight[slot]
        rate = slots.share[slot] * weight
        fix(flows, slot, NONE)
        for hop in range(slots.first_hop[slot], slots.end_hop[slot]):
            link = flows.way[hop]
            if not is_dirty(flows, link):
                mark_dirty(flows, link)
                take_spare(flows, link)
            links.spare[link] += rate
            links.unfixed[link] += weight
    return int(counts[FIXED])


@inlined
def take_spare(flows: Flows, link: int) -> None:
    """What is left of the capacity of a link that no flow without a rate shares yet."""
    flows.links.spare[link] = flows.totals.capacity[link] - flows.totals.granted[link]
    flows.links.unfixed[link] = 0


@inlined
def take_saturated(flows: Flows) -> int:
    """Put all links of the smallest share into the queue; how many these are."""
    links, order = flows.links, flows.order
    share, count = NONE, 0
    while order.size[0] and (count == 0 or order.key[0] == share):
        link = order.item[0]
        if links.unfixed[link]:
            now = links.spare[link] // links.unfixed[link]
            if now > order.key[0]:  # it has grown since it was put there
                put(order, link, now)
                continue
            share = now
            links.level[link] = share
            flows.link_lists.queue[count] = link
            count += 1
        take_first(order)
    return count


@inlined
def saturate(flows: Flows, count: int) -> int:
    """The flows without a rate at the links in the queue get the share of these; how many flows these are."""
    slots, hops, links = flows.slots, flows.hops, flows.links
    fixed = 0
    for number in range(count):
        saturated = flows.link_lists.queue[number]
        share = links.level[saturated]
        at = flows.totals.first[saturated]
        while links.unfixed[saturated]:
            slot = hops.slot[at]
            at = hops.after[at]
            if slots.next_share[slot] == NONE and is_fixed(flows, slot):
                slots.next_share[slot] = share
                weight = slots.weight[slot]
                rate = share * weight
                fixed += 1
                for hop in range(slots.first_hop[slot], slots.end_hop[slot]):
                    links.spare[flows.way[hop]] -= rate
                    links.unfixed[flows.way[hop]] -= weight
    return fixed


# --- Along changes ----------------------------------------------------------------------------------------------


@called
def follow_changes(flows: Flows) -> None:
    """Look at what may change, from the smallest share upwards."""
    slots, links, order, counts = flows.slots, flows.links, flows.order, flows.counts
    share, looked_at = 0, 0
    while True:
        looked_at = look_at_dirty_links(flows, looked_at, share)
        if order.size[0] == 0:
            break
        share = order.key[0] >> 1
        item = take_first(order)
        if item >= len(links):
            slot = item - len(links)
            if not is_fixed(flows, slot):  # the link that limited it to this share no longer does
                make_links_dirty(flows, slot)
        else:
            settle(flows, item, share)
    for number in range(counts[DIRTY]):
        link = flows.link_lists.dirty[number]
        if not is_settled(flows, link):
            links.level[link] = NO_LIMIT
    for number in range(counts[FIXED]):
        slot = flows.slot_lists.fixed[number]
        more = (slots.next_share[slot] - slots.share[slot]) * slots.weight[slot]
        for hop in range(slots.first_hop[slot], slots.end_hop[slot]):
            flows.totals.granted[flows.way[hop]] += more


@inlined
def look_at_dirty_links(flows: Flows, looked_at: int, share: int) -> int:
    """Doubt the flows that newly dirty links had limited, and put links with their new level into the order.

    Returns how many dirty links have been looked at."""
    links, counts = flows.links, flows.counts
    counts[ROUND] += 1
    queued = 0
    while looked_at < counts[DIRTY]:
        link = flows.link_lists.dirty[looked_at]
        looked_at += 1
        queued = put_into_queue(flows, link, queued)
        if share <= links.level[link] < NO_LIMIT:
            queued = doubt_flows_of(flows, link, queued)
    for number in range(queued):
        link = flows.link_lists.queue[number]
        level = new_level(flows, link)
        if level < NO_LIMIT:
            put(flows.order, link, level * 2)
    return looked_at


@inlined
def put_into_queue(flows: Flows, link: int, queued: int) -> int:
    """Look at a link in this round, unless its level is known already; the length of the queue."""
    counts = flows.counts
    if flows.totals.queued[link] == counts[ROUND] or is_settled(flows, link):
        return queued
    flows.totals.queued[link] = counts[ROUND]
    flows.link_lists.queue[queued] = link
    return queued + 1


@inlined
def doubt_flows_of(flows: Flows, link: int, queued: int) -> int:
    """Doubt the flows that a dirty link has limited, unless a link that is not dirty limits them to the same share."""
    slots, hops, links, counts = flows.slots, flows.hops, flows.links, flows.counts
    level, at = links.level[link], flows.totals.first[link]
    while at != NONE:
        slot = hops.slot[at]
        at = hops.after[at]
        if (
            slots.share[slot] != level
            or is_fixed(flows, slot)
            or is_doubted(flows, slot)
            or keeps_its_limit(flows, slot)
        ):
            continue
        slots.mark[slot] = 2 * counts[EPOCH]
        put(flows.order, len(links) + slot, level * 2 + 1)
        for hop in range(slots.first_hop[slot], slots.end_hop[slot]):
            other = flows.way[hop]
            if is_dirty(flows, other):
                queued = put_into_queue(flows, other, queued)
    return queued


@inlined
def keeps_its_limit(flows: Flows, slot: int) -> bool:
    """Whether a link that is not dirty limits a flow to its rate."""
    links = flows.links
    for hop in range(flows.slots.first_hop[slot], flows.slots.end_hop[slot]):
        link = flows.way[hop]
        if not is_dirty(flows, link) and links.level[link] == flows.slots.share[slot]:
            return True
    return False


@called
def new_level(flows: Flows, link: int) -> int:
    """The share at which a link is saturated if flows whose rates are neither fixed nor doubted keep them."""
    slots, hops = flows.slots, flows.hops
    if flows.totals.count[link] == 0:
        return NO_LIMIT
    share = int(flows.totals.capacity[link] // flows.totals.weight[link])
    while True:
        left, sharing, at = flows.totals.capacity[link], 0, flows.totals.first[link]
        while at != NONE:
            slot = hops.slot[at]
            at = hops.after[at]
            if is_fixed(flows, slot):
                other = slots.next_share[slot]
            elif is_doubted(flows, slot):
                other = NO_LIMIT
            else:
                other = slots.share[slot]
            if other < share:
                left -= other * slots.weight[slot]
            else:
                sharing += slots.weight[slot]
        if sharing == 0:
            return NO_LIMIT
        larger = int(left // sharing)
        if larger == share:
            return share
        share = larger


@inlined
def settle(flows: Flows, link: int, share: int) -> None:
    """A link is saturated at a share, unless that has grown meanwhile; its flows above it, or in doubt, get it."""
    slots, hops, counts = flows.slots, flows.hops, flows.counts
    level = new_level(flows, link)
    if level > share:
        if level < NO_LIMIT:
            put(flows.order, link, level * 2)
        return
    flows.links.mark[link] = 2 * counts[EPOCH] + 1
    flows.links.level[link] = share
    at = flows.totals.first[link]
    while at != NONE:
        slot = hops.slot[at]
        at = hops.after[at]
        if is_fixed(flows, slot):
            continue
        if is_doubted(flows, slot) or slots.share[slot] > share:
            fix(flows, slot, share)
            if slots.share[slot] != share:
                make_links_dirty(flows, slot)


@inlined
def make_links_dirty(flows: Flows, slot: int) -> None:
    """The rate of a flow changes."""
    for hop in range(flows.slots.first_hop[slot], flows.slots.end_hop[slot]):
        mark_dirty(flows, flows.way[hop])
