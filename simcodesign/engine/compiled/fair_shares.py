"""Max-min fair shares of links, compiled: which rates flows have after some have begun or ended.

Water filling: the links with the smallest share, what is left of their capacity over the flows that have no rate yet
(over the sum of their weights), are saturated; these flows get that share (times their weight) as their rate; and so on
with what is left. Rates are whole numbers and all links of the smallest share are saturated together, so that the rates
do not depend on any order.

After a change most rates stay. Two ways find those that do not, and both give what filling everything anew would:

* ``refill`` fills anew all flows above a *cut*, the least share that can have changed;
* ``follow_changes`` goes through the shares from the smallest one upwards and looks at links whose flows have changed
  (*dirty* ones) and at flows that these links had limited (*doubted* ones); a flow keeps its rate as long as a link
  that is not dirty limits it to that.

The first is quick where much changes, the second where little does, which is not known before: the one that was cheaper
lately is taken, and now and then the other.
"""

from __future__ import annotations

from simcodesign.core.jit import called, inlined
from simcodesign.engine.compiled.flows import (
    BEGUN,
    DIRTY,
    ENDED,
    EPOCH,
    FIXED,
    FOLLOW_WORK,
    HOPS_UNDER_WAY,
    NO_LIMIT,
    REFILL_WORK,
    ROUND,
    SPENT,
    UNDER_WAY,
    WORK,
    Flows,
    Records,
    is_dirty,
    is_doubted,
    is_fixed,
    is_settled,
    make_links_dirty,
    mark_dirty,
)
from simcodesign.engine.compiled.indexed_heap import put, take_first
from simcodesign.engine.compiled.state import as_int64
from simcodesign.generate.plan import NONE

#: Where dirty links have more than this part of all hops under way, all above the cut is filled anew.
FEW = 1 / 8
#: The dearer way is tried again when this many times its work has been done on the other one.
PATIENCE = 16
#: To fill a hop anew takes about as long as to look at so many flows of a link.
FILLING = 4


@called
def compute_shares(flows: Flows) -> None:
    """Find the next rate of all flows whose rate may change: the list ``fixed``."""
    counts = flows.counts
    counts[FIXED] = counts[WORK] = 0
    hops = 0
    for number in range(counts[DIRTY]):
        hops += flows.totals.count[flows.link_lists.dirty[number]]
    if hops > FEW * counts[HOPS_UNDER_WAY] or refilling_is_due(flows):
        refill(flows, least_changed_share(flows))
        counts[REFILL_WORK] = counts[WORK]
    else:
        follow_changes(flows)
        counts[FOLLOW_WORK] = counts[WORK]
    counts[SPENT] += counts[WORK]


@inlined
def refilling_is_due(flows: Flows) -> bool:
    """Whether filling anew was the cheaper way lately, or has not been tried for long."""
    counts = flows.counts
    cheaper = bool(counts[REFILL_WORK] < counts[FOLLOW_WORK])
    if counts[SPENT] <= PATIENCE * max(counts[REFILL_WORK], counts[FOLLOW_WORK]):
        return cheaper
    counts[SPENT] = 0
    return not cheaper


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
    slots, there = flows.slots, flows.there
    share = int(flows.totals.capacity[link] // flows.totals.weight[link])
    while share < enough:
        left, sharing, first = flows.totals.capacity[link], 0, flows.totals.first[link]
        for place in range(first, first + flows.totals.count[link]):
            flow = slots[there[place].slot]
            if 0 < flow.share < share:
                left -= flow.share * flow.weight
            else:
                sharing += flow.weight
        larger = int(left // sharing)
        if larger == share:
            break
        share = larger
    return share


@called
def refill(flows: Flows, cut: int) -> None:
    """Fill anew all flows at the cut or above; nearly all of them are connected with dirty links."""
    links, totals, filling, counts = flows.links, flows.totals, flows.filling, flows.counts
    waiting, size = collect(flows, cut), 0
    for number in range(counts[DIRTY]):
        link = flows.link_lists.dirty[number]
        links.level[link] = NO_LIMIT
        if links.unfixed[link]:
            filling.share[size], filling.link[size] = links.spare[link] // links.unfixed[link], link
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        sink(filling, size, place, filling.link[place], filling.share[place])
    while waiting > 0:
        count, size = take_saturated(flows, size)
        waiting -= saturate(flows, count)
    for number in range(counts[DIRTY]):
        link = flows.link_lists.dirty[number]
        totals.granted[link] = totals.capacity[link] - links.spare[link]


@inlined
def collect(flows: Flows, cut: int) -> int:
    """Take the rates from flows that are filled anew, and make their links dirty; how many flows these are."""
    slots, links, counts = flows.slots, flows.links, flows.counts
    dirty = 2 * counts[EPOCH]
    for number in range(counts[DIRTY]):
        take_spare(flows, flows.link_lists.dirty[number])
    for number in range(counts[UNDER_WAY]):
        slot = flows.slot_lists[number].under_way
        flow = slots[slot]
        if 0 < flow.share < cut:
            continue
        weight = flow.weight
        rate = flow.share * weight
        fix(flows, slot, NONE)
        counts[WORK] += FILLING * (flow.end_hop - flow.first_hop)
        for hop in range(flow.first_hop, flow.end_hop):
            number_of_link = flows.way[hop]
            link = links[number_of_link]
            if link.mark < dirty:
                mark_dirty(flows, number_of_link)
                take_spare(flows, number_of_link)
            link.spare += rate
            link.unfixed += weight
    return int(counts[FIXED])


@inlined
def take_spare(flows: Flows, link: int) -> None:
    """What is left of the capacity of a link that no flow without a rate shares yet."""
    flows.links.spare[link] = flows.totals.capacity[link] - flows.totals.granted[link]
    flows.links.unfixed[link] = 0


@inlined
def take_saturated(flows: Flows, size: int) -> tuple[int, int]:
    """Put all links of the smallest share into the queue; how many these are, and how many still stand in the heap."""
    links, filling = flows.links, flows.filling
    share, count = NONE, 0
    while size and (count == 0 or filling[0].share == share):
        number, now = filling[0].link, filling[0].share
        link = links[number]
        if link.unfixed:
            now = link.spare // link.unfixed
        if now == filling[0].share:  # else it has grown since it was put there
            if link.unfixed:
                share = now
                link.level = share
                flows.link_lists[count].queue = number
                count += 1
            size -= 1
            number, now = filling[size].link, filling[size].share
        sink(filling, size, 0, number, now)
    return count, size


@inlined
def sink(filling: Records, size: int, place: int, link: int, share: int) -> None:
    """Put a link at a place of the heap, or below it where it belongs. Unlike those of ``indexed_heap.py`` it need not
    know where its items are, which takes as long again."""
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and filling[child + 1].share < filling[child].share:
            child += 1
        if filling[child].share >= share:
            break
        filling[place].share, filling[place].link = filling[child].share, filling[child].link
        place, child = child, 2 * child + 1
    filling[place].share, filling[place].link = share, link


@inlined
def saturate(flows: Flows, count: int) -> int:
    """The flows without a rate at the links in the queue get the share of these; how many flows these are."""
    slots, there, links = flows.slots, flows.there, flows.links
    fixed, mark = 0, 2 * flows.counts[EPOCH] + 1
    for number in range(count):
        saturated = flows.link_lists.queue[number]
        share, place = links[saturated].level, flows.totals[saturated].first
        while links[saturated].unfixed:
            flow = slots[there[place].slot]
            place += 1
            if flow.next_share == NONE and flow.mark == mark:
                flow.next_share = share
                weight = flow.weight
                rate = share * weight
                fixed += 1
                for hop in range(flow.first_hop, flow.end_hop):
                    link = links[flows.way[hop]]
                    link.spare -= rate
                    link.unfixed -= weight
    return fixed


# --- Along changes ----------------------------------------------------------------------------------------------


@called
def follow_changes(flows: Flows) -> None:
    """Look at what may change, from the smallest share upwards."""
    slots, links, order, counts = flows.slots, flows.links, flows.order, flows.counts
    share, looked_at = as_int64(0), as_int64(0)
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
    slots, there, links, counts = flows.slots, flows.there, flows.links, flows.counts
    level, first = links.level[link], flows.totals.first[link]
    counts[WORK] += flows.totals.count[link]
    for place in range(first, first + flows.totals.count[link]):
        slot = there.slot[place]
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
    slots, there = flows.slots, flows.there
    if flows.totals.count[link] == 0:
        return NO_LIMIT
    share, doubted = int(flows.totals.capacity[link] // flows.totals.weight[link]), 2 * flows.counts[EPOCH]
    while True:
        left, sharing, first = flows.totals.capacity[link], 0, flows.totals.first[link]
        flows.counts[WORK] += flows.totals.count[link]
        for place in range(first, first + flows.totals.count[link]):
            flow = slots[there[place].slot]
            if flow.mark > doubted:
                other = flow.next_share
            elif flow.mark == doubted:
                other = NO_LIMIT
            else:
                other = flow.share
            if other < share:
                left -= other * flow.weight
            else:
                sharing += flow.weight
        if sharing == 0:
            return NO_LIMIT
        larger = int(left // sharing)
        if larger == share:
            return share
        share = larger


@inlined
def settle(flows: Flows, link: int, share: int) -> None:
    """A link is saturated at a share, unless that has grown meanwhile; its flows above it, or in doubt, get it."""
    slots, there, counts = flows.slots, flows.there, flows.counts
    level = new_level(flows, link)
    if level > share:
        if level < NO_LIMIT:
            put(flows.order, link, level * 2)
        return
    flows.links.mark[link] = 2 * counts[EPOCH] + 1
    flows.links.level[link] = share
    first = flows.totals.first[link]
    counts[WORK] += flows.totals.count[link]
    for place in range(first, first + flows.totals.count[link]):
        slot = there.slot[place]
        if is_fixed(flows, slot):
            continue
        if is_doubted(flows, slot) or slots.share[slot] > share:
            fix(flows, slot, share)
            if slots.share[slot] != share:
                make_links_dirty(flows, slot)
