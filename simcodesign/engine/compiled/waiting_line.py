"""Who waits at a station, compiled: those still to come in a heap, those that have come in a line.

A message asks for the next station on its way as soon as it is known when it will come there. So every station has a
pairing heap of requests to come, ordered by (arrival time, operation), and nothing else has to happen when one arrives.
When a station arbitrates, all that have come by then move to its line. Both are linked through the requests themselves
and take no memory of their own.
"""

from __future__ import annotations

from simcodesign.core.jit import called, inlined
from simcodesign.engine.compiled.state import FREE, USED, Memory, Requests, StationStates
from simcodesign.generate.plan import NONE


@inlined
def new_request(requests: Requests, memory: Memory, op: int, arrival_s: float) -> int:
    """A slot for operation ``op`` that comes at ``arrival_s``."""
    slot = memory.state[FREE]
    if slot == NONE:
        slot = memory.state[USED]
        memory.state[USED] += 1
    else:
        memory.state[FREE] = requests.sibling[slot]
    requests.op[slot] = op
    requests.arrival_s[slot] = arrival_s
    requests.child[slot] = requests.sibling[slot] = NONE
    return slot


@inlined
def forget(requests: Requests, memory: Memory, slot: int) -> None:
    """The slot may be used again."""
    requests.sibling[slot] = memory.state[FREE]
    memory.state[FREE] = slot


@inlined
def comes_before(requests: Requests, one: int, other: int) -> bool:
    """The contract's order: by arrival time, then by operation."""
    if requests.arrival_s[one] != requests.arrival_s[other]:
        return requests.arrival_s[one] < requests.arrival_s[other]
    return requests.op[one] < requests.op[other]


@inlined
def melded(requests: Requests, one: int, other: int) -> int:
    """The root of two heaps made one."""
    if comes_before(requests, other, one):
        one, other = other, one
    requests.sibling[other] = requests.child[one]
    requests.child[one] = other
    return one


@inlined
def without_root(requests: Requests, root: int) -> int:
    """The root of what remains of a heap: its children in pairs from left to right, then all from right to left."""
    child, pairs = requests.child[root], NONE
    while child != NONE:
        pair, other = child, requests.sibling[child]
        child = NONE
        if other != NONE:
            child = requests.sibling[other]
            pair = melded(requests, pair, other)
        requests.sibling[pair] = pairs
        pairs = pair
    rest = NONE
    while pairs != NONE:
        pair, pairs = pairs, requests.sibling[pairs]
        requests.sibling[pair] = NONE
        rest = pair if rest == NONE else melded(requests, rest, pair)
    return rest


@inlined
def join(stations: StationStates, requests: Requests, station: int, slot: int) -> None:
    """Wait at a station, from ``arrival_s`` on."""
    tail = stations.tail[station]
    if tail != NONE and requests.arrival_s[slot] <= requests.arrival_s[tail]:
        _step_in(stations, requests, station, slot)
        return
    root = stations.root[station]
    stations.root[station] = slot if root == NONE else melded(requests, root, slot)


@inlined
def come(stations: StationStates, requests: Requests, station: int, slot: int) -> None:
    """Be on the way to a station that judges everybody who comes."""
    root = stations.root[station]
    stations.root[station] = slot if root == NONE else melded(requests, root, slot)


@inlined
def leave_the_way(stations: StationStates, requests: Requests, station: int) -> int:
    """The first of those to come."""
    root = stations.root[station]
    stations.root[station] = NONE if requests.child[root] == NONE else without_root(requests, root)
    return root


@inlined
def line_up_one(stations: StationStates, requests: Requests, station: int, slot: int) -> None:
    """Stand in line, behind those who have come before."""
    tail = stations.tail[station]
    if tail != NONE and requests.arrival_s[slot] <= requests.arrival_s[tail]:
        _step_in(stations, requests, station, slot)
        return
    requests.before[slot], requests.sibling[slot] = tail, NONE
    if tail == NONE:
        stations.head[station] = slot
    else:
        requests.sibling[tail] = slot
    stations.tail[station] = slot
    stations.waiting[station] += 1


@called
def _step_in(stations: StationStates, requests: Requests, station: int, slot: int) -> None:
    """Take one's place in the line among those that have come in this same instant."""
    after, before = NONE, stations.tail[station]
    while before != NONE and comes_before(requests, slot, before):
        after, before = before, requests.before[before]
    requests.before[slot], requests.sibling[slot] = before, after
    if before == NONE:
        stations.head[station] = slot
    else:
        requests.sibling[before] = slot
    if after == NONE:
        stations.tail[station] = slot
    else:
        requests.before[after] = slot
    stations.waiting[station] += 1


@inlined
def line_up(stations: StationStates, requests: Requests, station: int, now: float) -> None:
    """All that have come by now stand in line."""
    root = stations.root[station]
    while root != NONE and requests.arrival_s[root] <= now:
        rest = NONE if requests.child[root] == NONE else without_root(requests, root)
        tail = stations.tail[station]
        requests.before[root], requests.sibling[root] = tail, NONE
        if tail == NONE:
            stations.head[station] = root
        else:
            requests.sibling[tail] = root
        stations.tail[station] = root
        stations.waiting[station] += 1
        root = rest
    stations.root[station] = root
    stations.longest[station] = max(stations.longest[station], stations.waiting[station])


@inlined
def next_in_line(stations: StationStates, requests: Requests, station: int) -> int:
    """The first leaves the line."""
    slot = stations.head[station]
    follower = requests.sibling[slot]
    stations.head[station] = follower
    if follower == NONE:
        stations.tail[station] = NONE
    else:
        requests.before[follower] = NONE
    stations.waiting[station] -= 1
    return slot


@inlined
def first_arrival_s(stations: StationStates, requests: Requests, station: int) -> float:
    """When the first of all requests comes, or came; infinity if there is none."""
    slot = stations.head[station]
    if slot == NONE:
        slot = stations.root[station]
    return requests.arrival_s[slot] if slot != NONE else float("inf")
