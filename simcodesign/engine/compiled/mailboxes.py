"""Mailboxes of the compiled engine, where messages meet receives during a run.

Where messages suit all receives of their mailbox, both are heaps. Otherwise (``Program.tag``) both are lists, in the
order of arrival times and operations.
"""

from __future__ import annotations

import numpy as np

from simcodesign.core.jit import called, inlined
from simcodesign.engine.compiled.calendar import schedule
from simcodesign.engine.compiled.operations import Run, go_on, release
from simcodesign.engine.compiled.state import MET, as_int64
from simcodesign.engine.compiled.stations import grant
from simcodesign.engine.compiled.waiting_line import (
    comes_before,
    first_arrival_s,
    forget,
    join,
    melded,
    new_request,
    without_root,
)
from simcodesign.generate.plan import ANY, ANY_TAG, NONE


@inlined
def suits(run: Run, send: int, receive: int) -> bool:
    """Return whether a receive takes the message of a send that arrives at its mailbox or box."""
    if not len(run.program.tag):
        return True
    source, tag = run.program.peer[receive], run.program.tag[receive]
    if source != ANY and source != run.program.rank[send]:
        return False
    return bool(tag == ANY_TAG or tag == run.program.tag[send])


@called
def put(run: Run, op: int, time: float) -> None:
    """Put the message of a send into its mailbox."""
    box = as_int64(run.program.mailbox[op])
    slot, number = new_request(run.requests, run.memory, op, time), box - run.program.first_mailbox
    stock = as_int64(run.memory.stock[number])
    if len(run.program.tag):
        run.memory.stock[number] = in_list(run, stock, slot)
    else:
        run.memory.stock[number] = slot if stock == NONE else melded(run.requests, stock, slot)
    wake_mailbox(run, box, 0.0)


@called
def expect(run: Run, box: int, slot: int) -> None:
    """A receive waits at a mailbox."""
    if len(run.program.tag):
        run.stations.head[box] = in_list(run, as_int64(run.stations.head[box]), slot)
    else:
        join(run.stations, run.requests, box, slot)
    wake_mailbox(run, box, 0.0)


@inlined
def wake_mailbox(run: Run, box: int, now: float) -> None:
    """Let the first receive and the first message meet as soon as both have arrived."""
    if len(run.program.tag):
        wake_for_pair(run, box, now)
        return
    stock = run.memory.stock[box - run.program.first_mailbox]
    first = first_arrival_s(run.stations, run.requests, box)
    if stock != NONE and first < np.inf:
        schedule(run.stations, run.calendar, box, max(now, max(first, run.requests.arrival_s[stock])))


@called
def meet(run: Run, box: int, now: float) -> None:
    """The first message in a mailbox that can goes to the first receive that takes it."""
    number = box - run.program.first_mailbox
    if len(run.program.tag):
        meet_in_lists(run, box, number, now)
        return
    slot, stock = grant(run, box, now), as_int64(run.memory.stock[number])
    run.memory.stock[number] = without_root(run.requests, stock)
    hand_over(run, box, stock, slot, now)


@inlined
def hand_over(run: Run, box: int, message: int, slot: int, now: float) -> None:
    """A message goes to a receive, both by their slots."""
    receive, send = as_int64(run.requests.op[slot]), as_int64(run.requests.op[message])
    run.program.match[receive], run.program.match[send] = send, receive
    forget(run.requests, run.memory, slot)
    forget(run.requests, run.memory, message)
    wake_mailbox(run, box, now)
    if len(run.program.taken_by) and run.program.taken_by[send] != NONE:
        release(run, as_int64(run.program.taken_by[send]), now)
    go_on(run, receive, MET, now)


# --- Lists ----------------------------------------------------------------------------------------------------


@called
def in_list(run: Run, head: int, slot: int) -> int:
    """A request takes its place in a list; the first one of the list then."""
    before, after = as_int64(NONE), head
    while after != NONE and comes_before(run.requests, after, slot):
        before, after = after, as_int64(run.requests.sibling[after])
    run.requests.sibling[slot] = after
    if before == NONE:
        return slot
    run.requests.sibling[before] = slot
    return head


@called
def out_of_list(run: Run, head: int, slot: int) -> int:
    """A request leaves its list; the first one of the list then."""
    after = as_int64(run.requests.sibling[slot])
    if head == slot:
        return after
    before = head
    while run.requests.sibling[before] != slot:
        before = as_int64(run.requests.sibling[before])
    run.requests.sibling[before] = after
    return head


@called
def receive_for(run: Run, head: int, message: int, until_s: float) -> int:
    """The first receive of a list before ``until_s`` that takes a message; NONE if there is none."""
    slot = head
    while slot != NONE and run.requests.arrival_s[slot] < until_s:
        if suits(run, as_int64(run.requests.op[message]), as_int64(run.requests.op[slot])):
            return slot
        slot = as_int64(run.requests.sibling[slot])
    return NONE


@called
def wake_for_pair(run: Run, box: int, now: float) -> None:
    """Let a mailbox arbitrate as soon as a message and a receive that it suits are both there."""
    head, first_s = as_int64(run.stations.head[box]), np.inf
    message = as_int64(run.memory.stock[box - run.program.first_mailbox])
    while head != NONE and message != NONE and run.requests.arrival_s[message] < first_s:
        slot = receive_for(run, head, message, first_s)
        if slot != NONE:
            first_s = max(run.requests.arrival_s[message], run.requests.arrival_s[slot])
        message = as_int64(run.requests.sibling[message])
    if first_s < np.inf:
        schedule(run.stations, run.calendar, box, max(now, first_s))


@called
def meet_in_lists(run: Run, box: int, number: int, now: float) -> None:
    """The first message that has come by now and suits a receive that has come by now goes to the first such one."""
    head, waiting = as_int64(run.stations.head[box]), 0
    slot, after_s = head, np.nextafter(now, np.inf)
    while slot != NONE and run.requests.arrival_s[slot] <= now:
        waiting += 1
        slot = as_int64(run.requests.sibling[slot])
    run.stations.longest[box] = max(run.stations.longest[box], waiting)
    message = as_int64(run.memory.stock[number])
    slot = receive_for(run, head, message, after_s)
    while slot == NONE:
        message = as_int64(run.requests.sibling[message])
        slot = receive_for(run, head, message, after_s)
    run.memory.stock[number] = out_of_list(run, as_int64(run.memory.stock[number]), message)
    run.stations.head[box] = out_of_list(run, head, slot)
    run.stations.served[box] += 1
    run.stations.wait_s[box] += now - run.requests.arrival_s[slot]
    hand_over(run, box, message, slot, now)
