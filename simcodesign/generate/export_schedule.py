"""From a Plan to a schedule, which can be written as a GOAL file for other simulators to replay."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import COMPUTE, HELD, RECEIVE, SEND, WAIT
from simcodesign.describe.goal.schedule import Schedule
from simcodesign.generate.plan import ANY_TAG, NONE, PROCESSOR, Plan

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Sources, targets (operations) and earliness of dependencies.
Waits = tuple[Int64s, Int64s, Flags]


def schedule_of(plan: Plan, name: str) -> Schedule:
    """Return the operations of a Plan with what they wait for, as a schedule of this name.

    Computation and disk accesses become calcs as long as in the Plan, imbalance and noise included; waiting for disks
    is left to their ranks. Messages keep their sizes; the machine of the replay prices them again.
    Operations of a Plan without processors are on cpu 0.

    A chained operation requires the previous one. A Plan in Hockney's model does not record which operations are posted
    together: replay it with S above its largest message. In LogGOPS, what is posted together (the send and the receive
    of an exchange, all messages of a halo exchange) requires what was posted before it; a ``calc`` of no time follows
    more than two of them and requires them all. A schedule in LogGOPS comes back as it was, except for the numbers of
    tags, processors and interfaces, which have no gaps.

    Tags tell apart what simulators that match by (source, target, tag) in order might confuse: the messages of a pair
    of ranks are numbered from 0, unless their sends and receives are in one order anyway, which then all have tag 0.
    Receives from anyone have one tag for each mailbox. A schedule holds any amounts; ``write_goal`` rounds them to
    whole bytes and whole nanoseconds.

    Raises InputError for trains of messages, and for ranks that wait for others without a message
    (``algorithm: in_switch``): GOAL has no such thing.
    """
    if plan.requests is not None:
        raise InputError(f"{name} is an open stream of requests, which GOAL cannot tell", allowed="a program of ranks")
    if plan.train is not None and (plan.train > 1).any():
        what = f"trains of messages of {name} cannot be exported"
        raise InputError(what, value=int(plan.train.max()), allowed="exchanges with train: 1")
    _check_waits(plan, name)
    posting = _postings(plan)
    kept = np.flatnonzero(~posting)
    kind = np.where(np.isin(plan.kind, (SEND, RECEIVE)), plan.kind, COMPUTE).astype(np.int8)[kept]
    calc = kind == COMPUTE
    number = np.concatenate([[0], np.cumsum(~posting)])  # of every operation; of a posting, the number of its receive
    start, target, early = _adjacency(len(kept), number, _waits(plan, posting))
    return Schedule(
        name=name,
        first=number[plan.first],
        kind=kind,
        peer=np.where(calc, NONE, plan.peer[kept]).astype(np.int32),
        size_bytes=np.where(calc, 0.0, _sizes(plan)[kept]),
        calc_s=np.where(calc, plan.duration_s[kept], 0.0),
        tag=_tags(plan)[kept],
        cpu=_cpus(plan)[kept],
        nic=_nics(plan)[kept],
        edge_start=start,
        edge_target=target,
        edge_early=early,
        place=Place(),
    )


def _postings(plan: Plan) -> Flags:
    """Return operations that only show when the receive after them is posted.

    Also return those that show for how long its message holds its rank: in a schedule, that is its start.
    """
    posts: Flags = plan.kind == HELD
    if plan.station is None:
        return posts
    idle = (plan.kind == COMPUTE) & (plan.duration_s == 0) & (plan.station == NONE)
    receives = (plan.kind == RECEIVE) & (plan.station != NONE) & plan.follows_previous[:-1]
    posts[:-1] = idle[:-1] & receives[1:]
    return posts


def _check_waits(plan: Plan, name: str) -> None:
    """InputError for waits of another rank (``Ranks.meet``)."""
    if plan.polls is not None:
        raise InputError(f"parts of {name} are polled, which GOAL cannot tell", allowed="`polled: 0`")
    if plan.edges is None:
        return
    source, target = np.repeat(np.arange(len(plan)), np.diff(plan.edges.start)), plan.edges.target
    if np.any((plan.rank[source] != plan.rank[target]) & (plan.kind[target] == WAIT) & ~plan.edges.early):
        what = f"ranks of {name} wait for one another in switches, which cannot be exported"
        raise InputError(what, value="algorithm: in_switch", allowed="other algorithms")


def _waits(plan: Plan, posting: Flags) -> Waits:
    """Dependencies inside the ranks."""
    following = np.flatnonzero(plan.follows_previous[:-1]).astype(np.int64)
    parts: list[Waits] = [(following - 1, following, np.zeros(len(following), bool))]
    if plan.edges is not None:
        source = np.repeat(np.arange(len(plan)), np.diff(plan.edges.start))
        target = plan.edges.target.astype(np.int64)
        inside = plan.rank[source] == plan.rank[target]
        parts.append((source[inside], target[inside], plan.edges.early[inside]))
    source, target, early = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return source, target, early | posting[source]


def _adjacency(count: int, number: Int64s, waits: Waits) -> tuple[Int64s, Int32s, Flags]:
    """Return the dependencies in the arrays of a schedule, each once, by source and target."""
    source, target = number[waits[0]], number[waits[1]]
    key = np.unique((source * count + target << 1 | waits[2])[source != target])
    source, target = np.divmod(key >> 1, count)
    start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=count))]).astype(np.int64)
    return start, target.astype(np.int32), (key & 1).astype(bool)


def _sizes(plan: Plan) -> NDArray[np.float64]:
    """Sizes; a receive from anyone that takes messages of several sizes has room for the largest."""
    size, mailbox = plan.size_bytes, plan.mailbox
    open_ = np.flatnonzero(np.isnan(size))
    if mailbox is None or not len(open_):
        return size
    most = np.zeros(len(plan.stations))
    sends = np.flatnonzero((plan.kind == SEND) & (mailbox != NONE))
    np.maximum.at(most, mailbox[sends], size[sends])
    size = size.copy()
    size[open_] = most[mailbox[open_]]
    return size


def _tags(plan: Plan) -> Int32s:
    """Tags of the messages; tags of mailboxes are above all others."""
    tag = np.zeros(len(plan), np.int32)
    if plan.loggops is not None:  # one for each queue in which messages meet receives
        messages = np.flatnonzero(plan.loggops.box != NONE)
        target = np.where(plan.kind[messages] == SEND, plan.peer[messages], plan.rank[messages])
        return _with_tags_of_boxes(
            plan, tag, messages, within(target, _boxes(plan, plan.loggops.box[messages], messages))
        )
    sends = np.flatnonzero((plan.kind == SEND) & (plan.match != NONE)).astype(np.int64)
    if len(sends):
        pair = plan.rank[sends].astype(np.int64) * plan.ranks + plan.peer[sends]
        order = np.argsort(pair, kind="stable")
        sends, pair = sends[order], pair[order]
        receives = plan.match[sends]
        loose = _loose(plan)
        tag[sends] = tag[receives] = _numbers(pair, receives, loose[sends] | loose[receives])
    if plan.mailbox is not None:
        boxed = np.flatnonzero(plan.mailbox != NONE)
        owner = np.where(plan.kind[boxed] == SEND, plan.peer[boxed], plan.rank[boxed])
        number = within(owner, _boxes(plan, plan.mailbox[boxed], boxed))
        tag = _with_tags_of_boxes(plan, tag, boxed, (tag.max() + 1 if len(sends) else 0) + number)
    return tag


def _boxes(plan: Plan, box: Int32s, operations: NDArray[np.intp]) -> Int32s:
    """Return the boxes of these operations, each as many as its messages have tags that receives tell apart."""
    if plan.tag is None:
        return box
    number = np.unique(box.astype(np.int64) << 32 | plan.tag[operations], return_inverse=True)[1]
    boxes: Int32s = number.astype(np.int32)
    return boxes


def _with_tags_of_boxes(plan: Plan, tag: Int32s, operations: NDArray[np.intp], numbers: Int64s) -> Int32s:
    """Return the tags, with these numbers for operations whose messages meet in boxes."""
    tag[operations] = numbers
    if plan.tag is not None:
        tag[operations[plan.tag[operations] == ANY_TAG]] = ANY_TAG
    return tag


def _numbers(pair: Int64s, receives: Int32s, loose: Flags) -> Int64s:
    """Numbers of the messages of each pair of ranks, in the order of the sends; 0 if that is no matter."""
    begins = np.concatenate([[True], pair[1:] != pair[:-1]])
    group = np.cumsum(begins) - 1
    crossed = np.zeros(len(pair), bool)
    crossed[1:] = ~begins[1:] & (receives[1:] < receives[:-1])
    mixed = np.bincount(group, crossed | loose) > 0
    return np.where(mixed[group], np.arange(len(pair)) - np.flatnonzero(begins)[group], 0)


def _loose(plan: Plan) -> Flags:
    """(N,) operations of ranks that do not work in order."""
    free = ~plan.follows_previous[:-1]
    free[plan.first[:-1][np.diff(plan.first) > 0]] = False
    ranks = np.zeros(plan.ranks, bool)
    ranks[plan.rank[free]] = True
    return ranks[plan.rank]


def _cpus(plan: Plan) -> Int32s:
    """Processors, numbered in each rank."""
    cpu = np.zeros(len(plan), np.int32)
    if plan.unit is not None and plan.loggops is None:
        return within(plan.rank, plan.unit.astype(np.int32)).astype(np.int32)
    if plan.station is not None:
        queues = np.flatnonzero(plan.station != NONE)
        queues = queues[plan.stations.kind[plan.station[queues]] == PROCESSOR]
        if plan.loggops is None:
            cpu[queues] = within(plan.rank[queues], plan.station[queues])
        else:
            cpu[queues] = _as_at_targets(plan, queues, plan.station, plan.loggops.receiver)
    return cpu


def _nics(plan: Plan) -> Int32s:
    """Network interfaces of messages, numbered in each rank."""
    nic = np.zeros(len(plan), np.int32)
    if plan.loggops is not None:
        messages = np.flatnonzero((plan.kind == SEND) | (plan.kind == RECEIVE))
        nic[messages] = _as_at_targets(plan, messages, plan.loggops.interface, plan.loggops.receiver_interface)
    return nic


def _as_at_targets(plan: Plan, operations: NDArray[np.intp], unit: Int32s, at_target: Int32s) -> Int32s:
    """Numbers of the units of these operations, small ones, within each rank.

    A message has the number of its send's unit at its target too: all units that messages join have one number, and no
    two of a rank have the same. If messages join two of a rank, as in a program with overlap, numbers belong to
    each rank alone.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sends = operations[plan.kind[operations] == SEND]
    ends = np.concatenate([unit[operations], at_target[sends]])
    units, place = np.unique(ends, return_inverse=True)
    owner = np.empty(len(units), np.int32)
    owner[place] = np.concatenate([plan.rank[operations], plan.peer[sends]])
    here, there = np.searchsorted(units, unit[sends]), place[len(operations) :]
    joined = coo_array((np.ones(len(sends), bool), (here, there)), shape=(len(units), len(units)))
    count, part = connected_components(joined, directed=False)
    members = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=count))[:-1])
    number, taken = np.zeros(len(units), np.int32), defaultdict[int, set[int]](set)
    for some in members:
        owners = owner[some].tolist()
        if len({*owners}) < len(owners):
            return within(plan.rank[operations], unit[operations]).astype(np.int32)
        free = next(one for one in itertools.count() if all(one not in taken[rank] for rank in owners))
        number[some] = free
        for rank in owners:
            taken[rank].add(free)
    return number[place[: len(operations)]]


def within(owner: Int32s, unit: Int32s) -> Int64s:
    """Numbers of units, from 0 for each owner."""
    units, number = np.unique(owner.astype(np.int64) << 32 | unit, return_inverse=True)
    begins = np.searchsorted(units, np.unique(units >> 32) << 32)
    numbers: Int64s = number - begins[np.searchsorted(units[begins] >> 32, owner)]
    return numbers
